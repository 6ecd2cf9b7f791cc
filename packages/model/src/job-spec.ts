// A job spec made whole: one list of groups, every task count settled, every default in place. This is what the
// database keeps, the agent runs and the engine's demand is cut from; nothing downstream looks at shorthands.
import type { ArraySize } from './array-state.ts';
import { contradiction } from './contradiction.ts';
import type {
  AcceleratorDemand,
  Constraint,
  DataPart,
  EntryFacts,
  GroupDemand,
  JobDemand,
  Preference,
  RunEstimate,
  TopologyDemand,
} from './demand.ts';
import { maxTasks, type RawJobSpec } from './spec.ts';

export type SignalName = 'TERM' | 'INT' | 'HUP' | 'QUIT' | 'USR1' | 'USR2' | 'KILL';

export interface JobSpec {
  readonly name: string;
  readonly title: string | null;
  readonly project: string;
  readonly kind: 'batch';
  readonly tier: string;
  readonly priority: number;
  readonly groups: readonly GroupSpec[];
  readonly image: { readonly ref: string; readonly use: 'required' | 'where-supported' } | null;
  readonly workdir: string | null;
  readonly constraints: readonly Constraint[];
  readonly preferences: readonly Preference[];
  readonly topology: TopologyDemand | null;
  readonly exclusive: boolean;
  readonly retry: { readonly user: number; readonly outOfMemory: number; readonly infrastructure: number };
  readonly timeLimitMs: number | null;
  /** When it should have ended; null when nobody said. */
  readonly deadlineMs: number | null;
  readonly stop: { readonly signal: SignalName; readonly graceMs: number };
  /** How to ask for a checkpoint before a preemption, and how long to wait for a newer one; null: it is never asked. */
  readonly checkpoint: { readonly signal: SignalName; readonly waitMs: number } | null;
  /** What it takes to go on from a checkpoint; left out where nobody said. */
  readonly restoreMs?: number | undefined;
  /** All that it writes goes to a store that refuses older attempts; left out where nobody said. */
  readonly fenced?: true | undefined;
  /** What it reads, and where that is; left out where nobody said. */
  readonly data?: readonly DataPart[] | undefined;
  /** Null: never stopped for lack of renewal. */
  readonly stopAfterMs: number | null;
  readonly outputLimitMib: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Left out for a job that is none. */
  readonly array?: ArraySize | undefined;
}

/** As the API tells it, with RFC 3339 for every moment. */
export interface JobSpecView extends Omit<JobSpec, 'deadlineMs'> {
  readonly deadline: string | null;
}

export interface GroupSpec {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly demand: GroupDemand;
}

/** What the spec leaves to its surroundings: the submitter's project and the policy's tiers. */
export interface SpecDefaults {
  readonly project: string;
  readonly tier: string;
  readonly stopAfterMs: (tier: string) => number | null;
}

export type Completed =
  | { readonly ok: true; readonly spec: JobSpec }
  | { readonly ok: false; readonly problems: readonly SpecProblem[] };

export interface SpecProblem {
  readonly path: string;
  readonly message: string;
}

/** Fills shorthands and defaults; refuses what only shows when fields are seen together. */
export function completeSpec(raw: RawJobSpec, defaults: SpecDefaults): Completed {
  if (raw.groups && raw.tasks !== undefined)
    return refuse(['/tasks', '/groups'], '/tasks is for a job without /groups; give tasks in each group');
  const written = raw.groups ?? [{ tasks: raw.tasks ?? 1 }];
  const groups: GroupSpec[] = [];
  for (const [i, group] of written.entries()) {
    const at = raw.groups ? `/groups/${i}` : '';
    const groupName = group.name ?? (written.length === 1 ? 'main' : null);
    if (groupName === null) return refuse([`${at}/name`], 'is required when there are several groups');
    const twin = groups.findIndex((other) => other.name === groupName);
    if (twin >= 0) return refuse([`/groups/${twin}/name`, `${at}/name`], `"${groupName}" names two groups`);
    const command = group.command ?? raw.command;
    if (!command) return refuse([`${at}/command`], 'is required: the program and its arguments, as a list');
    groups.push({
      name: groupName,
      command,
      env: { ...raw.env, ...group.env },
      demand: groupDemand(raw, group, groupName),
    });
  }
  const near = nearProblem(groups);
  if (near) return near;
  const total = groups.reduce((sum, group) => sum + group.demand.tasks, 0);
  if (total > maxTasks)
    return refuse(['/groups'], `has ${total} tasks together; at most ${maxTasks} are allowed`);
  const constraints = raw.constraints.map(constraint);
  const clash = contradiction(constraints);
  if (clash !== null)
    return refuse(
      clash.map((i) => `/constraints/${i}`),
      `no node can meet ${clash.map((i) => `/constraints/${i}`).join(' and ')}: they contradict each other about "${constraints[clash[0] ?? 0]?.label}"`,
    );
  const tier = raw.tier ?? defaults.tier;
  return {
    ok: true,
    spec: {
      name: raw.name ?? 'job',
      title: raw.title ?? null,
      project: raw.project ?? defaults.project,
      kind: 'batch',
      tier,
      priority: raw.priority,
      groups,
      image: raw.image ?? null,
      workdir: raw.workdir ?? null,
      constraints,
      preferences: raw.preferences.map((rule) => ({ ...constraint(rule), weight: rule.weight })),
      topology: raw.topology ?? null,
      exclusive: raw.exclusive,
      retry: raw.retry,
      timeLimitMs: raw.timeLimit ?? null,
      deadlineMs: raw.deadline ?? null,
      stop: { signal: raw.stop.signal, graceMs: raw.stop.grace },
      checkpoint:
        raw.checkpoint?.signal === undefined
          ? null
          : { signal: raw.checkpoint.signal, waitMs: raw.checkpoint.wait },
      ...(raw.checkpoint?.restore !== undefined && { restoreMs: raw.checkpoint.restore }),
      ...(raw.data && { data: raw.data.map(({ size, ...where }) => ({ ...where, sizeMib: size })) }),
      ...(raw.checkpoint?.fenced && { fenced: true as const }),
      stopAfterMs:
        raw.stopAfter === undefined
          ? defaults.stopAfterMs(tier)
          : raw.stopAfter === 'never'
            ? null
            : raw.stopAfter,
      outputLimitMib: raw.output.limit,
      labels: raw.labels ?? {},
      ...(raw.array && { array: { count: raw.array.count, parallel: raw.array.parallel ?? null } }),
    },
  };
}

/** Groups are placed after the ones they must be near to, so these must exist and not wait for each other. */
function nearProblem(groups: readonly GroupSpec[]): Completed | null {
  const targetOf = (group: GroupSpec): GroupSpec | undefined =>
    groups.find(({ name }) => name === group.demand.near?.group);
  for (const [i, group] of groups.entries()) {
    if (group.demand.near === null) continue;
    const path = `/groups/${i}/near/group`;
    let target = targetOf(group);
    if (!target) return refuse([path], `names no group of this job; groups are ${listNames(groups)}`);
    for (let steps = 0; target && steps < groups.length; steps++) {
      if (target === group) return refuse([path], 'groups are near each other in a circle');
      target = targetOf(target);
    }
  }
  return null;
}

function listNames(groups: readonly GroupSpec[]): string {
  return groups.map(({ name }) => name).join(', ');
}

/** What contradicts itself is told at each of its places. */
function refuse(paths: readonly string[], message: string): Completed {
  return { ok: false, problems: paths.map((path) => ({ path, message })) };
}

function groupDemand(
  raw: RawJobSpec,
  group: NonNullable<RawJobSpec['groups']>[number] | { tasks: NonNullable<RawJobSpec['tasks']> },
  name: string,
): GroupDemand {
  const own = 'resources' in group ? group.resources : undefined;
  const cpus = own?.cpus ?? raw.resources?.cpus;
  const memory = own?.memory ?? raw.resources?.memory;
  const asked = own?.accelerators ?? raw.resources?.accelerators;
  const alternatives = asked === undefined ? [] : Array.isArray(asked) ? asked : [asked];
  return {
    name,
    tasks: typeof group.tasks === 'number' ? group.tasks : group.tasks.max,
    cpuMilli: cpus === undefined ? null : Math.round(cpus * 1000),
    memoryMib: memory ?? null,
    accelerators: alternatives.map(acceleratorDemand),
    topology: 'topology' in group ? (group.topology ?? null) : null,
    near: 'near' in group ? (group.near ?? null) : null,
  };
}

type RawAccelerators = NonNullable<NonNullable<RawJobSpec['resources']>['accelerators']>;

function acceleratorDemand(item: Exclude<RawAccelerators, readonly unknown[]>): AcceleratorDemand {
  return {
    kind: item.kind,
    model: item.model ?? null,
    milli: Math.round(item.count * 1000),
    memoryMib: item.memory ?? null,
    interconnect: item.interconnect ?? null,
    generation: item.generation ?? null,
    speedMilli: item.speed === undefined ? 1000 : Math.round(item.speed * 1000),
  };
}

function constraint(rule: Omit<RawJobSpec['preferences'][number], 'weight'>): Constraint {
  if (rule.in) return { label: rule.label, op: 'in', values: rule.in };
  if (rule.notIn) return { label: rule.label, op: 'not-in', values: rule.notIn };
  return { label: rule.label, op: rule.exists ? 'exists' : 'absent', values: [] };
}

/** What the engine needs to know of a job, and nothing that is a secret or a command. */
export function jobDemand(spec: JobSpec): JobDemand {
  return {
    groups: spec.groups.map((group) => group.demand),
    constraints: spec.constraints,
    preferences: spec.preferences,
    topology: spec.topology,
    capabilities: spec.image?.use === 'required' ? ['containers'] : [],
    exclusive: spec.exclusive,
    ...(spec.data && { data: { parts: spec.data, overMs: spec.timeLimitMs ?? workWithoutLimitMs } }),
  };
}

/** What bringing data costs is spread over this where a job has no time limit. */
const workWithoutLimitMs = 3_600_000;

/** What the queue entry of a spec has in common beside the demand; `user` submits it. */
export function entryFacts(spec: JobSpec, user: string, estimate?: RunEstimate): EntryFacts {
  const { project, tier, priority, timeLimitMs, deadlineMs, restoreMs } = spec;
  return {
    project,
    user,
    tier,
    priority,
    durationMs: timeLimitMs,
    deadlineMs,
    ...(estimate && { estimate }),
    ...(restoreMs !== undefined && { restoreMs }),
  };
}
