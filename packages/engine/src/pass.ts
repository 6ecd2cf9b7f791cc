// One walk over the queue in the order of order.ts, placing what fits. What it places stays taken until `undoPass`; a
// question walks the same way and stops where its job would stand. Entries of a shape are taken up one by one, so that a
// shape that fails at its first job costs one attempt however many entries it has.
import { place } from './fit.ts';
import { type Placement, undo } from './ledger.ts';
import { compareStanding, type Standing } from './order.ts';
import type { Entry, Queue } from './queue.ts';
import { matchShape, type Shape } from './shape.ts';
import type { State } from './state.ts';

export interface Placed {
  readonly job: number;
  readonly placement: Placement;
}

/** An entry that the walk has taken up. */
export interface Head {
  readonly entry: Entry;
  /** Position of its first job that is not placed, and that job; -1 when none is left. */
  position: number;
  job: number;
  /** Position, in the shape's list, of the entry to take up after this one is reached; -1 when there is none. */
  next: number;
}

export interface Pass {
  readonly placed: Placed[];
  /** Shapes of which a job did not fit. */
  readonly failed: Set<Shape>;
  readonly heads: Map<Entry, Head>;
}

/** Says that the walk is over before this job is tried. */
export type Stop = (job: number, standing: Standing, pass: Pass) => boolean;

export function walk(state: State, stop: Stop): Pass {
  const { queue, fleets, jobs } = state;
  const pass: Pass = { placed: [], failed: new Set(), heads: new Map() };
  const heads = new Heads(queue, pass);
  for (const shape of queue.open) heads.takeUp(shape, shape.entries.first());
  for (let head = heads.first(); head; head = heads.first()) {
    const { job, entry } = head;
    if (stop(job, entry.level, pass)) break;
    matchShape(entry.shape, fleets.live.classes);
    const placement = place(fleets.live, entry.shape, jobs.avoid(job));
    if (placement) {
      pass.placed.push({ job, placement });
      heads.advance();
    } else {
      pass.failed.add(entry.shape);
      heads.drop();
    }
  }
  return pass;
}

export function undoPass(state: State, pass: Pass): void {
  for (let i = pass.placed.length - 1; i >= 0; i--) undo(state.fleets.live, pass.placed[i]!.placement);
}

/** The entries taken up so far, as a binary heap by the first job of each that is not placed yet. */
class Heads {
  readonly #queue: Queue;
  readonly #pass: Pass;
  readonly #heap: Head[] = [];

  constructor(queue: Queue, pass: Pass) {
    this.#queue = queue;
    this.#pass = pass;
  }

  /** Starts on the entry at this position of the shape's list, and remembers the one after it. */
  takeUp(shape: Shape, at: number): void {
    if (at < 0) return;
    const entry = this.#queue.entries[shape.entries.at(at)]!;
    const position = entry.jobs.first();
    const head = { entry, position, job: entry.jobs.at(position), next: shape.entries.next(at) };
    this.#pass.heads.set(entry, head);
    this.#heap.push(head);
    this.#up(this.#heap.length - 1);
  }

  /** The entry whose turn it is. */
  first(): Head | null {
    while (this.#heap.length > 0) {
      const head = this.#heap[0]!;
      if (!this.#pass.failed.has(head.entry.shape)) return head;
      this.drop();
    }
    return null;
  }

  /** The job whose turn it was is placed; the entry behind it in its shape's list comes up as well. */
  advance(): void {
    const head = this.#heap[0]!;
    const { entry, next } = head;
    head.position = entry.jobs.next(head.position);
    head.job = head.position < 0 ? -1 : entry.jobs.at(head.position);
    head.next = -1;
    if (head.position < 0) this.drop();
    else this.#down(0);
    this.takeUp(entry.shape, next);
  }

  drop(): void {
    const last = this.#heap.pop()!;
    if (this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#down(0);
  }

  #before(a: Head, b: Head): boolean {
    return (compareStanding(a.entry.level, b.entry.level) || this.#queue.compareJobs(a.job, b.job)) < 0;
  }

  #up(from: number): void {
    const heap = this.#heap;
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >>> 1;
      if (!this.#before(heap[at]!, heap[parent]!)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #down(from: number): void {
    const heap = this.#heap;
    for (let at = from; ; ) {
      let least = at;
      for (let child = 2 * at + 1; child <= 2 * at + 2 && child < heap.length; child++)
        if (this.#before(heap[child]!, heap[least]!)) least = child;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    const kept = heap[a]!;
    heap[a] = heap[b]!;
    heap[b] = kept;
  }
}
