// Rows of one transaction as the rules see them: a job with its run and the run's tasks, changed in memory and written
// back together. The rules neither read nor write anything, so that a store without SQL can follow the same ones.
import type {
  ArraySize,
  ArrayState,
  Checkpoint,
  Drain,
  ErrorClass,
  EventBody,
  Halt,
  JobDemand,
  JobId,
  JobSpec,
  JobState,
  NodeId,
  NodeState,
  RunId,
  RunState,
  StopCommand,
  Strikes,
  TaskState,
  Uses,
} from '@muster/model';

/** What a job's steps need of its spec; a member has its array's. */
export interface JobTerms {
  readonly project: string;
  readonly retry: JobSpec['retry'];
  readonly stop: JobSpec['stop'];
  readonly checkpoint: JobSpec['checkpoint'];
  /** All that it writes goes to a store that refuses older attempts. */
  readonly fenced: boolean;
}

export interface JobRecord extends JobTerms {
  readonly id: JobId;
  /** The array it is a member of, locked with it. */
  readonly array: ArrayRecord | null;
  /** A member that has no row yet. */
  readonly fresh: boolean;
  state: JobState;
  version: number;
  startedMs: number | null;
  /** Its queue entry from now on, where that changes: the entry's key, and what it asks of the fleet. */
  entry?: { readonly key: string; readonly demand: JobDemand };
}

export interface ArrayRecord extends JobTerms {
  readonly id: JobId;
  readonly size: ArraySize;
  state: ArrayState;
  /** Moves with what people do to it and with its end, not with its members. */
  version: number;
  startedMs: number | null;
}

export interface RunRecord {
  readonly id: RunId;
  readonly job: JobRecord;
  readonly attempt: number;
  readonly exclusive: boolean;
  readonly port: number;
  readonly uses: Uses;
  readonly stopAfterMs: number | null;
  /** In rank order. */
  readonly tasks: readonly TaskRecord[];
  state: RunState;
  /** Its last word of saved work, and when such a word was last logged. */
  checkpoint: (Checkpoint & { readonly atMs: number }) | null;
  checkpointMs: number | null;
  /** What an outside hand did to it in its cluster; null when nobody did. */
  halt: Halt | null;
  changed: boolean;
}

export interface TaskRecord {
  readonly rank: number;
  readonly group: number;
  readonly node: NodeId;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly devices: readonly number[];
  readonly deviceMilli: number;
  /** The start row of its run and node, while it is open. */
  start: StartRow | null;
  state: TaskState;
  changed: boolean;
}

export interface StartRow {
  readonly id: number;
  /** The session it was last handed to; null: the command never left the database. */
  readonly attemptedSession: string | null;
}

export interface StopRow {
  readonly node: NodeId;
  readonly run: RunId;
  readonly stop: Omit<StopCommand, 'run'>;
  /** Sent also to a session that was handed it already. */
  readonly again: boolean;
}

/** Why a run is stopped, and what the stopped tasks' exits are to say. */
export interface StopWish {
  readonly code: string;
  readonly message: string;
  readonly class: Extract<ErrorClass, StopCommand['class']>;
  /** The job for which the run is stopped; left out when the stop is no preemption. */
  readonly preemptor?: JobId;
  /** It goes on elsewhere, so it is asked to save its work, as one that is preempted. */
  readonly goesOn?: boolean;
}

/** A run of the project was planned (1) or ended (-1). */
export interface UsageChange {
  readonly project: string;
  readonly uses: Uses;
  readonly sign: 1 | -1;
}

/** A node as the rules of its liveness see it; its capacity is kept beside. */
export interface NodeRecord {
  readonly id: NodeId;
  readonly name: string;
  readonly cluster: string;
  readonly pool: string;
  /** It has an agent; else its cluster speaks for it. */
  readonly leased: boolean;
  readonly generation: number;
  readonly drain: Drain | null;
  readonly trustMilli: number;
  readonly strikes: Strikes | null;
  readonly session: string | null;
  readonly renewals: number;
  readonly renewedMs: number | null;
  readonly runs: number;
  readonly state: NodeState;
}

/** What the rules decided, to be written in one transaction. */
export class Changes {
  readonly nowMs: number;
  readonly jobs = new Set<JobRecord>();
  readonly arrays = new Set<ArrayRecord>();
  readonly runs = new Set<RunRecord>();
  /** Runs that told of saved work. */
  readonly checkpoints = new Set<RunRecord>();
  /** Runs that were halted in their cluster, or are no more. */
  readonly halts = new Set<RunRecord>();
  readonly tasks: { readonly run: RunRecord; readonly task: TaskRecord }[] = [];
  /** Their capacity is free again and their outbox rows are void. */
  readonly endedRuns: RunRecord[] = [];
  /** What projects use more or less of from now on. */
  readonly usage: UsageChange[] = [];
  readonly #stops = new Map<string, StopRow>();
  readonly closedRows = new Set<number>();
  readonly events: { readonly body: EventBody; readonly project: string | null }[] = [];

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /** One a run and node: what is said last, and again if it was said so once. */
  stop(row: StopRow): void {
    const key = `${row.run} ${row.node}`;
    const before = this.#stops.get(key);
    this.#stops.set(key, { ...row, again: row.again || before?.again === true });
  }

  get stops(): readonly StopRow[] {
    return [...this.#stops.values()];
  }

  event(job: Pick<JobRecord, 'project'> | null, body: EventBody): void {
    this.events.push({ body, project: job?.project ?? null });
  }
}

/** Jobs, and the arrays of those that are members, under their locks. */
export interface Locked {
  readonly jobs: Map<JobId, JobRecord>;
  readonly arrays: ReadonlyMap<JobId, ArrayRecord>;
}

export interface Loaded extends Locked {
  readonly runs: ReadonlyMap<RunId, RunRecord>;
}
