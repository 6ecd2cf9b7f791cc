// Questions to the engine, answered one at a time with a turn of the event loop between two: however many are asked at once,
// a decision and its commit wait for one answer and not for all. Beyond a length of the line new ones are refused.
import { OperationalError } from '@muster/model';
import type { Timers } from './world.ts';

/**
 * An explanation may take 50 ms on a large fleet (the aim of `explain_ms` in the engine's benchmark), and decisions go between:
 * the last in a full line may wait for ten seconds and more. Who cannot wait that long bounds it, as lists do.
 */
const lineMax = 200;

export class OneByOne {
  readonly #timers: Timers;
  #last: Promise<unknown> = Promise.resolve();
  #length = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  async ask<T>(answer: () => Promise<T>): Promise<T> {
    if (this.#length >= lineMax)
      throw new OperationalError(
        'unavailable',
        `${lineMax} questions are waiting for the scheduler already; try again`,
      );
    const before = this.#length === 0 ? this.#last : this.#last.then(() => this.#pause());
    this.#length++;
    const mine = before.then(answer);
    this.#last = mine.catch(() => {});
    try {
      return await mine;
    } finally {
      this.#length--;
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#timers.after(0, resolve);
    });
  }
}
