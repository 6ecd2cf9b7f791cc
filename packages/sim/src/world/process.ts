// A process of a virtual world. Paused, it runs nothing, and what would have happened to it happens when it goes on, in the
// order of time; killed, nothing ever happens to it again.
import type { Clock, Timers } from '@muster/control';
import type { Scheduler } from './scheduler.ts';

export class VirtualProcess {
  readonly #scheduler: Scheduler;
  readonly #rate: number;
  readonly #bornMs: number;
  #state: 'running' | 'paused' | 'dead' = 'running';
  #missed: (() => void)[] = [];
  #resumedMs = -1;

  /** `rate`: so fast goes the clock of the machine it is on, by which its timers go too. */
  constructor(scheduler: Scheduler, rate = 1) {
    this.#scheduler = scheduler;
    this.#rate = rate;
    this.#bornMs = scheduler.nowMs;
  }

  get alive(): boolean {
    return this.#state !== 'dead';
  }

  get running(): boolean {
    return this.#state === 'running';
  }

  /** Does anything of its own: what was due while it was paused comes first, at the moment it goes on. */
  get executes(): boolean {
    return this.#state === 'running' && this.#scheduler.nowMs > this.#resumedMs;
  }

  /** Counts also while the process is paused, as a machine's monotonic clock does. */
  readonly clock: Clock = {
    monotonicMs: () => Math.floor((this.#scheduler.nowMs - this.#bornMs) * this.#rate),
  };

  readonly timers: Timers = {
    after: (ms, callback) => this.#scheduler.after(ms / this.#rate, () => this.deliver(callback)),
  };

  /** Something reaches the process now. */
  deliver(callback: () => void): void {
    if (this.#state === 'running') callback();
    else if (this.#state === 'paused') this.#missed.push(callback);
  }

  pause(): void {
    if (this.#state === 'running') this.#state = 'paused';
  }

  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'running';
    this.#resumedMs = this.#scheduler.nowMs;
    const missed = this.#missed;
    this.#missed = [];
    for (const callback of missed) this.#scheduler.after(0, () => this.deliver(callback));
  }

  kill(): void {
    this.#state = 'dead';
    this.#missed = [];
  }
}
