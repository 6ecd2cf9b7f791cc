// The tables of the in-memory database, as plain rows. Only the files of this folder change them, each within one
// synchronous step, so that a step is what a transaction is in PostgreSQL.
import type {
  ArrayState,
  Checkpoint,
  Decision,
  Halt,
  Inventory,
  JobDemand,
  JobId,
  JobSpec,
  JobState,
  LogEvent,
  NodeId,
  NodeState,
  ProjectUsage,
  RunEstimate,
  RunId,
  RunState,
  ServerId,
  StopCommand,
  TaskPlacement,
  TaskState,
  Uses,
  Verdict,
} from '@muster/model';
import { defaultPolicy, memberId } from '@muster/model';
import type {
  AuditRow,
  ClusterRow,
  Enrolment,
  Freeze,
  PolicyRow,
  ProjectRow,
  ServerInfo,
  SnapshotRow,
  TokenRow,
} from '@muster/store';
import type { NodeRecord } from '@muster/store/rules';

export interface StoredJob {
  readonly id: JobId;
  readonly project: string;
  readonly tier: string;
  readonly priority: number;
  readonly name: string;
  entry: string;
  readonly durationMs: number | null;
  readonly deadlineMs: number | null;
  readonly estimate: RunEstimate | null;
  /** A member of an array has none of its own. */
  readonly spec: JobSpec | null;
  readonly memberOf: JobId | null;
  readonly memberIndex: number | null;
  readonly submittedBy: string;
  readonly submittedMs: number;
  readonly submittedSequence: number;
  state: JobState | ArrayState;
  version: number;
  startedMs: number | null;
}

export interface StoredTask extends TaskPlacement {
  state: TaskState;
}

export interface StoredRun {
  readonly id: RunId;
  readonly job: JobId;
  readonly attempt: number;
  readonly epoch: number;
  readonly exclusive: boolean;
  readonly port: number;
  readonly stopAfterMs: number | null;
  readonly uses: Uses;
  readonly plannedMs: number;
  /** In rank order. */
  readonly tasks: readonly StoredTask[];
  /** Hashes of the tokens its tasks speak to the API with. */
  readonly tokens: string[];
  state: RunState;
  checkpoint: (Checkpoint & { readonly atMs: number }) | null;
  checkpointMs: number | null;
  halt: Halt | null;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export interface StoredNode extends Mutable<NodeRecord> {
  publicKey: string;
  /** What its cluster calls it; null for one with an agent. */
  knownAs: string | null;
  server: ServerId | null;
  bootId: string | null;
  agentVersion: string | null;
  isolation: boolean;
  beatMs: number;
  inventory: Inventory | null;
  cpuMilli: number;
  cpuMilliLimit: number;
  cpuMilliUsed: number;
  memoryMib: number;
  memoryMibLimit: number;
  memoryMibUsed: number;
  devices: number;
  devicesLimit: number;
  devicesUsed: number[];
  portsUsed: Set<number>;
  exclusiveRun: RunId | null;
}

export interface OutboxRow {
  readonly id: number;
  readonly node: NodeId;
  readonly run: RunId;
  readonly kind: 'start' | 'stop';
  epoch: number;
  stop: Omit<StopCommand, 'run'> | null;
  attemptedSession: string | null;
}

export interface StoredEvent extends LogEvent {
  readonly project: string | null;
  /** What happens to a member is found under its array. */
  readonly job: JobId | null;
}

export interface KeyRow {
  readonly job: JobId;
  readonly bodyHash: string;
  readonly createdMs: number;
}

export interface EntryRow {
  demand: JobDemand | null;
  verdict: Verdict | null;
  seenMs: number;
}

export class Tables {
  readonly projects = new Map<string, ProjectRow>([
    ['default', { path: 'default', createdMs: 0, createdBy: 'muster' }],
  ]);
  readonly jobs = new Map<JobId, StoredJob>();
  /** Members that have a row, by array and index. */
  readonly members = new Map<JobId, Map<number, StoredJob>>();
  readonly keys = new Map<string, KeyRow>();
  readonly entries = new Map<string, EntryRow>();
  readonly runs = new Map<RunId, StoredRun>();
  /** Those that have not ended. */
  readonly liveRuns = new Map<RunId, StoredRun>();
  readonly usage = new Map<string, ProjectUsage>();
  readonly nodes = new Map<NodeId, StoredNode>();
  readonly enrolments = new Map<string, Enrolment & { usesLeft: number }>();
  readonly clusters = new Map<string, ClusterRow>();
  readonly frozen = new Map<string, Freeze>();
  readonly outbox = new Map<number, OutboxRow>();
  readonly servers = new Map<ServerId, { readonly info: ServerInfo; readonly announcedMs: number }>();
  readonly decisions: (Decision & { readonly replayable: boolean; readonly committedMs: number })[] = [];
  readonly snapshots = new Map<number, SnapshotRow & { readonly pieces: readonly string[] }>();
  readonly events: StoredEvent[] = [];
  readonly policies: PolicyRow[] = [{ version: 1, policy: defaultPolicy, createdMs: 0, createdBy: 'muster' }];
  readonly tokens = new Map<string, TokenRow & { readonly hash: string }>();
  readonly audit: AuditRow[] = [];
  leader: { epoch: number; holder: ServerInfo | null; expiresMs: number } = {
    epoch: 0,
    holder: null,
    expiresMs: 0,
  };
  #outboxIds = 0;

  addJob(job: StoredJob): void {
    this.jobs.set(job.id, job);
    if (job.memberOf === null || job.memberIndex === null) return;
    const members = this.members.get(job.memberOf) ?? new Map<number, StoredJob>();
    members.set(job.memberIndex, job);
    this.members.set(job.memberOf, members);
  }

  /** With its members. */
  removeJob(id: JobId): void {
    for (const index of this.members.get(id)?.keys() ?? []) this.jobs.delete(memberId(id, index));
    this.members.delete(id);
    this.jobs.delete(id);
  }

  /** The spec of a job, a member's is its array's. */
  specOf(job: StoredJob): JobSpec {
    const spec = job.spec ?? (job.memberOf && this.jobs.get(job.memberOf)?.spec);
    if (!spec) throw new Error(`job ${job.id} has no spec`);
    return spec;
  }

  addOutbox(row: Omit<OutboxRow, 'id' | 'attemptedSession'>): void {
    const id = ++this.#outboxIds;
    this.outbox.set(id, { ...row, id, attemptedSession: null });
  }

  outboxRow(run: RunId, node: NodeId, kind: OutboxRow['kind']): OutboxRow | null {
    for (const row of this.outbox.values())
      if (row.run === run && row.node === node && row.kind === kind) return row;
    return null;
  }

  policy(): PolicyRow {
    return this.policies.at(-1) as PolicyRow;
  }
}

/** Rows in the order in which PostgreSQL's bytewise ids come. */
export function byId<T extends { readonly id: string }>(rows: Iterable<T>): T[] {
  return [...rows].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

export function isNodeState(node: StoredNode, ...states: NodeState['state'][]): boolean {
  return states.includes(node.state.state);
}
