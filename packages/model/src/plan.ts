// What one scheduling cycle decided. A plan is data: units that commitPlan applies whole or drops with a reason, and
// verdicts for the queue entries whose answer changed. The engine makes it, the store commits it, nobody edits it.
import type { JobId, NodeId, RunId } from './ids.ts';
import type { Reason } from './outcome.ts';
import type { Uses } from './quota.ts';
import type { Verdict } from './verdict.ts';

/** One task of a run on one node, with exactly what it takes there. */
export interface TaskPlacement {
  /** Global rank in the gang: groups in the spec's order, tasks in order inside each. */
  readonly rank: number;
  readonly group: number;
  readonly node: NodeId;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  /** Indices of the node's devices. */
  readonly devices: readonly number[];
  /** Thousandths taken of each of them: 1000, or the part of the only one. */
  readonly deviceMilli: number;
}

interface UnitBase {
  readonly job: JobId;
  /** The version of the job row the decision was made on. */
  readonly jobVersion: number;
  /** The run that starts, or that the claim is for. */
  readonly run: RunId;
  readonly attempt: number;
}

/** Where a run is to be, down to the device. */
export interface Places {
  readonly exclusive: boolean;
  readonly tasks: readonly TaskPlacement[];
  /** Rendezvous: a port on the node of rank 0, held for as long as the run lives. */
  readonly port: number;
  /** What it uses of each resource key. */
  readonly uses: Uses;
}

/** Generation of every node the unit touches, as the engine knew it. */
export type NodeGenerations = readonly (readonly [NodeId, number])[];

/** By what right a run is stopped for another job: see decision 0007, section 5. */
export const rights = ['tier', 'reclaim', 'priority', 'shorter', 'move'] as const;
export type Right = (typeof rights)[number];

/** Behind "preempted for X," and the like. */
export const rightText: Readonly<Record<Right, string>> = {
  tier: 'whose tier may preempt this one',
  reclaim: 'which takes back what its project is guaranteed',
  priority: 'which has a higher priority in the same project',
  shorter: 'which is expected to need half as long or less',
  move: 'which fits once this one goes on elsewhere, where there is room for it',
};

/** A run that is stopped so that its room can be given to another job. */
export interface Victim {
  readonly job: JobId;
  readonly run: RunId;
  readonly right: Right;
}

/** The exact places a job gets once its victims are gone. Until then they are nobody else's. */
export interface Claim extends Places {
  readonly victims: readonly Victim[];
}

/** The job starts now. */
export type StartUnit = UnitBase &
  Places & { readonly kind: 'start'; readonly nodeGenerations: NodeGenerations };

/** Its victims are stopped and the job gets its claim: all of it or nothing. */
export type PreemptUnit = UnitBase & {
  readonly kind: 'preempt';
  readonly claim: Claim;
  readonly nodeGenerations: NodeGenerations;
};

/** A claim that can no longer be had is given up, and the job is considered anew. */
export type ReleaseUnit = UnitBase & { readonly kind: 'release'; readonly reason: Reason };

export type PlanUnit = StartUnit | PreemptUnit | ReleaseUnit;

/** The verdict of a queue entry (see `entryKey`), when its binding reason changed. */
export interface EntryVerdict {
  readonly entry: string;
  readonly verdict: Verdict;
}

export interface Plan {
  /** The last event the engine had applied. */
  readonly sequence: number;
  readonly nowMs: number;
  readonly policyVersion: number;
  readonly engineVersion: string;
  readonly units: readonly PlanUnit[];
  readonly verdicts: readonly EntryVerdict[];
  /** When to decide again though nothing changes (a backoff ends, a budget refills); null when only an event can help. */
  readonly wakeAtMs: number | null;
  /** Hash of everything above, for the decision log. */
  readonly hash: string;
}

/** Why commitPlan dropped a unit. Normal weather: the world moved between decide and commit. */
export type UnitRefusal = 'job-changed' | 'node-changed' | 'no-capacity' | 'port-taken';
