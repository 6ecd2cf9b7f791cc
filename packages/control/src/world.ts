// What the loops need of the world besides the store, as arguments: so the simulator runs the same loops on a virtual
// clock. Nothing in this package reads a clock, sleeps or rolls dice by itself; host/ supplies the real things.

export interface Clock {
  /** Never goes back; counts also while the wall clock jumps. Only differences mean anything. */
  monotonicMs(): number;
}

export interface Timers {
  /** Calls back once; returns how to prevent it. */
  after(ms: number, callback: () => void): () => void;
}

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface World {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Log;
}
