// The log: every change that the engine or a person may want to know, in commit order. Bodies carry what `apply`
// needs and what a reader wants to see, never commands, environment or secrets. What happens to a member of an array is told
// as of any job, by its own id (`job_…[17]`). Each kind has a schema version; older
// versions are lifted by the upcasters below, so that everyone else sees only the newest form.
import type { ArraySize, ArrayState } from './array-state.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { ClusterConfig } from './cluster.ts';
import type { Constraint, JobDemand, RunEstimate } from './demand.ts';
import type { Halt } from './halt.ts';
import type { JobId, NodeId, RunId } from './ids.ts';
import type { IndexRanges } from './index-ranges.ts';
import type { Inventory } from './inventory.ts';
import type { JobPast, JobState } from './job-state.ts';
import type { Drain, NodeState } from './node-state.ts';
import type { JobResult, Reason, RunResult, TaskExit } from './outcome.ts';
import type { Claim, TaskPlacement, UnitRefusal } from './plan.ts';
import type { Policy } from './policy.ts';
import type { Uses } from './quota.ts';
import type { Strike } from './strikes.ts';
import type { ProjectUsage } from './usage.ts';

/** What the engine knows of a waiting or placed job; also the row it is rebuilt from. */
export interface JobFacts {
  readonly job: JobId;
  readonly version: number;
  readonly name: string;
  readonly project: string;
  readonly tier: string;
  readonly priority: number;
  /** Who submitted it; the user whose ceiling counts. */
  readonly user: string;
  /** Its time limit; null when it has none, and its tier's assumed length counts. */
  readonly durationMs: number | null;
  /** When it should have ended; null when nobody said. */
  readonly deadlineMs: number | null;
  /** What it takes to go on from a checkpoint; left out where nobody said. */
  readonly restoreMs?: number | undefined;
  readonly demand: JobDemand;
  readonly submittedMs: number;
  /** How long it will run by what was learned of others; left out where nothing was. */
  readonly estimate?: RunEstimate | undefined;
  /** For an array: how many members, each of which asks for all of the demand. Left out for other jobs. */
  readonly array?: ArraySize | undefined;
}

export interface NodeFacts {
  readonly node: NodeId;
  readonly name: string;
  readonly cluster: string;
  readonly pool: string;
  readonly generation: number;
  readonly inventory: Inventory;
  readonly state: NodeState['state'];
  readonly drain: Drain | null;
  /** In thousandths; fully trusted when left out. */
  readonly trustMilli?: number | undefined;
}

/** What a run holds from plan to proven end. */
export interface RunFacts {
  readonly run: RunId;
  readonly job: JobId;
  readonly attempt: number;
  readonly exclusive: boolean;
  readonly tasks: readonly TaskPlacement[];
  readonly port: number;
  /** What it uses of each resource key, as its nodes were when it was planned. */
  readonly uses: Uses;
}

/** A run as rows have it: what it holds, and what has happened to it since. */
export interface LiveRun extends RunFacts {
  readonly plannedMs: number;
  /** Null until every task has started. */
  readonly startedMs: number | null;
  /** When it last said that its work is saved, by the server's clock; null when it never did. */
  readonly checkpointMs: number | null;
  /** It is being stopped, for whatever reason. */
  readonly stopping: boolean;
}

type QueuedFacts = JobPast & {
  readonly attempt: number;
  /** When this wait began. */
  readonly sinceMs: number;
  readonly notBeforeMs: number;
};

export type EventBody =
  | ({ readonly kind: 'job.submitted'; readonly by: string; readonly held: boolean } & JobFacts)
  | { readonly kind: 'job.held'; readonly job: JobId; readonly version: number; readonly by: string }
  | {
      readonly kind: 'job.released';
      readonly job: JobId;
      readonly version: number;
      readonly by: string;
      readonly sinceMs: number;
    }
  /** A cancel was accepted while a run lives; its end follows. */
  | { readonly kind: 'job.stopping'; readonly job: JobId; readonly version: number; readonly by: string }
  | ({
      readonly kind: 'job.requeued';
      readonly job: JobId;
      readonly version: number;
      readonly because: RunResult;
      /** What it asks of the fleet from now on, where a move changes that. */
      readonly demand?: JobDemand;
    } & QueuedFacts)
  /** Somebody wants it elsewhere: its run is stopped, and the next one is to be where the place says. */
  | {
      readonly kind: 'job.moving';
      readonly job: JobId;
      readonly version: number;
      readonly run: RunId;
      readonly place: Constraint;
      readonly by: string;
      readonly reason: string | null;
    }
  /** The place is taken back. What it asks of the fleet from now on, where that changes at once. */
  | {
      readonly kind: 'job.unmoved';
      readonly job: JobId;
      readonly version: number;
      readonly by: string;
      readonly demand?: JobDemand;
    }
  /** Victims are being stopped, and their room is kept for this job. */
  | {
      readonly kind: 'job.claimed';
      readonly job: JobId;
      readonly version: number;
      readonly run: RunId;
      readonly claim: Claim;
    }
  /** The claim is given up; victims that are gone by now stay gone. */
  | { readonly kind: 'job.unclaimed'; readonly job: JobId; readonly version: number; readonly reason: Reason }
  /** Members of an array that never started, and will not. */
  | {
      readonly kind: 'job.dropped';
      readonly job: JobId;
      readonly version: number;
      readonly by: string;
      readonly members: IndexRanges;
    }
  | { readonly kind: 'job.ended'; readonly job: JobId; readonly version: number; readonly result: JobResult }
  | ({
      readonly kind: 'run.planned';
      readonly version: number;
      readonly epoch: number;
      readonly plannedMs: number;
    } & RunFacts)
  | { readonly kind: 'run.starting'; readonly run: RunId; readonly job: JobId }
  | {
      readonly kind: 'run.running';
      readonly run: RunId;
      readonly job: JobId;
      readonly version: number;
      readonly startedMs: number;
    }
  | ({
      readonly kind: 'run.checkpointed';
      readonly run: RunId;
      readonly job: JobId;
      readonly checkpointMs: number;
    } & Checkpoint)
  | {
      readonly kind: 'run.stopping';
      readonly run: RunId;
      readonly job: JobId;
      readonly reason: Reason;
      readonly preemptor: JobId | null;
    }
  /** An outside hand keeps it from beginning or going on in its cluster; or does so no more. */
  | { readonly kind: 'run.halted'; readonly run: RunId; readonly job: JobId; readonly halt: Halt }
  | { readonly kind: 'run.unhalted'; readonly run: RunId; readonly job: JobId }
  | { readonly kind: 'run.unknown'; readonly run: RunId; readonly job: JobId; readonly node: NodeId }
  | {
      readonly kind: 'run.seen';
      readonly run: RunId;
      readonly job: JobId;
      readonly state: 'starting' | 'running' | 'stopping';
    }
  | {
      readonly kind: 'run.ended';
      readonly run: RunId;
      readonly job: JobId;
      readonly result: RunResult;
      readonly endedMs: number;
    }
  /** Only tasks of gangs are told one by one, and only when they failed. */
  | {
      readonly kind: 'task.failed';
      readonly run: RunId;
      readonly job: JobId;
      readonly rank: number;
      readonly node: NodeId;
      readonly exit: TaskExit;
    }
  | { readonly kind: 'plan.dropped'; readonly job: JobId; readonly run: RunId; readonly refusal: UnitRefusal }
  | ({ readonly kind: 'node.joined' | 'node.changed' } & NodeFacts)
  | {
      readonly kind: 'node.ready' | 'node.silent';
      readonly node: NodeId;
      readonly name: string;
    }
  /** Older ones do not say by whom. */
  | { readonly kind: 'node.removed'; readonly node: NodeId; readonly name: string; readonly by?: string }
  | { readonly kind: 'node.lost'; readonly node: NodeId; readonly name: string; readonly reason: Reason }
  | { readonly kind: 'node.drained'; readonly node: NodeId; readonly name: string; readonly drain: Drain }
  | { readonly kind: 'node.undrained'; readonly node: NodeId; readonly name: string; readonly by: string }
  /** An operator says how far work on it is trusted to come to its end. */
  | {
      readonly kind: 'node.trusted';
      readonly node: NodeId;
      readonly name: string;
      readonly trustMilli: number;
      readonly by: string;
    }
  /**
   * The agent sent what a correct one never sends. Told until there are enough of them; the quarantine itself is a
   * `node.drained` behind it.
   */
  | ({
      readonly kind: 'node.struck';
      readonly node: NodeId;
      readonly name: string;
      readonly strikes: number;
      readonly outcome: 'counted' | 'quarantined' | 'spared';
    } & Strike)
  /** Mass silence: nothing on the cluster is expired until somebody speaks or the bound passes. */
  | {
      readonly kind: 'cluster.frozen';
      readonly cluster: string;
      readonly silent: number;
      readonly nodes: number;
      readonly untilMs: number;
    }
  | { readonly kind: 'cluster.thawed'; readonly cluster: string; readonly by: string }
  | {
      readonly kind: 'cluster.added' | 'cluster.changed';
      readonly cluster: string;
      readonly config: ClusterConfig;
      readonly by: string;
    }
  | { readonly kind: 'cluster.removed' | 'cluster.undrained'; readonly cluster: string; readonly by: string }
  | { readonly kind: 'cluster.drained'; readonly cluster: string; readonly drain: Drain }
  /** It answers, or has not answered for a while, and why. */
  | { readonly kind: 'cluster.connected'; readonly cluster: string }
  | {
      readonly kind: 'cluster.degraded' | 'cluster.lost';
      readonly cluster: string;
      readonly reason: string;
    }
  | { readonly kind: 'project.created' | 'project.removed'; readonly project: string; readonly by: string }
  | {
      readonly kind: 'policy.changed';
      readonly version: number;
      readonly policy: Policy;
      readonly by: string;
    }
  | { readonly kind: 'leader.changed'; readonly epoch: number; readonly server: string };

export type EventKind = EventBody['kind'];

export interface LogEvent {
  readonly sequence: number;
  readonly atMs: number;
  readonly body: EventBody;
}

/** The schema version each kind is written with today; 1 unless listed. */
export const eventVersions: Readonly<Partial<Record<EventKind, number>>> = {};

type Upcaster = (body: Record<string, unknown>) => Record<string, unknown>;

/** `upcasters[kind][v]` lifts a body from version v to v + 1. */
const upcasters: Readonly<Partial<Record<EventKind, Readonly<Record<number, Upcaster>>>>> = {};

export function upcast(kind: EventKind, version: number, body: Record<string, unknown>): EventBody {
  const newest = eventVersions[kind] ?? 1;
  let lifted = body;
  for (let v = version; v < newest; v++) lifted = upcasters[kind]?.[v]?.(lifted) ?? lifted;
  return { ...lifted, kind } as unknown as EventBody;
}

/** What the engine is rebuilt from: rows read in one snapshot, and the sequence they stand at. */
export interface EngineRows {
  readonly sequence: number;
  readonly policyVersion: number;
  readonly policy: Policy;
  readonly nodes: readonly NodeFacts[];
  /** Arrays that are not ended. */
  readonly arrays: readonly (JobFacts & {
    readonly array: ArraySize;
    readonly state: Exclude<ArrayState, { state: 'ended' }>;
    readonly submittedSequence: number;
  })[];
  /** Jobs that are not ended, with the state of each; members of arrays too, once they have started. */
  readonly jobs: readonly (JobFacts & {
    readonly state: Exclude<JobState, { state: 'ended' }>;
    readonly submittedSequence: number;
  })[];
  /** Past use of the projects that ever used anything. */
  readonly usage: readonly ProjectUsage[];
  /** Runs that are not ended; each holds all its capacity until its end is proven. */
  readonly runs: readonly LiveRun[];
}
