// The changes of one job that are worth a try, as ladders: of each kind the steps from the smallest change to the largest, and
// the first that starts the job is the one to tell. What is written here is what `changes` of an explanation can say of a
// job; quotas and ends of runs are elsewhere (helpful-changes.ts, helpful-ends.ts).
import {
  type AcceleratorDemand,
  type ChangeKind,
  type EntryFacts,
  type GroupDemand,
  type JobDemand,
  type Policy,
  type TopologyDemand,
  wholeDevice,
} from '@muster/model';
import type { Fleet } from './fleet.ts';
import { compareText } from './order.ts';

export interface Candidate {
  readonly change: ChangeKind;
  readonly facts: EntryFacts;
  readonly demand: JobDemand;
}

export interface Ladder {
  readonly steps: number;
  at(step: number): Candidate;
}

export function* laddersOf(
  fleet: Fleet,
  policy: Policy,
  facts: EntryFacts,
  demand: JobDemand,
): IterableIterator<Ladder> {
  const asking = (change: ChangeKind, other: Partial<JobDemand>): Candidate => ({
    change,
    facts,
    demand: { ...demand, ...other },
  });
  const withGroup = (group: GroupDemand, other: Partial<GroupDemand>): Partial<JobDemand> => ({
    groups: demand.groups.map((each) => (each === group ? { ...each, ...other } : each)),
  });
  for (const group of demand.groups) {
    const { name, tasks: from } = group;
    yield {
      steps: from - 1,
      at: (step) => {
        const to = from - 1 - step;
        return asking({ kind: 'tasks', group: name, from, to }, withGroup(group, { tasks: to }));
      },
    };
  }
  for (const group of demand.groups)
    for (const [alternative, accelerator] of group.accelerators.entries())
      for (const ladder of ofAccelerator(fleet, accelerator, { group: group.name, alternative }))
        yield {
          steps: ladder.steps,
          at: (step) => {
            const { change, accelerator: other } = ladder.at(step);
            const accelerators = group.accelerators.with(alternative, other);
            return asking(change, withGroup(group, { accelerators }));
          },
        };
  for (const [index, rule] of demand.constraints.entries())
    yield one(
      asking({ kind: 'constraint', index, rule }, { constraints: demand.constraints.toSpliced(index, 1) }),
    );
  if (demand.topology !== null)
    yield widened(fleet, demand.topology, (to) =>
      asking(
        { kind: 'topology', group: null, from: demand.topology!.level, to },
        { topology: to === null ? null : { ...demand.topology!, level: to } },
      ),
    );
  for (const group of demand.groups) {
    const { name, topology, near } = group;
    if (topology !== null)
      yield widened(fleet, topology, (to) =>
        asking(
          { kind: 'topology', group: name, from: topology.level, to },
          withGroup(group, { topology: to === null ? null : { ...topology, level: to } }),
        ),
      );
    if (near !== null)
      yield widened(fleet, { level: near.level, mode: 'required' }, (to) =>
        asking(
          { kind: 'near', group: name, from: near.level, to },
          withGroup(group, { near: to === null ? null : { ...near, level: to } }),
        ),
      );
  }
  if (demand.exclusive) yield one(asking({ kind: 'exclusive' }, { exclusive: false }));
  for (const { name } of policy.tiers)
    if (name !== facts.tier)
      yield one({
        change: { kind: 'tier', from: facts.tier, to: name },
        facts: { ...facts, tier: name },
        demand,
      });
}

function one(candidate: Candidate): Ladder {
  return { steps: 1, at: () => candidate };
}

interface OtherAccelerator {
  readonly change: ChangeKind;
  readonly accelerator: AcceleratorDemand;
}

function* ofAccelerator(
  fleet: Fleet,
  wanted: AcceleratorDemand,
  where: { readonly group: string; readonly alternative: number },
): IterableIterator<{ readonly steps: number; at(step: number): OtherAccelerator }> {
  const { model: from, milli } = wanted;
  if (from !== null)
    for (const to of modelsOf(fleet, wanted.kind))
      if (to !== from)
        yield {
          steps: 1,
          at: () => ({
            change: { kind: 'model', ...where, from, to },
            accelerator: { ...wanted, model: to },
          }),
        };
  const devices = milli / wholeDevice;
  if (devices > 1)
    yield {
      steps: devices - 1,
      at: (step) => ({
        change: { kind: 'devices', ...where, from: devices, to: devices - 1 - step },
        accelerator: { ...wanted, milli: (devices - 1 - step) * wholeDevice },
      }),
    };
  for (const [property, field] of properties)
    if (wanted[field] !== null)
      yield {
        steps: 1,
        at: () => ({
          change: { kind: 'property', ...where, property },
          accelerator: { ...wanted, [field]: null },
        }),
      };
}

const properties = [
  ['memory', 'memoryMib'],
  ['interconnect', 'interconnect'],
  ['generation', 'generation'],
] as const;

/** Models of a kind that nodes have which exist, by name. */
function modelsOf(fleet: Fleet, kind: string): string[] {
  const models = new Set<string>();
  for (const nodes of fleet.byClass)
    if (nodes && nodes.existing > 0)
      for (const device of nodes.cls.devices) if (device.kind === kind) models.add(device.model);
  return [...models].sort(compareText);
}

/** Only what is required keeps a job from starting at its own level; wider levels first, then none at all. */
function widened(
  { tree }: Fleet,
  { level, mode }: TopologyDemand,
  make: (to: string | null) => Candidate,
): Ladder {
  const at = mode === 'required' ? tree.levelNamed(level) : -1;
  const wider = at > 0 ? tree.levels.slice(0, at).reverse() : [];
  return { steps: wider.length + 1, at: (step) => make(wider[step] ?? null) };
}
