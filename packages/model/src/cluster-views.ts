// Clusters as the API shows them.
import type { ClusterConfig, ClusterKind, ClusterState } from './cluster.ts';

export interface ClusterView {
  readonly name: string;
  readonly kind: ClusterKind;
  /** Null for one that was never added and exists by its agents. */
  readonly config: ClusterConfig | null;
  /** Where its jobs find a server (MUSTER_SERVER_URL); null where agents say that, or nobody leads yet. */
  readonly serverUrl: string | null;
  readonly state: ClusterState['state'];
  readonly stateSince: string | null;
  /** Why it is degraded or lost. */
  readonly reason: string | null;
  readonly answeredAt: string | null;
  readonly drain: { readonly by: string; readonly reason: string; readonly since: string } | null;
  /** `open` take new work. */
  readonly nodes: { readonly total: number; readonly ready: number; readonly open: number };
  readonly devices: { readonly total: number; readonly used: number };
  readonly runs: number;
  /** Runs there of which nobody knows whether they still run. */
  readonly unproven: number;
  readonly createdAt: string | null;
  readonly createdBy: string | null;
}

/** What one look at a cluster found. */
export interface ClusterTestView {
  readonly kind: ClusterKind;
  readonly answered: boolean;
  /** Why there was no answer, or why it could not be read. */
  readonly error: string | null;
  /** False while its controller is too young to know what its nodes run: nothing is started there until it does. */
  readonly settled: boolean;
  readonly nodes: readonly {
    readonly name: string;
    readonly closed: string | null;
    readonly cpuMilli: number;
    readonly memoryMib: number;
    /** How many of each model. */
    readonly devices: Readonly<Record<string, number>>;
    readonly labels: Readonly<Record<string, string>>;
  }[];
  /** Runs of Muster that it holds. */
  readonly runs: number;
  /** What jobs may ask for that it cannot do, a sentence each. */
  readonly lacks: readonly string[];
}

/** What an hour costs in a cluster, by the policy's table: a row for nodes that cost the same and are alike in what prices go by. */
export interface ClusterPricesView {
  readonly items: readonly {
    readonly pool: string;
    readonly capacity: string | null;
    readonly region: string | null;
    readonly instanceType: string | null;
    /** Null for nodes without devices. */
    readonly device: { readonly kind: string; readonly model: string } | null;
    readonly nodes: number;
    readonly devices: number;
    /** In money; null for nodes without devices. */
    readonly deviceHour: number | null;
    readonly coreHour: number;
  }[];
}
