// What the API sees of a running control plane. Every server has one, leader or not; host/start.ts makes it from a store,
// a clock, timers, randomness and a logger.
import type { JobRequest } from '@muster/engine';
import type { JobId, NodeId, RunId, ServerId, Verdict } from '@muster/model';

export interface ControlPlane {
  readonly server: ServerId;
  /** The engine's answer at a sequence of at least `atLeast`. */
  explain(job: JobId, atLeast: number): Promise<Explained>;
  /** What a job like this would be told if it were submitted now. */
  consider(request: JobRequest): Promise<Explained>;
  readonly agents: AgentConnections;
  status(): ControlStatus;
  /** Stops the loops and gives the lease back; running work goes on. */
  stop(): Promise<void>;
}

export interface Explained {
  readonly sequence: number;
  readonly verdict: Verdict | null;
}

/** The agents connected to this server. */
export interface AgentConnections {
  /** Takes over a WebSocket that an agent dialled; authentication happens inside, by the node's key. */
  accept(socket: AgentSocket, from: string): void;
  readonly connected: number;
  isConnected(node: NodeId): boolean;
  /** Output of a task on a connected node; throws OperationalError('node-unreachable') when it is not connected here. */
  readOutput(request: ReadOutput): Promise<OutputPiece>;
}

/** The part of a `ws` WebSocket the hub uses. */
export interface AgentSocket {
  send(data: string): void;
  close(code?: number, reason?: string): void;
  terminate(): void;
  readonly bufferedAmount: number;
  on(event: 'message', listener: (data: Uint8Array, isBinary: boolean) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

export interface ReadOutput {
  readonly node: NodeId;
  readonly run: RunId;
  readonly rank: number;
  readonly offset: number;
  readonly maxBytes: number;
  /** Wait up to this long for something to tell. */
  readonly waitMs: number;
}

export interface OutputPiece {
  /** Where `data` begins: beyond the asked offset when output in between was dropped by the size cap. */
  readonly offset: number;
  readonly data: Uint8Array;
  /** Total bytes the task has written so far, dropped ones included. */
  readonly size: number;
  /** The task is over and this is the last piece. */
  readonly end: boolean;
}

export interface ControlStatus {
  readonly leading: boolean;
  readonly epoch: number;
  /** The engine's sequence in this server. */
  readonly sequence: number;
  readonly queued: number;
  readonly lastCycleMs: number | null;
  readonly cycles: number;
  readonly placements: number;
}
