// What the fleet could do instead, in short sentences, for a request it can never meet.
import {
  type AcceleratorDemand,
  amountText,
  type Constraint,
  formatMib,
  formatMilli,
  type GroupDemand,
  type Hardware,
  type JobDemand,
  type OverCeiling,
  wholeDevice,
} from '@muster/model';
import type { ClassDevice, NodeClass } from './classes.ts';
import { exists, type Fleet } from './fleet.ts';
import { isSuch, labelOf, matchClass, meetsRules, propertiesOf, satisfies } from './match.ts';
import { labelsAllowed } from './node-room.ts';
import { compareText } from './order.ts';
import type { Shape } from './shape.ts';
import { labelOfNode } from './tree.ts';

/** For a gang that the whole fleet, empty, does not hold: how many tasks of its group it does. */
export function nearestGang(shape: Shape, tasksFit: number): string[] {
  const beside = shape.groups.length > 1 ? ' beside the other groups' : '';
  if (tasksFit === 0) return ['the other groups leave no room for it; make them smaller'];
  const { topology } = shape.demand;
  const where = topology?.mode === 'required' ? ` in one ${topology.level}` : ' at once';
  return [`at most ${tasksFit} ${tasksFit === 1 ? 'task' : 'tasks'}${where}${beside}`];
}

/** For a job that asks for more than ceilings ever allow: how many of its tasks they do, or else how much in all. */
export function nearestWithin(over: readonly OverCeiling[], { groups }: Shape): string[] {
  const { tasks } = groups[0]!.demand;
  const allowed = Math.min(...over.map(({ asks, ceiling }) => Math.floor(ceiling / (asks / tasks))));
  if (groups.length === 1 && allowed > 0)
    return [`at most ${allowed} ${allowed === 1 ? 'task' : 'tasks'} within its ceilings`];
  const least = new Map<string, number>();
  for (const { key, ceiling } of over) least.set(key, Math.min(ceiling, least.get(key) ?? ceiling));
  const amounts = [...least].map(([key, ceiling]) => amountText(key, ceiling));
  return [`at most ${amounts.join(' and ')} in all within its ceilings`];
}

/** For a task that no node could ever hold. `fleet` is the empty one. */
export function nearestTask(fleet: Fleet, shape: Shape, group: number): string[] {
  const { demand } = shape.groups[group]!;
  const classes = existingClasses(fleet);
  const rules = [...unknownLevels(fleet, shape), ...unmetRules(fleet, shape, classes)];
  if (rules.length > 0) return rules;
  const allowed = classes.filter((cls) => meetsRules(shape.demand, cls, fleet.classes));
  const wanted = demand.accelerators.length === 0 ? [null] : demand.accelerators;
  const sentences = wanted.flatMap((accelerator, option) =>
    forOption(fleet, shape.demand, demand, accelerator, option, allowed),
  );
  if (sentences.length > 0) return [...new Set(sentences)];
  return ['no node offers all of this together, with a rendezvous port'];
}

function existingClasses(fleet: Fleet): NodeClass[] {
  return fleet.byClass.flatMap((nodes) => (nodes && nodes.existing > 0 ? [nodes.cls] : []));
}

export function unknownLevels({ tree }: Fleet, { demand }: Shape): string[] {
  const asked = [demand.topology, ...demand.groups.flatMap(({ topology, near }) => [topology, near])];
  const unknown = asked.flatMap((each) => (each && tree.levelNamed(each.level) === -2 ? [each.level] : []));
  return [...new Set(unknown)].map(
    (level) => `there is no topology level "${level}"; levels are ${[...tree.levels, 'node'].join(', ')}`,
  );
}

/** Rules that no node meets; when each is met somewhere but no node meets all, one sentence says so. */
function unmetRules(fleet: Fleet, shape: Shape, classes: readonly NodeClass[]): string[] {
  const { constraints, capabilities } = shape.demand;
  const values = (label: string): (string | undefined)[] =>
    fleet.classes.isFine(label) ? nodeLabels(fleet, label) : classes.map((cls) => labelOf(cls, label));
  const unmet = constraints
    .filter((rule) => !values(rule.label).some((value) => satisfies(value, rule)))
    .map((rule) => ruleText(rule, values(rule.label)));
  const asksParts = shape.groups.some(({ options }) =>
    options.every(({ milli }) => milli > 0 && milli < wholeDevice),
  );
  for (const capability of [...capabilities, ...(asksParts ? (['fractions'] as const) : [])])
    if (!classes.some((cls) => cls.capabilities.includes(capability)))
      unmet.push(`no node has the capability ${capability}`);
  if (unmet.length > 0 || someNodeMeetsAll(fleet, shape)) return unmet;
  return ['no node matches all constraints together'];
}

function someNodeMeetsAll(fleet: Fleet, shape: Shape): boolean {
  for (const slot of fleet.slots.values()) {
    const { cls } = fleet.byClass[fleet.classOf[slot]!]!;
    if (!exists(fleet.facts[slot]!) || !meetsRules(shape.demand, cls, fleet.classes)) continue;
    if (labelsAllowed(fleet, shape, slot)) return true;
  }
  return false;
}

function nodeLabels(fleet: Fleet, label: string): (string | undefined)[] {
  return [...fleet.slots.values()]
    .map((slot) => fleet.facts[slot]!)
    .filter((facts) => facts.state === 'ready' || facts.state === 'silent')
    .map((facts) => labelOfNode(facts, label));
}

function ruleText(rule: Constraint, values: readonly (string | undefined)[]): string {
  const known = listed(values.filter((value) => value !== undefined));
  switch (rule.op) {
    case 'in':
      return `label ${rule.label}=${rule.values.join('|')} exists on no node; ${known ? `values are ${known}` : 'no node has that label'}`;
    case 'exists':
      return `label ${rule.label} exists on no node`;
    case 'not-in':
      return `every node has label ${rule.label} with an excluded value; values are ${known}`;
    case 'absent':
      return `every node has label ${rule.label}; values are ${known}`;
  }
}

/** At most this many values are named; more would bury the sentence. */
const listedMax = 8;

function listed(values: readonly string[]): string {
  const distinct = [...new Set(values)].sort(compareText);
  const shown = distinct.slice(0, listedMax).join(', ');
  return distinct.length > listedMax ? `${shown} and ${distinct.length - listedMax} more` : shown;
}

function forOption(
  fleet: Fleet,
  demand: JobDemand,
  group: GroupDemand,
  accelerator: AcceleratorDemand | null,
  option: number,
  classes: readonly NodeClass[],
): string[] {
  const { hardware } = fleet.classes;
  const lacks = classes.map((cls) => matchClass(demand, group, option, cls, fleet.classes));
  const of = (lack: string): NodeClass[] => classes.filter((_, i) => lacks[i] === lack);
  // The last lack that any class got to is the one to lift: those classes are nearest.
  if (of('memory-total').length > 0)
    return [`at most ${formatMib(most(of('memory-total'), (cls) => cls.memoryMib))} of memory on one node`];
  if (of('cpu-total').length > 0)
    return [`at most ${formatMilli(most(of('cpu-total'), (cls) => cls.cpuMilli))} cores on one node`];
  if (accelerator === null) return [];
  if (of('device-count').length > 0) {
    const count = most(of('device-count'), (cls) => matching(cls, accelerator, hardware));
    const what = accelerator.model ?? accelerator.kind;
    return [`at most ${count} ${what} on one node; ask for ${count} or fewer per task`];
  }
  return of('device-model').length > 0
    ? [
        deviceText(
          accelerator,
          classes.flatMap((cls) => cls.devices),
          hardware,
        ),
      ]
    : [];
}

function deviceText(
  wanted: AcceleratorDemand,
  devices: readonly ClassDevice[],
  hardware: readonly Hardware[],
): string {
  const kinds = listed(devices.map((device) => device.kind));
  const such = devices.filter((device) => device.kind === wanted.kind);
  if (devices.length === 0) return `no node has accelerators`;
  if (such.length === 0) return `no accelerator of kind "${wanted.kind}"; the fleet has ${kinds}`;
  const model = such.filter((device) => wanted.model === null || device.model === wanted.model);
  if (model.length === 0)
    return `no accelerator model "${wanted.model}"; the fleet has ${listed(such.map((device) => device.model))}`;
  const what = wanted.model ?? wanted.kind;
  const largest = most(model, (device) => device.memoryMib);
  if (wanted.memoryMib !== null && largest < wanted.memoryMib)
    return `at most ${formatMib(largest)} on one ${what}`;
  const known = model.map((device) => propertiesOf(device, hardware));
  const links = listed(known.flatMap(({ interconnect }) => interconnect ?? []));
  if (wanted.interconnect !== null && !known.some((of) => of.interconnect === wanted.interconnect))
    return `no ${what} with interconnect "${wanted.interconnect}"; ${links ? `the fleet has ${links}` : 'none is known to have any'}`;
  const newest = most(known, ({ generation }) => generation ?? 0);
  if (wanted.generation !== null && newest < wanted.generation)
    return `the newest ${what} is of generation ${newest}`;
  return `no ${what} has all of the memory, interconnect and generation asked for`;
}

function matching(cls: NodeClass, accelerator: AcceleratorDemand, hardware: readonly Hardware[]): number {
  return cls.devices.filter((device) => isSuch(device, accelerator, hardware)).length;
}

function most<T>(items: readonly T[], amount: (item: T) => number): number {
  return items.reduce((max, item) => Math.max(max, amount(item)), 0);
}
