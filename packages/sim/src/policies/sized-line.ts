// The waiting of one size in the order in which they came, each with the run time believed of it. Backfill asks such a line for its
// first, for the first that is short enough, and for the shortest; each in a few steps, because queues grow to tens of thousands.
import { MinTree } from './min-tree.ts';

export class SizedLine {
  readonly size: number;
  #jobs = new Int32Array(64);
  #beliefs = new Float64Array(64);
  #tail = 0;
  #waiting = 0;
  readonly #tree = new MinTree();

  constructor(size: number) {
    this.size = size;
  }

  get waiting(): number {
    return this.#waiting;
  }

  push(job: number, believedMs: number): void {
    if (this.#tail === this.#jobs.length) this.#makeRoom();
    this.#jobs[this.#tail] = job;
    this.#beliefs[this.#tail] = believedMs;
    this.#tree.set(this.#tail, believedMs);
    this.#tail++;
    this.#waiting++;
  }

  jobAt(place: number): number {
    return this.#jobs[place]!;
  }

  believedMsAt(place: number): number {
    return this.#beliefs[place]!;
  }

  /** Place of the first whose belief is at most this; -1 when there is none. */
  firstWithin(limitMs: number): number {
    return this.#tree.firstAtMost(Math.min(limitMs, Number.MAX_VALUE));
  }

  /** Place of the shortest, of equal ones the first. */
  shortest(): number {
    return this.#tree.firstAtMost(this.#tree.least);
  }

  takeAt(place: number): number {
    this.#tree.set(place, Number.POSITIVE_INFINITY);
    this.#waiting--;
    return this.#jobs[place]!;
  }

  /** Undoes a take that nothing has come or left after. */
  putBack(place: number): void {
    this.#tree.set(place, this.#beliefs[place]!);
    this.#waiting++;
  }

  /** Who waits, in order; only to be read before anybody leaves or comes. */
  *inOrder(): Generator<number> {
    for (let place = 0; place < this.#tail; place++)
      if (this.#tree.at(place) !== Number.POSITIVE_INFINITY) yield place;
  }

  /** Closes the gaps; doubles the room when there are few. */
  #makeRoom(): void {
    const length = this.#waiting * 2 > this.#jobs.length ? this.#jobs.length * 2 : this.#jobs.length;
    const [jobs, beliefs] = [new Int32Array(length), new Float64Array(length)];
    let to = 0;
    for (const place of this.inOrder()) {
      jobs[to] = this.#jobs[place]!;
      beliefs[to++] = this.#beliefs[place]!;
    }
    this.#tree.clear();
    for (let place = 0; place < to; place++) this.#tree.set(place, beliefs[place]!);
    this.#jobs = jobs;
    this.#beliefs = beliefs;
    this.#tail = to;
  }
}
