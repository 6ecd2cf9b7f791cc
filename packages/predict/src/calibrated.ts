// Keeps a quantile honest. Jobs that have just ended are shorter, on average, than those that still run, so what was seen
// promises too much. Every job that ends tells whether it stayed within what would have been said of it; after each miss
// all later answers grow a little, after each hit they shrink a little, in the proportion in which hits are wanted.

const step = 0.01;
/** A bound, so that a day of strange jobs cannot carry it away. */
const factorMax = 16;

export class Calibrated {
  readonly part: number;
  #factor = 1;
  #scored = 0;
  #hits = 0;

  /** Which part of all jobs should stay within the answer. */
  constructor(part: number) {
    this.part = part;
  }

  answer(quantileMs: number, mostMs: number): number {
    return Math.min(mostMs, Math.ceil(quantileMs * this.#factor));
  }

  /** A job for which this would have been the answer has run so long. */
  score(answerMs: number, ranMs: number): void {
    const hit = ranMs <= answerMs;
    this.#scored++;
    if (hit) this.#hits++;
    const moved = this.#factor * (hit ? 1 - step * (1 - this.part) : 1 + step * this.part);
    this.#factor = Math.min(factorMax, Math.max(1 / factorMax, moved));
  }

  /** Part of all jobs scored that stayed within their answer; null before the first. */
  get covered(): number | null {
    return this.#scored === 0 ? null : this.#hits / this.#scored;
  }

  get scored(): number {
    return this.#scored;
  }
}
