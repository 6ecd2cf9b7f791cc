// What a job asks of the fleet, as the engine sees it. Amounts are whole numbers (milli-cores, MiB, devices). Two
// jobs with the same demand have the same shape and share one queue entry when project, tier and priority agree.
import { canonicalJson } from './canonical-json.ts';

/** What a cluster may or may not be able to do; a missing one is an unmet constraint named in the verdict. */
export type Capability =
  | 'containers'
  | 'fractions'
  | 'signals'
  | 'unlike-groups'
  | 'uneven-nodes'
  | 'ask-checkpoint';

export interface AcceleratorDemand {
  readonly kind: string;
  readonly model: string | null;
  readonly count: number;
  /** Least memory of one device. */
  readonly memoryMib: number | null;
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
}

export interface Constraint {
  /** A node label; `cluster`, `pool` and `node` are labels every node has. */
  readonly label: string;
  readonly op: 'in' | 'not-in' | 'exists' | 'absent';
  readonly values: readonly string[];
}

/** All groups together are one gang: every task starts or none does. */
export interface JobDemand {
  readonly groups: readonly GroupDemand[];
  readonly constraints: readonly Constraint[];
  readonly capabilities: readonly Capability[];
  readonly exclusive: boolean;
}

export const defaultCpuMilli = 1000;

/** The part of a node's amount that belongs to `count` of its `total` devices or cores, rounded down. */
export function share(amount: number, count: number, total: number): number {
  return total === 0 ? 0 : Math.floor((amount * Math.min(count, total)) / total);
}

export function taskCount(demand: JobDemand): number {
  return demand.groups.reduce((sum, group) => sum + group.tasks, 0);
}

/** The identity of a queue entry: jobs with equal keys are interchangeable to the engine except for their order. */
export function entryKey(project: string, tier: string, priority: number, demand: JobDemand): string {
  return `${project}|${tier}|${priority}|${canonicalJson(demand)}`;
}
