// What the loop that speaks for the nodes of a cluster (cluster.ts) asks of the cluster, in words of our nodes.
import type { Driver, Saved } from '@muster/drivers';
import {
  type Halt,
  type Inventory,
  type NodeId,
  OperationalError,
  type RunId,
  type TaskReport,
} from '@muster/model';

/** What a look at the cluster showed. */
export interface ClusterSight {
  /** Another word for another life of the cluster's controller. */
  readonly boot: string;
  /** What is not listed does not run. */
  readonly settled: boolean;
  /** The nodes of it that can be spoken for now, with what each has. */
  readonly nodes: ReadonlyMap<NodeId, Inventory>;
  readonly reports: (node: NodeId) => readonly ClusterReport[];
}

export interface ClusterReport extends TaskReport {
  /** Its process was there, whatever became of it since. */
  readonly began: boolean;
  /** What it last said of its saved work. */
  readonly saved?: Saved;
  /** What an outside hand did to its run there. */
  readonly halt?: Halt;
}

/** The cluster answered, and what it lists could not be written down: that is no silence of the cluster. */
export class NotWritten extends OperationalError {}

export interface ClusterDriver extends Driver {
  /** Rejects when the cluster does not answer or cannot be read, and with NotWritten. */
  look(): Promise<ClusterSight>;
  /** A look that begins after this misses nothing that was answered of these nodes before this call. Looks go on beside it. */
  catchUp(nodes: readonly NodeId[]): Promise<void>;
  /** The end of its tasks on this node is committed, and need not be told again. */
  forget(run: RunId, node: NodeId): void;
}
