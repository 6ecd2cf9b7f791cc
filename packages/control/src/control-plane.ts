// What the API sees of a running control plane. Every server has one, leader or not; host/start.ts makes it from a store,
// a clock, timers, randomness and a logger.

import type { OutputAnswer, OutputRequest } from '@muster/drivers';
import type { AgentSocket, RefusedCount } from '@muster/drivers/agent';
import type { JobRequest } from '@muster/engine';
import type {
  ClusterTestView,
  Explanation,
  JobId,
  JobSpec,
  Ledger,
  NodeId,
  PlannedJob,
  RunEstimate,
  ServerId,
  Verdict,
} from '@muster/model';
import type { DrivenConfig } from './clusters.ts';
import type { Questions } from './questions.ts';

export interface ControlPlane {
  readonly server: ServerId;
  /** The engine's answer at a sequence of at least `atLeast`, with what would help, each tried. */
  explain(job: JobId, atLeast: number): Promise<Explained>;
  /** Why each of these waits, as its queue entry was last told; those the engine knows nothing of are left out. */
  verdicts(jobs: readonly JobId[]): Promise<ReadonlyMap<JobId, Verdict>>;
  /** What a job like this would be told if it were submitted now. */
  consider(request: JobRequest): Promise<Explained>;
  /** What is learned of the run time of a job that comes now; undefined where the policy does not use it. */
  estimate(spec: JobSpec, user: string): RunEstimate | undefined;
  /** Jobs with a planned start, at most a second old. */
  planned(): Promise<readonly PlannedJob[]>;
  /** Quota, use and shares of every project, at a sequence of at least `atLeast`. */
  ledger(atLeast: number): Promise<Ledger>;
  /** What a change would do, asked of a second engine at a sequence of at least `atLeast`; changes nothing. */
  readonly whatIf: Questions['whatIf'];
  /** Where the tasks of a request could go, and what each place costs. */
  readonly score: Questions['score'];
  /** Makes logged decisions again, and compares. */
  readonly replay: Questions['replay'];
  readonly agents: AgentConnections;
  /** Looks at a cluster now, from this server, connected or not. */
  testCluster(config: DrivenConfig): Promise<ClusterTestView>;
  status(): ControlStatus;
  /** Gives the lease back and decides nothing from here on; the API and agents are served as before. */
  stepDown(): Promise<void>;
  /** Stops the loops and gives the lease back; running work goes on. */
  stop(): Promise<void>;
}

export interface Explained {
  readonly sequence: number;
  readonly verdict: Verdict | null;
  /** The whole answer; a job the engine does not know has none. */
  readonly explanation: Explanation | null;
}

/** The agents connected to this server, and the nodes of clusters that it speaks for. */
export interface AgentConnections {
  /** Takes over a WebSocket that an agent dialled; authentication happens inside, by the node's key. */
  accept(socket: AgentSocket, from: string): void;
  /** How many agents. */
  readonly connected: number;
  /** Either of the two. */
  isConnected(node: NodeId): boolean;
  /** Messages of agents that this server refused since it started. */
  refused(): readonly RefusedCount[];
  /** Output of a task on a connected node; throws OperationalError('node-unreachable') when it is not connected here. */
  readOutput(request: OutputRequest): Promise<OutputAnswer>;
}

export interface ControlStatus {
  readonly leading: boolean;
  readonly epoch: number;
  /** The engine's sequence in this server. */
  readonly sequence: number;
  readonly lastCycleMs: number | null;
  readonly cycles: number;
  readonly placements: number;
  /** Loops of this server that go on failing, and with what. */
  readonly troubles: readonly string[];
}
