// Whether a node of a class could ever hold one task of a group, and what the task takes there. Depends on nothing but the
// demand and the class, so the answer is kept for as long as both exist.
import {
  type AcceleratorDemand,
  type Constraint,
  defaultCpuMilli,
  deviceCount,
  type GroupDemand,
  type Hardware,
  type JobDemand,
  type Lack,
  share,
  wholeDevice,
} from '@muster/model';
import type { ClassDevice, ClassTable, NodeClass } from './classes.ts';
import { type ClassCost, classCost } from './price.ts';
import { deviceNeeds } from './resources.ts';

/** What one task of an option takes on a node of a class. */
export interface ClassFit {
  readonly classId: number;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  /** Devices, and thousandths of each of them. */
  readonly count: number;
  readonly milli: number;
  /** The devices that match, as a mask; null when all of the node's do. */
  readonly mask: Uint32Array | null;
  readonly devices: number;
  /** Tasks an empty node holds. */
  readonly tasksMax: number;
  /** What a task takes at most of each of the policy's resources, in thousandths. */
  readonly needs: readonly number[];
  /** Whether it may take less, with other devices of the node. */
  readonly needsLess: boolean;
  readonly cost: ClassCost;
  /** The sum of what it costs. */
  readonly score: number;
}

/** The lacks a class can have by itself, in the order they are looked for. */
export type ClassLack = Extract<
  Lack,
  'constraint' | 'device-model' | 'device-count' | 'cpu-total' | 'memory-total'
>;

/** More tasks of one group than this are never looked for on one node; a task may take nothing at all. */
const tasksOnNodeMax = 100_000;

export function matchClass(
  demand: JobDemand,
  group: GroupDemand,
  option: number,
  cls: NodeClass,
  classes: ClassTable,
): ClassFit | ClassLack {
  const { hardware } = classes;
  if (!meetsRules(demand, cls, classes)) return 'constraint';
  const accelerator = group.accelerators[option];
  const isPart = accelerator !== undefined && accelerator.milli < wholeDevice;
  if (isPart && !cls.capabilities.includes('fractions')) return 'constraint';
  const count = accelerator ? deviceCount(accelerator) : 0;
  const asked = accelerator?.milli ?? 0;
  const matching = accelerator
    ? cls.devices.filter((device) => isSuch(device, accelerator, hardware)).length
    : 0;
  if (accelerator && matching === 0) return 'device-model';
  if (matching < count) return 'device-count';
  const cpuMilli = inSteps(cls, group.cpuMilli) ?? cpuShare(cls, asked);
  const memoryMib = group.memoryMib ?? memoryShare(cls, asked, cpuMilli);
  if (cpuMilli > cls.cpuMilli) return 'cpu-total';
  if (memoryMib > cls.memoryMib) return 'memory-total';
  const tasksMax = Math.min(
    tasksOnNodeMax,
    isPart ? matching * Math.floor(wholeDevice / asked) : tasksIn(matching, count),
    tasksIn(cls.cpuMilli, cpuMilli),
    tasksIn(cls.memoryMib, memoryMib),
  );
  const mask =
    accelerator && matching < cls.devices.length ? maskOf(cls.devices, accelerator, hardware) : null;
  const milli = isPart ? asked : wholeDevice;
  const ofDevices = classes.resources.map((resource) =>
    count === 0 ? [0] : deviceNeeds(resource, cls).filter((_, i) => mask === null || hasBit(mask, i)),
  );
  const needs = classes.resources.map(
    ({ perTask }, r) => perTask * wholeDevice + Math.max(...ofDevices[r]!) * milli * count,
  );
  const needsLess = ofDevices.some((each) => each.some((need) => need !== each[0]));
  const devices = cls.devices.length;
  const such = cls.devices.filter((_, i) => mask === null || hasBit(mask, i));
  const unmet = (rule: Constraint): boolean =>
    !classes.isFine(rule.label) && !satisfies(labelOf(cls, rule.label), rule);
  const cost = classCost(demand, group, accelerator, cls, such, cpuMilli, classes.prices, unmet);
  const score = cost.price + cost.speed + cost.preference + cost.trust + cost.transferHour;
  const task = { cpuMilli, memoryMib, count, milli, mask, needs, needsLess };
  return { classId: cls.id, ...task, devices, tasksMax, cost, score };
}

/** Whether the class has the labels and capabilities asked for; fine labels are for the node to answer. */
export function meetsRules(demand: JobDemand, cls: NodeClass, classes: ClassTable): boolean {
  return (
    demand.constraints.every(
      (rule) => classes.isFine(rule.label) || satisfies(labelOf(cls, rule.label), rule),
    ) && demand.capabilities.every((capability) => cls.capabilities.includes(capability))
  );
}

export function hasBit(mask: Uint32Array, i: number): boolean {
  return (mask[i >>> 5]! & (1 << (i & 31))) !== 0;
}

/** How many tasks of `each` an amount holds. */
export function tasksIn(amount: number, each: number): number {
  return each === 0 ? tasksOnNodeMax : Math.floor(amount / each);
}

/** As many steps as hold it: what is given whole is taken whole, or it would be sold twice over. */
function inSteps({ cpuStepMilli = 1 }: NodeClass, cpuMilli: number | null): number | null {
  return cpuMilli === null ? null : Math.ceil(cpuMilli / cpuStepMilli) * cpuStepMilli;
}

/** Whole steps of its devices' part, so that a job which names only devices strands none; one at least. */
function cpuShare(cls: NodeClass, milli: number): number {
  if (milli === 0) return defaultCpuMilli;
  const part = share(cls.cpuMilli, milli, cls.devices.length * wholeDevice);
  const { cpuStepMilli } = cls;
  return cpuStepMilli === undefined ? part : Math.max(1, Math.floor(part / cpuStepMilli)) * cpuStepMilli;
}

function memoryShare(cls: NodeClass, milli: number, cpuMilli: number): number {
  return milli === 0
    ? share(cls.memoryMib, cpuMilli, cls.cpuMilli)
    : share(cls.memoryMib, milli, cls.devices.length * wholeDevice);
}

export function isSuch(
  device: ClassDevice,
  wanted: AcceleratorDemand,
  hardware: readonly Hardware[],
): boolean {
  if (device.kind !== wanted.kind) return false;
  if (wanted.model !== null && device.model !== wanted.model) return false;
  if (wanted.memoryMib !== null && device.memoryMib < wanted.memoryMib) return false;
  if (wanted.interconnect === null && wanted.generation === null) return true;
  const { interconnect, generation } = propertiesOf(device, hardware);
  if (wanted.interconnect !== null && interconnect !== wanted.interconnect) return false;
  return wanted.generation === null || (generation !== null && generation >= wanted.generation);
}

/** As the node says; else as the policy's table says of the model. */
export function propertiesOf(
  device: ClassDevice,
  hardware: readonly Hardware[],
): Pick<ClassDevice, 'interconnect' | 'generation'> {
  const known = hardware.find(({ kind, model }) => kind === device.kind && model === device.model);
  return {
    interconnect: device.interconnect ?? known?.interconnect ?? null,
    generation: device.generation ?? known?.generation ?? null,
  };
}

function maskOf(
  devices: readonly ClassDevice[],
  wanted: AcceleratorDemand,
  hardware: readonly Hardware[],
): Uint32Array {
  const mask = new Uint32Array((devices.length + 31) >>> 5);
  for (const [i, device] of devices.entries())
    if (isSuch(device, wanted, hardware)) mask[i >>> 5]! |= 1 << (i & 31);
  return mask;
}

export function labelOf(cls: NodeClass, label: string): string | undefined {
  return Object.hasOwn(cls.labels, label) ? cls.labels[label] : undefined;
}

export function satisfies(value: string | undefined, rule: Constraint): boolean {
  switch (rule.op) {
    case 'in':
      return value !== undefined && rule.values.includes(value);
    case 'not-in':
      return value === undefined || !rule.values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
  }
}
