// What control and api may ask of the store: intentions, each atomic, no SQL and no transaction handle. The PostgreSQL
// store and the simulator's in-memory store pass the same suite (testing/contract-suite.ts).
//
// A write answers committed, refused or unknown. Unknown means COMMIT was sent and no answer came: the caller looks
// (by idempotency key or row state) and never guesses. A database that cannot be reached before COMMIT throws
// OperationalError('unavailable'); nothing happened then.
//
// Decisions (commitPlan, expire, freeze, retain) carry an epoch that is checked inside the write. Everything else may come
// from any server and is guarded by row state, version and session.
import type {
  ArrayState,
  Checkpoint,
  ClusterConfig,
  ClusterSign,
  ClusterState,
  ConfigRefusal,
  Decision,
  DecisionTrace,
  Drain,
  EngineRows,
  Halt,
  HaltSeen,
  IndexRange,
  Inventory,
  JobDemand,
  JobId,
  JobRefusal,
  JobSpec,
  JobState,
  LogEvent,
  MoveOrder,
  NodeId,
  NodeState,
  Observation,
  Plan,
  Policy,
  Role,
  RunEstimate,
  RunId,
  RunResult,
  RunState,
  ServerId,
  StartCommand,
  StopCommand,
  Strike,
  StrikeRule,
  Strikes,
  TaskPlacement,
  TaskReport,
  TaskState,
  TokenId,
  UnitRefusal,
  Verdict,
  Victim,
} from '@muster/model';

export type Outcome<T, Refusal> =
  /** `sequence` is the last event this write (or its group) appended: read-your-writes for `why`. */
  | { readonly outcome: 'committed'; readonly sequence: number; readonly value: T }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  | { readonly outcome: 'unknown' };

export interface Store {
  /** Database time; never goes back within one store. */
  nowMs(): Promise<number>;
  close(): Promise<void>;

  // Jobs (any server) ------------------------------------------------------------------------------------------
  /** Group-committed with concurrent calls; one bad item never fails its neighbours. */
  submit(item: Submit): Promise<Outcome<Submitted, SubmitRefusal>>;
  /** A run tells that its work is saved, with the token its start command carried; refused once the run is over. */
  checkpoint(token: string, saved: Checkpoint): Promise<Outcome<null, 'bad-token'>>;
  /** The run that the token was made for, while it is not over; null when it is, or there is no such token. */
  ownRun(token: string): Promise<OwnRun | null>;
  /** The items of one request, committed together with whatever else is in the group; each has its own outcome. */
  submitMany(items: readonly Submit[]): Promise<readonly Outcome<Submitted, SubmitRefusal>[]>;
  // What is so already is committed and changes nothing: cancelling an ended job, holding a held one, releasing a
  // queued one. `versions` are those the caller decided on, looked at under the job's lock: of two that decided on the
  // same one, one is refused. Left out: whatever its version.
  // A member of an array is named by its own id.
  cancel(
    job: JobId,
    by: string,
    versions?: readonly number[],
  ): Promise<Outcome<JobState | ArrayState, ChangeRefusal>>;
  /** Members of an array; not-found too when the array has fewer. */
  cancelRange(
    array: JobId,
    range: IndexRange,
    by: string,
    versions?: readonly number[],
  ): Promise<Outcome<JobState | ArrayState, ChangeRefusal>>;
  hold(
    job: JobId,
    by: string,
    versions?: readonly number[],
  ): Promise<Outcome<JobState | ArrayState, ChangeRefusal | JobRefusal>>;
  release(
    job: JobId,
    by: string,
    versions?: readonly number[],
  ): Promise<Outcome<JobState | ArrayState, ChangeRefusal | JobRefusal>>;

  /**
   * Its present run is asked for a checkpoint and stopped, and the next one is to be where the order says. stale-run: it has
   * another run by now.
   */
  move(job: JobId, order: MoveOrder, by: string): Promise<Outcome<JobState, ChangeRefusal | JobRefusal>>;
  /** Takes back where the next run is to be; without a move it changes nothing. */
  unmove(job: JobId, by: string): Promise<Outcome<JobState, ChangeRefusal | JobRefusal>>;

  // Decisions (leader) -----------------------------------------------------------------------------------------
  /**
   * Unit by unit: each is applied whole or dropped with a reason that becomes an event. The decision is logged with it;
   * without a trace it cannot be replayed.
   */
  commitPlan(
    epoch: number,
    plan: Plan,
    trace?: DecisionTrace,
  ): Promise<Outcome<PlanCommitted, 'stale-epoch' | 'stale-policy'>>;
  /** Keeps the pieces of a snapshot at a sequence; nothing is kept of one that is larger, compressed, than `bytesMax`. Null: it is there already. */
  saveSnapshot(
    epoch: number,
    sequence: number,
    pieces: Iterable<string>,
    bytesMax: number,
  ): Promise<Outcome<SnapshotRow | null, 'stale-epoch' | 'too-large'>>;
  /** Ends the tasks whose node did not renew; re-checks database time and the renewal counter under the node's lock. */
  expire(epoch: number, items: readonly ExpireItem[]): Promise<Outcome<readonly NodeId[], 'stale-epoch'>>;
  /** Marks nodes whose beat is overdue by database time as silent, and their runs unknown. */
  silenceOverdue(epoch: number): Promise<Outcome<readonly NodeId[], 'stale-epoch'>>;
  freeze(epoch: number, freeze: Freeze): Promise<Outcome<null, 'stale-epoch'>>;
  /** Forgets the freeze of a cluster, and ends it if it still stood. */
  silenceOver(epoch: number, cluster: string): Promise<Outcome<null, 'stale-epoch'>>;
  retain(epoch: number, retention: Retention): Promise<Outcome<Retained, 'stale-epoch'>>;

  // Outbox (the server that holds the node's connection) -------------------------------------------------------
  /** Commits "attempted" and the runs' step to starting, then returns the commands. A row is handed out once a session. */
  takeOutbox(sessions: readonly DispatchSession[], limit: number): Promise<readonly OutboxCommand[]>;
  /** Idempotent; the answer of a session that no longer has the row is ignored. */
  closeOutbox(items: readonly OutboxDone[]): Promise<void>;

  // Nodes (any server) -----------------------------------------------------------------------------------------
  /** The key a node enrolled, and the session it has now; null when there is no such node. */
  nodeKey(node: NodeId): Promise<{ readonly key: string; readonly session: string | null } | null>;
  /** The sessions that these nodes have now; those that are not known, or were removed, are left out. */
  nodeSessions(nodes: readonly NodeId[]): Promise<ReadonlyMap<NodeId, string | null>>;
  createEnrolment(enrolment: Enrolment): Promise<void>;
  /** Uses up the one-time token. The same name in the same cluster enrols again as the same node, with a new key. */
  enrol(request: EnrolRequest): Promise<Outcome<{ readonly node: NodeId }, EnrolRefusal>>;
  /** A new session: stores the inventory, reconciles every task row of the node with what the agent holds, ends what it does not. */
  hello(hello: Hello): Promise<Outcome<Welcome, 'not-found' | 'removed' | 'replaced'>>;
  /** Group-committed; one small update a node. */
  renew(renewal: Renewal): Promise<Outcome<Renewed, 'stale-session'>>;
  /** Group-committed. Observations of tasks that are over or unknown here are ignored: late news is normal weather. */
  observe(session: NodeSession, items: readonly Seen[]): Promise<Outcome<Observed, 'stale-session'>>;
  /** The connection is gone and did not come back: silent at once, unless a newer session exists. */
  silence(session: NodeSession): Promise<void>;
  /** Null ends a drain, quarantine included, and forgets the node's strikes. */
  drain(
    node: NodeId,
    drain: Pick<Drain, 'by' | 'reason'> | null,
    by: string,
  ): Promise<Outcome<null, 'not-found'>>;
  /** How much work on it is trusted to come to its end, in thousandths. */
  trust(node: NodeId, trustMilli: number, by: string): Promise<Outcome<null, 'not-found'>>;
  /** A message that a correct agent never sends, on a connection that has proven to be this node's. Enough of them quarantine it. */
  strike(node: NodeId, strike: Strike, rule: StrikeRule): Promise<Outcome<Struck, 'not-found'>>;
  /** The operator's word that the machine is gone: proof of end for everything on it. */
  declareLost(node: NodeId, by: string): Promise<Outcome<null, 'not-found' | 'ready'>>;
  /** in-use: runs are on it. takes-work: it is connected and not drained, and would be given some the next moment. */
  removeNode(node: NodeId, by: string): Promise<Outcome<null, 'not-found' | 'in-use' | 'takes-work'>>;
  /** Ends the freeze, and is remembered until the silence is over: the cluster is not frozen again for it. */
  thaw(cluster: string, by: string): Promise<Outcome<null, 'not-frozen'>>;

  // Clusters ---------------------------------------------------------------------------------------------------
  addCluster(name: string, config: ClusterConfig, by: string): Promise<Outcome<null, ClusterNotAdded>>;
  /** Another configuration; what runs there goes on. See configRefusal for what may not change when. */
  setCluster(
    name: string,
    config: ClusterConfig,
    by: string,
  ): Promise<Outcome<null, 'not-found' | 'place-taken' | ConfigRefusal>>;
  /** By name. */
  clusters(): Promise<readonly ClusterRow[]>;
  /** Who this installation is to clusters that others use too: made with the database, and kept. */
  installation(): Promise<string>;
  /** What the nodes of each cluster have together, those of agents too. */
  clusterSums(): Promise<readonly ClusterSums[]>;
  /** Keeps new work off all its nodes, those that come later too; null ends that. */
  drainCluster(
    name: string,
    drain: Pick<Drain, 'by' | 'reason'> | null,
    by: string,
  ): Promise<Outcome<null, 'not-found'>>;
  /** Removes its nodes with it; in-use: runs are on one of them. */
  removeCluster(name: string, by: string): Promise<Outcome<null, 'not-found' | 'in-use'>>;
  /**
   * The nodes a cluster lists: new ones become nodes here, those that take no work there are drained, and so are those that are
   * no longer listed. A refused one has a name that another node has already.
   */
  admitNodes(
    epoch: number,
    cluster: string,
    nodes: readonly AdmitNode[],
  ): Promise<Outcome<Admitted, 'stale-epoch' | 'not-found'>>;
  /** Whether it answers, as whoever speaks for it found. */
  noteCluster(
    epoch: number,
    cluster: string,
    sign: ClusterSign,
  ): Promise<Outcome<ClusterState, 'stale-epoch' | 'not-found'>>;
  /**
   * Ends the runs of a lost cluster that can no longer write, so that their jobs start elsewhere: see failover-rules.ts. Answers which;
   * none where the cluster is not lost, or nobody said that its checkpoints refuse older attempts.
   */
  failOver(epoch: number, cluster: string): Promise<Outcome<readonly RunId[], 'stale-epoch' | 'not-found'>>;
  /** What the expire loop watches. A node that a cluster speaks for has no lease, and is watched only once it is not ready. */
  leases(): Promise<readonly Lease[]>;
  /** Clusters whose nodes fell silent together, until that is over; frozen until the time that each says. */
  frozen(): Promise<readonly Freeze[]>;

  // Leadership -------------------------------------------------------------------------------------------------
  /** Takes the next epoch when the lease is free, run out, or `deadEpoch` is the current one (its holder is proven dead). Restamps open outbox rows. */
  acquireLease(server: ServerInfo, leaseMs: number, deadEpoch: number | null): Promise<LeaderLease>;
  /** False when the epoch is no longer this server's. */
  renewLease(server: ServerId, epoch: number, leaseMs: number): Promise<boolean>;
  releaseLease(server: ServerId, epoch: number): Promise<void>;
  leader(): Promise<LeaderLease>;
  /** Tells the others where this server can be reached; renewed by calling again. */
  announceServer(server: ServerInfo): Promise<void>;
  /** The server that holds a node's connection now. */
  serverOfNode(node: NodeId): Promise<ServerInfo | null>;

  // Log --------------------------------------------------------------------------------------------------------
  /** Gap-free and in commit order: a reader that resumes after N misses nothing. */
  eventsSince(sequence: number, limit: number): Promise<readonly LogEvent[]>;
  head(): Promise<LogHead>;
  /** Calls back soon after events are committed by anyone; only a hint. Returns its end. */
  onEvents(hint: () => void): () => void;
  loadEngine(): Promise<EngineRows>;
  /** Committed decisions that can be replayed, in the order of their commits. */
  decisions(query: DecisionQuery): Promise<readonly Decision[]>;
  /** The first decision of the life that decided at this sequence, or of the last life before it; null when none is known. */
  lifeAt(sequence: number): Promise<Decision | null>;
  /** Oldest first. Every event after the oldest one is still in the log. */
  snapshots(): Promise<readonly SnapshotRow[]>;
  snapshotPieces(sequence: number): AsyncIterable<string>;

  // Reading for people -----------------------------------------------------------------------------------------
  job(job: JobId): Promise<JobRow | null>;
  /** Members of arrays are not among them. */
  jobs(query: JobQuery): Promise<readonly JobRow[]>;
  members(query: MemberQuery): Promise<readonly JobRow[]>;
  /** Jobs that came to an end by themselves, in the order of their ends: those after a place, or the newest. Arrays are not among them. */
  endedJobs(after: EndedPlace | null, limit: number): Promise<readonly EndedJob[]>;
  /** Those with a run on one of these nodes that is not over. */
  jobsOn(nodes: readonly NodeId[]): Promise<readonly JobRow[]>;
  jobByKey(project: string, principal: string, key: string): Promise<JobId | null>;
  runs(job: JobId): Promise<readonly RunRow[]>;
  node(idOrName: string): Promise<NodeRow | null>;
  nodes(query: NodeQuery): Promise<readonly NodeRow[]>;
  /** Events about jobs the scope covers; node, cluster and leader events only without a scope. */
  events(query: EventQuery): Promise<readonly LogEvent[]>;
  /** Whose runs were stopped for the job, as the log has it: its last claims, oldest first. */
  claims(job: JobId, limit: number): Promise<readonly ClaimRow[]>;
  counts(): Promise<Counts>;

  // Tenancy and identity ---------------------------------------------------------------------------------------
  policy(): Promise<{ readonly version: number; readonly policy: Policy }>;
  /** The next version, made from `expectedVersion`; decisions made under the old one are refused from then on. */
  setPolicy(
    policy: Policy,
    expectedVersion: number,
    by: string,
  ): Promise<Outcome<{ readonly version: number }, 'stale'>>;
  /** Newest first; strictly before this version. */
  policyVersions(before: number | null, limit: number): Promise<readonly PolicyRow[]>;
  policyAt(version: number): Promise<PolicyRow | null>;
  /** Amounts times milliseconds of every run in the period, by project, user, tier and resource key. */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  createProject(path: string, by: string): Promise<Outcome<null, 'exists' | 'no-parent'>>;
  projects(scope: string | null): Promise<readonly ProjectRow[]>;
  createToken(token: NewToken): Promise<void>;
  /** The live token with this SHA-256 hash (hex): not revoked, not expired. */
  tokenByHash(hash: string): Promise<TokenRow | null>;
  tokens(): Promise<readonly TokenRow[]>;
  revokeToken(token: TokenId): Promise<boolean>;
  audit(entries: readonly NewAudit[]): Promise<void>;
  auditSince(after: number, limit: number): Promise<readonly AuditRow[]>;
}

export interface Submit {
  readonly id: JobId;
  readonly spec: JobSpec;
  readonly demand: JobDemand;
  readonly principal: string;
  /** Idempotency key, scoped to project and principal; null when the client gave none. */
  readonly key: string | null;
  /** Hash of the parsed body before defaults. */
  readonly bodyHash: string;
  readonly held: boolean;
  /** What is learned of its run time; left out where nothing is. */
  readonly estimate?: RunEstimate | undefined;
}

/** Where a job stands among those that ended. */
export interface EndedPlace {
  readonly endedMs: number;
  readonly id: JobId;
}

export interface EndedJob extends EndedPlace {
  readonly spec: JobSpec;
  readonly user: string;
  /** All its runs together. */
  readonly ranMs: number;
  /** What was said of it when it came; null where nothing was. */
  readonly estimate: RunEstimate | null;
}

export interface Submitted {
  readonly job: JobId;
  readonly repeated: boolean;
}

export type SubmitRefusal =
  | { readonly code: 'key-reused'; readonly job: JobId }
  | { readonly code: 'unknown-project' }
  | { readonly code: 'id-taken' };

/** stale-version: the job is at none of the versions that the change was decided on. */
export type ChangeRefusal = 'not-found' | 'stale-version';

export interface PlanCommitted {
  /** The runs that start. */
  readonly applied: readonly RunId[];
  /** Jobs that got a claim, and jobs whose claim was given up. */
  readonly claimed: readonly JobId[];
  readonly released: readonly JobId[];
  readonly dropped: readonly { readonly run: RunId; readonly refusal: UnitRefusal }[];
}

export interface NodeSession {
  readonly node: NodeId;
  /** Made by the server for each connection; an older one can no longer write. */
  readonly session: string;
}

export interface DispatchSession extends NodeSession {
  /**
   * What earlier sessions of the node sent can take effect no more, as with an agent, which hears one connection at a time. A
   * batch system may carry out a request long after it timed out.
   */
  readonly fenced: boolean;
}

export interface OutboxCommandBase {
  readonly id: number;
  readonly epoch: number;
  readonly node: NodeId;
  /** The session it is handed to. */
  readonly session: string;
}

export type OutboxCommand =
  | (OutboxCommandBase & { readonly kind: 'start'; readonly command: StartCommand })
  | (OutboxCommandBase & { readonly kind: 'stop'; readonly command: StopCommand });

export interface OutboxDone {
  readonly id: number;
  /** The session that was handed the row. Once a newer one has it, this answer settles nothing: the newer one's will. */
  readonly session: string;
  /** accepted: durably taken. refused: never will be. stale-epoch: hand it out again with its present epoch. */
  readonly outcome: 'accepted' | 'refused' | 'stale-epoch';
  readonly detail: string | null;
}

export interface Enrolment {
  readonly id: string;
  readonly hash: string;
  readonly cluster: string;
  readonly pool: string;
  readonly by: string;
  readonly expiresMs: number;
  /** How many nodes may enrol with it; one unless the operator said otherwise. */
  readonly uses: number;
}

export interface EnrolRequest {
  readonly hash: string;
  readonly node: NodeId;
  readonly name: string;
  readonly publicKey: string;
}

/** has-work: a new key would speak for a node whose runs, as far as we know, still live under the old one. */
export type EnrolRefusal = 'bad-token' | 'name-in-use' | 'has-work';

export interface Hello extends NodeSession {
  readonly server: ServerId;
  /**
   * The session that `nodeKey` told of when this hello had arrived. Another one by now is of a newer connection, and what this
   * hello tells is old: it is refused. Left out: not compared.
   */
  readonly replaces?: string | null;
  readonly bootId: string;
  readonly agentVersion: string;
  readonly isolation: boolean;
  readonly inventory: Inventory;
  readonly tasks: readonly HeldTask[];
}

export interface Welcome {
  readonly nodeName: string;
  readonly epoch: number;
  readonly beatMs: number;
}

export interface Renewal extends NodeSession {
  readonly keys: readonly RunId[];
}

export interface Renewed {
  /** The keys of the renewal that may live. */
  readonly live: readonly { readonly run: RunId; readonly stopAfterMs: number | null }[];
  /** A fifth of the shortest stopAfter on the node, at most 30 s. */
  readonly beatMs: number;
}

/** What is seen of a task, of whatever kind its cluster is. */
export type Seen = Observation | HaltSeen;

/** What a node holds of a task. */
export interface HeldTask extends TaskReport {
  readonly halt?: Halt;
}

export interface Observed {
  /** A task of another node that the report told of; that item was not taken. */
  readonly foreign: { readonly run: RunId; readonly rank: number } | null;
}

export interface Struck {
  readonly name: string;
  readonly strikes: number;
  /** spared: enough for a quarantine, which would have taken too much of the pool. */
  readonly outcome: 'counted' | 'quarantined' | 'spared';
}

/**
 * has-agents: nodes with agents are in a cluster of this name, and no driver can speak for those. place-taken: another cluster keeps
 * its runs where this one would (placeOfRuns).
 */
export type ClusterNotAdded = 'exists' | 'has-agents' | 'place-taken';

export interface ClusterRow {
  readonly name: string;
  readonly config: ClusterConfig;
  readonly state: ClusterState;
  readonly drain: Drain | null;
  /** When it last answered. */
  readonly answeredMs: number | null;
  readonly createdMs: number;
  readonly createdBy: string;
}

export interface ClusterSums {
  readonly cluster: string;
  readonly nodes: number;
  readonly ready: number;
  /** Ready and not drained. */
  readonly open: number;
  readonly devices: number;
  readonly devicesUsed: number;
  readonly runs: number;
  /** Runs with a task on a node that is silent. */
  readonly unproven: number;
}

export interface AdmitNode {
  /** Used when it is new. */
  readonly node: NodeId;
  readonly name: string;
  /** The cluster's own name of it. */
  readonly knownAs: string;
  /** Why it takes no new work there; null when it does. */
  readonly closed: string | null;
}

export interface Admitted {
  /** Every node of the cluster, listed or not. */
  readonly nodes: readonly { readonly node: NodeId; readonly knownAs: string }[];
  /** The cluster's own names of those whose name another node has. */
  readonly refused: readonly string[];
}

/** A node's lease as the expire loop sees it. */
/** Whose a run's token is. */
export interface OwnRun {
  readonly job: JobId;
  readonly run: RunId;
  /** Grows with every attempt of the job. */
  readonly attempt: number;
}

export interface Lease {
  readonly node: NodeId;
  readonly cluster: string;
  /**
   * An agent enforces it: what is not renewed stops by itself, so that its time is proof. Where a cluster speaks for the node
   * nothing stops by itself, and only the cluster's word or an operator's is proof.
   */
  readonly leased: boolean;
  readonly state: NodeState['state'];
  /** Counts renewals: a change tells "renewed since" without comparing clocks. */
  readonly renewals: number;
  readonly renewedMs: number;
  readonly runs: readonly { readonly run: RunId; readonly stopAfterMs: number | null }[];
}

export interface ExpireItem {
  readonly node: NodeId;
  readonly renewals: number;
  readonly runs: readonly RunId[];
  /** Time beyond stopAfter before another attempt may start. */
  readonly marginMs: number;
}

export interface Freeze {
  readonly cluster: string;
  readonly silent: number;
  readonly nodes: number;
  readonly untilMs: number;
}

export interface Retention {
  /** Ended jobs older than this go, with their runs, tasks and keys (keys live at least 7 days). */
  readonly jobsMs: number;
  /** Event partitions wholly older than this go, once a snapshot stands at or after their last event; decisions too. */
  readonly eventsMs: number;
  readonly auditMs: number;
  /** At most this many jobs a call. */
  readonly limit: number;
}

export interface DecisionQuery {
  /** Only those with a larger id. */
  readonly after: number;
  /** Only those made at this sequence or later. */
  readonly fromSequence: number;
  /** Only those made at this time or later. */
  readonly fromMs?: number;
  readonly limit: number;
}

export interface SnapshotRow {
  readonly sequence: number;
  readonly atMs: number;
  /** Compressed. */
  readonly bytes: number;
}

export interface Retained {
  readonly jobs: number;
  readonly eventPartitions: number;
}

export interface ServerInfo {
  readonly id: ServerId;
  readonly url: string;
  readonly bootId: string;
  readonly pid: number;
  /** Start time of the process in clock ticks since boot: with boot id and pid it names one process for ever. */
  readonly pidStart: string;
}

export interface LeaderLease {
  /** 0 when there has never been a leader. */
  readonly epoch: number;
  readonly holder: ServerInfo | null;
  /** True when the asking server got the lease now. */
  readonly acquired: boolean;
  readonly expired: boolean;
}

export interface LogHead {
  /** Changes when the database is restored from a backup; cursors carry it. */
  readonly logId: string;
  readonly sequence: number;
  /** The first sequence still held. */
  readonly first: number;
}

export interface JobRow {
  readonly id: JobId;
  /** A member has its array's. */
  readonly spec: JobSpec;
  readonly state: JobState | ArrayState;
  readonly version: number;
  readonly submittedBy: string;
  readonly submittedMs: number;
  /** When the present or last run started. */
  readonly startedMs: number | null;
  /** The queue entry it shares with jobs that differ in nothing a decision looks at. */
  readonly entry: string;
  /** While it is queued: its backoff, or what its entry was told since the job waits; null when that is not known here. */
  readonly verdict: Verdict | null;
  /** Since when nobody hears from its run. */
  readonly unheardSinceMs: number | null;
  /** What an outside hand did to its run in its cluster. */
  readonly halt: Halt | null;
  /** The devices of its present run together, in thousandths; null without a run. They follow from the alternative it took. */
  readonly deviceMilli: number | null;
  /** What was learned of its run time when it came; null where nothing was. */
  readonly estimate: RunEstimate | null;
}

export interface RunRow {
  readonly id: RunId;
  readonly job: JobId;
  readonly attempt: number;
  readonly epoch: number;
  readonly state: RunState;
  readonly plannedMs: number;
  readonly port: number;
  /** Its last word of saved work, and when that was. */
  readonly checkpoint: (Checkpoint & { readonly atMs: number }) | null;
  /** What an outside hand did to it in its cluster, as last told. */
  readonly halt: Halt | null;
  readonly tasks: readonly TaskRow[];
}

export interface TaskRow {
  readonly placement: TaskPlacement;
  readonly nodeName: string;
  readonly state: TaskState;
}

export interface NodeRow {
  readonly id: NodeId;
  readonly name: string;
  readonly cluster: string;
  readonly pool: string;
  readonly generation: number;
  readonly state: NodeState;
  readonly drain: Drain | null;
  readonly trustMilli: number;
  /** Those that are not forgotten. */
  readonly strikes: Strikes | null;
  readonly inventory: Inventory;
  readonly cpuMilliUsed: number;
  readonly memoryMibUsed: number;
  /** Thousandths in use of each device, by index. */
  readonly devicesUsed: readonly number[];
  readonly renewedMs: number | null;
  readonly agentVersion: string | null;
  readonly isolation: boolean;
}

export interface JobQuery {
  /** Only this project and those below it; null for all. */
  readonly scope: string | null;
  readonly project: string | null;
  readonly states: readonly JobState['state'][] | null;
  readonly name: string | null;
  readonly submittedBy: string | null;
  /** Newest first; strictly before this id. */
  readonly before: JobId | null;
  readonly limit: number;
}

/** Members of an array that have a row, by index. */
export interface MemberQuery {
  readonly array: JobId;
  readonly states: readonly JobState['state'][] | null;
  readonly outcome: RunResult['outcome'] | null;
  /** Strictly after this index; -1 for all. */
  readonly after: number;
  readonly limit: number;
}

export interface NodeQuery {
  readonly cluster: string | null;
  /** By name; strictly after this one. */
  readonly after: string | null;
  readonly limit: number;
}

export interface EventQuery {
  readonly scope: string | null;
  readonly after: number;
  readonly job: JobId | null;
  readonly limit: number;
}

export interface ClaimRow {
  readonly atMs: number;
  readonly victims: readonly Victim[];
}

export interface Counts {
  readonly jobs: Readonly<Partial<Record<JobState['state'], number>>>;
  readonly nodes: Readonly<Partial<Record<NodeState['state'], number>>>;
  readonly quarantined: number;
  /** Nodes with enough strikes that take work all the same. */
  readonly spared: number;
  readonly outboxOpen: number;
  readonly devices: number;
  readonly devicesUsed: number;
}

export interface PolicyRow {
  readonly version: number;
  readonly policy: Policy;
  readonly createdMs: number;
  readonly createdBy: string;
}

export interface UsageQuery {
  /** Only this project and those below it; null for all. */
  readonly scope: string | null;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface UsageRow {
  readonly project: string;
  readonly user: string;
  readonly tier: string;
  readonly key: string;
  /** In the key's unit times hours, rounded down to thousandths of it. */
  readonly unitHoursMilli: number;
  readonly runs: number;
}

export interface ProjectRow {
  readonly path: string;
  readonly createdMs: number;
  readonly createdBy: string;
}

export interface NewToken {
  readonly id: TokenId;
  readonly name: string;
  readonly hash: string;
  readonly role: Role;
  readonly project: string | null;
  readonly by: string;
  readonly expiresMs: number | null;
}

export interface TokenRow {
  readonly id: TokenId;
  readonly name: string;
  readonly role: Role;
  readonly project: string | null;
  readonly createdMs: number;
  readonly createdBy: string;
  readonly expiresMs: number | null;
  readonly lastUsedMs: number | null;
  readonly revokedMs: number | null;
}

export interface NewAudit {
  readonly who: string;
  readonly from: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface AuditRow extends NewAudit {
  readonly id: number;
  readonly atMs: number;
}

/** The result of a run that a lost node ended. */
export function lostResult(node: NodeId, nodeName: string, rank: number | null): RunResult {
  const reason = { code: 'node-lost', message: `node ${nodeName} stopped renewing its lease` };
  return { outcome: 'failed', class: 'infrastructure', code: null, signal: null, reason, rank, node };
}
