// The resources of the API, as its JSON and as the typed client returns them. Times are RFC 3339 strings here and
// milliseconds everywhere inside. Every field is always present; null says "none".
import type { Checkpoint } from './checkpoint.ts';
import type { Capability, RunEstimate } from './demand.ts';
import type { ExplanationView } from './explanation.ts';
import type { Halt } from './halt.ts';
import type { JobId, NodeId, RunId, TokenId } from './ids.ts';
import type { IndexRanges } from './index-ranges.ts';
import type { Device } from './inventory.ts';
import type { JobSpecView } from './job-spec.ts';
import type { JobState } from './job-state.ts';
import type { NodeState } from './node-state.ts';
import type { JobResult, Reason, RunResult, TaskExit } from './outcome.ts';
import type { Right } from './plan.ts';
import type { PolicyInput } from './policy-schema.ts';
import type { RunState } from './run-state.ts';
import type { StrikeCode } from './strikes.ts';
import type { TaskState } from './task-state.ts';
import type { VerdictView } from './verdict.ts';

export interface JobView {
  readonly id: JobId;
  readonly name: string;
  readonly title: string | null;
  readonly project: string;
  readonly tier: string;
  readonly priority: number;
  readonly state: JobState['state'];
  /** Attempts begun so far, or the one about to begin. */
  readonly attempt: number;
  readonly tasks: number;
  /** Those its run has; without one, those of the first alternative it asks for. */
  readonly devices: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly submittedBy: string;
  readonly submittedAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Not started before this time (retry backoff). */
  readonly notBefore: string | null;
  /** When it is expected to start; only of a queued job that room is kept for. */
  readonly plannedStart: string | null;
  /** How long it will run by what was learned of others when it came; null where nothing was. */
  readonly estimate: RunEstimate | null;
  readonly result: JobResult | null;
  readonly exitCode: number | null;
  /** Why it waits, for queued jobs that the engine has looked at: the stored verdict and its sentence. */
  readonly verdict: VerdictView | null;
  readonly reason: string | null;
  readonly run: RunId | null;
  /** Where it is to go, as somebody asked, until it has started there. */
  readonly move: MoveView | null;
  /** Of an array: how many members, and where they are. */
  readonly array: ArrayView | null;
  /** Of a member of an array: which. */
  readonly index: number | null;
  readonly version: number;
}

export interface MoveView {
  /** In words: "to cluster west", "away from node n1". */
  readonly place: string;
  readonly by: string;
  readonly reason: string | null;
}

/** What came of ordering a move. */
export interface MoveAnswerView {
  readonly job: JobView;
  /** Why it will wait for its place, as things are now; null when it starts there once it has been stopped. */
  readonly waits: string | null;
}

/** Of everything that was to leave a cluster or a node: one job. */
export interface MovedView {
  readonly job: JobId;
  readonly moves: boolean;
  /** Why it stays, or why it will wait. */
  readonly detail: string | null;
}

/** What an operator's word that a whole cluster is gone does, or would do. */
export interface ClusterLostView {
  readonly cluster: string;
  /** Nodes that count as gone by it. */
  readonly nodes: number;
  /** Jobs whose runs there count as ended, and which start elsewhere where they may. */
  readonly jobs: readonly JobId[];
  /** False: it was only asked what it would do. */
  readonly done: boolean;
}

/** The members of an array by where they are; together they are all. */
export interface ArrayView {
  readonly count: number;
  readonly parallel: number | null;
  readonly waiting: number;
  readonly running: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Indices of those that never started and still will, as ranges: first and last. */
  readonly notStarted: IndexRanges;
}

/** `GET /v1/jobs/{id}`: the job with its spec and every attempt. */
export interface JobDetail extends JobView {
  readonly spec: JobSpecView;
  readonly runs: readonly RunView[];
}

export interface RunView {
  readonly id: RunId;
  readonly job: JobId;
  readonly attempt: number;
  readonly state: RunState['state'];
  readonly epoch: number;
  readonly plannedAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly unknownSince: string | null;
  readonly result: RunResult | null;
  /** Its last word of saved work: a stop would lose what came after it. Null when it never said anything. */
  readonly checkpoint: (Checkpoint & { readonly at: string }) | null;
  /** What an outside hand did in its cluster, so that it does not begin or go on; null when nobody did. */
  readonly halt: Halt | null;
  readonly tasks: readonly TaskView[];
}

export interface TaskView {
  readonly rank: number;
  readonly group: string;
  readonly node: NodeId;
  readonly nodeName: string;
  readonly devices: readonly number[];
  /** Thousandths of each of them. */
  readonly deviceMilli: number;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly state: TaskState['state'];
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly exit: TaskExit | null;
}

export interface NodeView {
  readonly id: NodeId;
  readonly name: string;
  readonly cluster: string;
  readonly pool: string;
  readonly state: NodeState['state'];
  readonly stateSince: string;
  readonly stateReason: Reason | null;
  /** Who keeps new work off it and why; `quarantine` when that is Muster itself. */
  readonly drain: {
    readonly by: string;
    readonly reason: string;
    readonly since: string;
    readonly quarantine: boolean;
  } | null;
  /** From 0 to 1: what is missing makes it dearer to jobs. */
  readonly trust: number;
  /** What its agent sent that a correct agent never sends: how often, the last of it, and until when it counts. */
  readonly strikes: {
    readonly count: number;
    readonly code: StrikeCode;
    readonly detail: string;
    readonly last: string;
    readonly until: string;
    /** Enough for a quarantine, which would have taken too much of its pool. */
    readonly spared: boolean;
  } | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  readonly cpuMilli: number;
  readonly cpuMilliUsed: number;
  readonly memoryMib: number;
  readonly memoryMibUsed: number;
  readonly devices: readonly (Device & { readonly used: boolean })[];
  /** What it can do for a job that not every node can. */
  readonly capabilities: readonly Capability[];
  readonly renewedAt: string | null;
  readonly agentVersion: string | null;
  /** True where users are kept apart: by an agent that is root and maps them, or by containers. */
  readonly isolation: boolean;
  readonly generation: number;
}

export interface ProjectView {
  readonly path: string;
  readonly createdAt: string;
  readonly createdBy: string;
}

export type Role = 'viewer' | 'member' | 'admin';

export interface TokenView {
  readonly id: TokenId;
  readonly name: string;
  readonly role: Role;
  /** Null: every project. */
  readonly project: string | null;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
}

export interface EventView {
  readonly sequence: number;
  readonly at: string;
  readonly kind: string;
  /** The fact as it is stored, so moments in it are milliseconds since 1970. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface AuditView {
  readonly id: number;
  readonly at: string;
  readonly who: string;
  readonly from: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Opaque; give it back as `cursor`. Null on the last page. */
  readonly next: string | null;
}

/** `GET /v1/jobs/{id}/why`. */
export interface WhyView {
  readonly job: JobId;
  readonly state: JobState['state'];
  /** The event the answer stands at. */
  readonly sequence: number;
  readonly verdict: VerdictView | null;
  readonly text: string;
  /** Who is ahead and what would start it now, for a job that waits. Jobs you may not see are only counted. */
  readonly explanation: ExplanationView | null;
  /** When its runs were stopped for other jobs, the last times, oldest first. */
  readonly preemptions: readonly PreemptionView[];
  /** Whose runs were stopped for it, the last of them, oldest first. */
  readonly victims: readonly VictimView[];
}

export interface PreemptionView {
  readonly at: string;
  /** For which job; null when you may not see it. */
  readonly by: JobId | null;
  /** By what right, in words; null when its run is no longer kept. */
  readonly reason: string | null;
}

/** A run that was stopped for the job. */
export interface VictimView {
  readonly at: string;
  /** Null when you may not see it. */
  readonly job: JobId | null;
  readonly right: Right;
}

export interface SubmittedView {
  readonly id: JobId;
  /** True when this idempotency key had already submitted the same body. */
  readonly repeated: boolean;
}

export type BatchItemView =
  | { readonly ok: true; readonly id: JobId; readonly repeated: boolean }
  | { readonly ok: false; readonly problem: Problem };

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly {
    readonly path: string;
    readonly code: string;
    readonly message: string;
    readonly value: string | null;
  }[];
}

export interface VersionView {
  readonly version: string;
  readonly commit: string;
  readonly schema: number;
}

/** A version of the policy, as people write it. */
export interface PolicyView {
  readonly version: number;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly policy: PolicyInput;
}

/** What was used in a period, in units times hours: cores, devices, GiB. */
export interface UsageLine {
  readonly project: string;
  readonly user: string;
  readonly tier: string;
  readonly key: string;
  readonly hours: number;
  readonly runs: number;
  /** At the list prices of the policy in force and the tier's factor; null for what has no price of its own. */
  readonly cost: number | null;
}

export interface UsageView {
  readonly from: string;
  readonly until: string;
  readonly lines: readonly UsageLine[];
}

/** Whose a run's token is. */
export interface OwnRunView {
  readonly job: JobId;
  readonly run: RunId;
  /** Counts the attempts of the job from 1: an older one is over, or may no longer write. */
  readonly attempt: number;
}
