// The driver contract: what the control plane may ask of any kind of cluster. A driver makes no choices; it carries out
// committed outbox rows, looks when asked, and reports what it sees. One conformance suite (conformance/) runs on all.
//
// A command has three answers. `unknown` means it was sent and no answer came: the row stays open, the cluster is asked
// what it holds (`find`, or the hello of a reconnecting agent), and only then is the row handed out again. A key is
// started at most once ever, however often it is sent.
import type { Capability, NodeId, RunId, StartCommand, StopCommand, TaskReport } from '@muster/model';

export interface CommandTarget {
  readonly outbox: number;
  readonly epoch: number;
  readonly node: NodeId;
}

export type CommandAnswer =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'refused'; readonly detail: string }
  /** The receiver has seen a newer epoch than the row's. */
  | { readonly outcome: 'stale-epoch' }
  | { readonly outcome: 'unknown' };

/** A session of a node that can take commands now. */
export interface DriverSession {
  readonly node: NodeId;
  readonly session: string;
  /** What earlier sessions of the node sent can take effect no more. False where a request may be carried out long after it timed out. */
  readonly fenced: boolean;
}

export interface DriverCapabilities {
  readonly has: readonly Capability[];
  /** device: the engine picks device ids. count: it sells counts and learns ids by observation. */
  readonly assigns: 'device' | 'count';
}

export interface OutputRequest {
  readonly node: NodeId;
  readonly run: RunId;
  readonly rank: number;
  readonly offset: number;
  readonly maxBytes: number;
  /** Wait up to this long for something to tell. */
  readonly waitMs: number;
}

export interface OutputAnswer {
  /** Where `data` begins: beyond the asked offset when output in between was dropped by the size cap. */
  readonly offset: number;
  readonly data: Uint8Array;
  /** Total bytes the task has written so far, dropped ones included. */
  readonly size: number;
  /** The task is over and this is the last piece. */
  readonly end: boolean;
}

export interface Driver {
  readonly capabilities: DriverCapabilities;
  submit(target: CommandTarget, command: StartCommand): Promise<CommandAnswer>;
  /** Also of what has not begun: a start of this key that comes there later must begin nothing. */
  stop(target: CommandTarget, command: StopCommand): Promise<CommandAnswer>;
  /** What the cluster holds of a run on a node; null when it cannot be asked now. */
  find(node: NodeId, run: RunId): Promise<readonly TaskReport[] | null>;
  /** Throws OperationalError('node-unreachable') when the output cannot be reached now. */
  output(request: OutputRequest): Promise<OutputAnswer>;
}
