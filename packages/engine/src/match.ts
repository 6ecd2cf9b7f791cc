// Whether a node of a class could ever hold one task of a group, and what the task takes there. Depends on nothing but the
// demand and the class, so the answer is kept for as long as both exist.
import {
  type AcceleratorDemand,
  type Constraint,
  defaultCpuMilli,
  type GroupDemand,
  type JobDemand,
  type Lack,
  share,
} from '@muster/model';
import type { ClassDevice, NodeClass } from './classes.ts';

/** What one task of an option takes on a node of a class. */
export interface ClassFit {
  readonly classId: number;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly count: number;
  /** The devices that match, as a mask; null when all of the node's do. */
  readonly mask: Uint32Array | null;
  readonly devices: number;
  /** Tasks an empty node holds. */
  readonly tasksMax: number;
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
): ClassFit | ClassLack {
  if (!demand.constraints.every((rule) => rule.label === 'node' || satisfies(labelOf(cls, rule.label), rule)))
    return 'constraint';
  if (!demand.capabilities.every((capability) => cls.capabilities.includes(capability))) return 'constraint';
  const accelerator = group.accelerators[option];
  const count = accelerator?.count ?? 0;
  const matching = accelerator ? cls.devices.filter((device) => isSuch(device, accelerator)).length : 0;
  if (accelerator && matching === 0) return 'device-model';
  if (matching < count) return 'device-count';
  const cpuMilli = group.cpuMilli ?? cpuShare(cls, count);
  const memoryMib = group.memoryMib ?? memoryShare(cls, count, cpuMilli);
  if (cpuMilli > cls.cpuMilli) return 'cpu-total';
  if (memoryMib > cls.memoryMib) return 'memory-total';
  const tasksMax = Math.min(
    tasksOnNodeMax,
    tasksIn(matching, count),
    tasksIn(cls.cpuMilli, cpuMilli),
    tasksIn(cls.memoryMib, memoryMib),
  );
  const mask = accelerator && matching < cls.devices.length ? maskOf(cls.devices, accelerator) : null;
  return { classId: cls.id, cpuMilli, memoryMib, count, mask, devices: cls.devices.length, tasksMax };
}

/** How many tasks of `each` an amount holds. */
export function tasksIn(amount: number, each: number): number {
  return each === 0 ? tasksOnNodeMax : Math.floor(amount / each);
}

function cpuShare(cls: NodeClass, count: number): number {
  return count === 0 ? defaultCpuMilli : share(cls.cpuMilli, count, cls.devices.length);
}

function memoryShare(cls: NodeClass, count: number, cpuMilli: number): number {
  return count === 0
    ? share(cls.memoryMib, cpuMilli, cls.cpuMilli)
    : share(cls.memoryMib, count, cls.devices.length);
}

export function isSuch(device: ClassDevice, wanted: AcceleratorDemand): boolean {
  return (
    device.kind === wanted.kind &&
    (wanted.model === null || device.model === wanted.model) &&
    (wanted.memoryMib === null || device.memoryMib >= wanted.memoryMib)
  );
}

function maskOf(devices: readonly ClassDevice[], wanted: AcceleratorDemand): Uint32Array {
  const mask = new Uint32Array((devices.length + 31) >>> 5);
  for (const [i, device] of devices.entries()) if (isSuch(device, wanted)) mask[i >>> 5]! |= 1 << (i & 31);
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
