// What a job asks of the fleet, as the engine sees it. Amounts are whole numbers (milli-cores, MiB, milli-devices). Two
// jobs with the same demand have the same shape and share one queue entry when the rest agrees (`EntryFacts`).
import { canonicalJson } from './canonical-json.ts';

/** What a cluster may or may not be able to do; a missing one is an unmet constraint named in the verdict. */
export type Capability =
  | 'containers'
  | 'fractions'
  | 'signals'
  | 'unlike-groups'
  | 'uneven-nodes'
  | 'ask-checkpoint'
  | 'output-limit';

/** What a cluster without it cannot do for a job. */
export const capabilityTexts: Readonly<Record<Capability, string>> = {
  containers: 'it runs no container images',
  fractions: 'it gives devices whole, not in parts',
  signals: 'it cannot send signals',
  'unlike-groups': 'it runs no job whose groups differ',
  'uneven-nodes': 'it runs no job with more tasks on one node than on another',
  'ask-checkpoint': 'it cannot ask a program to save its work',
  'output-limit': 'it keeps as much of the output of a task as it likes, whatever output.limit says',
};

export interface AcceleratorDemand {
  readonly kind: string;
  readonly model: string | null;
  /** Thousandths of a device for each task: whole devices are multiples of 1000, a part of one device is below it. */
  readonly milli: number;
  /** Least memory of one device. */
  readonly memoryMib: number | null;
  /** The link its devices must have, such as nvlink. */
  readonly interconnect: string | null;
  /** Least hardware generation; see hardware.ts. */
  readonly generation: number | null;
  /** How fast the job is on it, in thousandths of its speed on the first alternative. */
  readonly speedMilli: number;
}

/** Where tasks may be relative to each other. */
export interface TopologyDemand {
  /** A level of the policy's topology, or `node`. */
  readonly level: string;
  /**
   * required: all in one domain of that level. preferred: in the narrowest domain from that level upwards that holds all,
   * and inside a wider one in few domains of that level. spread: evenly over the domains of that level.
   */
  readonly mode: 'required' | 'preferred' | 'spread';
}

/** Only in domains of that level where the named group has tasks. */
export interface NearDemand {
  readonly group: string;
  readonly level: string;
}

/**
 * Identical tasks. A null amount is a share of whatever node the task lands on: its devices' part of the node's cores
 * and memory; for a task without devices 1 core, and the cores' part of the memory. So a job that names only devices
 * never strands any and never asks more than a node has.
 */
export interface GroupDemand {
  readonly name: string;
  readonly tasks: number;
  readonly cpuMilli: number | null;
  readonly memoryMib: number | null;
  /** Alternatives in order of preference; empty for a task without devices. One gang uses one alternative a group. */
  readonly accelerators: readonly AcceleratorDemand[];
  readonly topology: TopologyDemand | null;
  readonly near: NearDemand | null;
}

export interface Constraint {
  /** A node label; `cluster`, `pool` and `node` are labels every node has. */
  readonly label: string;
  readonly op: 'in' | 'not-in' | 'exists' | 'absent';
  readonly values: readonly string[];
}

/** A constraint that one can do without. */
export interface Preference extends Constraint {
  /** What a task on a node that does not meet it is worth less; the policy says how much money one point is. */
  readonly weight: number;
}

/** All groups together are one gang: every task starts or none does. */
export interface JobDemand {
  readonly groups: readonly GroupDemand[];
  readonly constraints: readonly Constraint[];
  readonly preferences: readonly Preference[];
  /** Of all tasks of the gang together; groups may have their own beside it. */
  readonly topology: TopologyDemand | null;
  readonly capabilities: readonly Capability[];
  readonly exclusive: boolean;
  /** What it reads, and where that is; left out where nobody said. */
  readonly data?: DataDemand | undefined;
}

/** Brought to where the job runs, once for all of its tasks. */
export interface DataDemand {
  readonly parts: readonly DataPart[];
  /** How long the job works with it: what it costs to bring is spread over that, to be compared with what an hour costs. */
  readonly overMs: number;
}

export interface DataPart {
  /** Where it is, by one of the two. */
  readonly region?: string | undefined;
  readonly cluster?: string | undefined;
  readonly sizeMib: number;
}

export const defaultCpuMilli = 1000;

export const wholeDevice = 1000;

/** How many devices of a node a task has: a part of a device is one of them. */
export function deviceCount(accelerator: Pick<AcceleratorDemand, 'milli'>): number {
  return accelerator.milli < wholeDevice ? 1 : accelerator.milli / wholeDevice;
}

/** The part of a node's amount that belongs to `part` of its `total` milli-devices or cores, rounded down. */
export function share(amount: number, part: number, total: number): number {
  return total === 0 ? 0 : Math.floor((amount * Math.min(part, total)) / total);
}

export function taskCount(demand: JobDemand): number {
  return demand.groups.reduce((sum, group) => sum + group.tasks, 0);
}

/** The identity of a queue entry: jobs with equal keys are interchangeable to the engine except for their order. */
export function entryKey(facts: EntryFacts, demand: JobDemand): string {
  return `${entryHead(facts)}|${canonicalJson(demand)}`;
}

/** What jobs of one queue entry have in common beside their demand. */
export interface EntryFacts {
  readonly project: string;
  readonly user: string;
  readonly tier: string;
  readonly priority: number;
  readonly durationMs: number | null;
  readonly deadlineMs: number | null;
  /** How long it will run by what was learned of others; left out where nothing was. */
  readonly estimate?: RunEstimate | undefined;
  /** What it takes to go on from a checkpoint; left out where nobody said. */
  readonly restoreMs?: number | undefined;
}

/** What was said of a job's run time when it came, and is kept: a promise to nobody. */
export interface RunEstimate {
  /** The mean. */
  readonly expectedMs: number;
  /** It stays within this with a chance of nine tenths. */
  readonly p90Ms: number;
}

/** A user's name may hold anything, so it comes last and quoted. */
export function entryHead(facts: EntryFacts): string {
  const { project, user, tier, priority, durationMs, deadlineMs, estimate, restoreMs } = facts;
  const said = estimate ? `${estimate.expectedMs}|${estimate.p90Ms}|` : '';
  const again = restoreMs === undefined ? '' : `restore ${restoreMs}|`;
  const times = `${durationMs ?? ''}|${deadlineMs ?? ''}|${said}${again}`;
  return `${project}|${tier}|${priority}|${times}${JSON.stringify(user)}`;
}
