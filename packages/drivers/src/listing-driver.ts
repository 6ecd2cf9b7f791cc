// The seam between the control plane and a cluster that has no agents of ours (Slurm, Kubernetes): a driver that is asked what the
// cluster lists, by the cluster's own names. Which node of ours that is, who is told and what is remembered is control's part
// (packages/control/src/cluster-nodes.ts); a driver keeps to one cluster and its configuration.
import type { Checkpoint, Halt, Inventory, NodeId, RunId, TaskReport } from '@muster/model';
import type { Driver } from './contract.ts';
import type { Ownership } from './owner.ts';

/** A node as its cluster lists it. */
export interface ListedNode {
  /** The cluster's own name of it. */
  readonly name: string;
  /** What it has for jobs of ours, however much of it they use: the use of others is taken off. The same object while nothing changed spares a comparison. */
  readonly inventory: Inventory;
  /** Why the cluster puts no new work there, in its words; null when it does. */
  readonly closed: string | null;
}

export interface ListedReport extends TaskReport {
  /** The cluster's own name of its node. */
  readonly node: string;
  /** Its process was there, whatever became of it since. */
  readonly began: boolean;
  /** What it last said of its saved work, where its cluster lets us see that. */
  readonly saved?: Saved;
  /** What an outside hand did to its run, so that it does not begin or go on. */
  readonly halt?: Halt;
}

export interface Saved extends Checkpoint {
  /** Another one for each time that it spoke. */
  readonly word: string;
  /** How long before it was first seen it was said. */
  readonly agoMs: number;
}

export interface Listing {
  /** Another word for another life of the cluster's controller: what was known of the one before is told anew. */
  readonly boot: string;
  /** What is not listed does not run. */
  readonly settled: boolean;
  /** The same object for a node while nothing in it changed spares a comparison. */
  readonly nodes: readonly ListedNode[];
  /** Of every run of ours that was not forgotten, ended or not; also on nodes that are no longer listed. */
  readonly reports: ReportsByNode;
}

/** By the cluster's own name of a node. The same list while nothing in it changed spares a comparison. */
export type ReportsByNode = ReadonlyMap<string, readonly ListedReport[]>;

export interface ListingDriver extends Driver {
  /** Rejects, with a message for an operator, when the cluster does not answer or cannot be read. What is kept from before will do. */
  look(): Promise<Listing>;
  /**
   * A look that begins after this misses nothing that was answered of these nodes, by the cluster's names, before this call. May take
   * long, and looks go on beside it.
   */
  catchUp(nodes: readonly string[]): Promise<void>;
  /** The end of all its tasks is committed: it need not be told again, and nothing of this key will ever run. */
  forget(run: RunId): Promise<void>;
  /** Looks no more; running work goes on. */
  close(): Promise<void>;
}

/** What a driver is told of ours, besides its configuration. */
export interface ListingContext {
  /** Whose its runs are. */
  readonly ownership: Ownership;
  /** The cluster's own name of a node; null when it is none of this cluster. */
  readonly nodeName: (node: NodeId) => string | null;
  /** For a driver that is told by its cluster: there is something new, and a look is worth its while. */
  readonly onNews?: () => void;
}
