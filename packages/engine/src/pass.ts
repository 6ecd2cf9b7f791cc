// One walk over the queue in the order of order.ts, placing what fits. What it places stays taken until `undoPass`; a
// question walks the same way and stops where its job would stand. Entries of a shape are taken up one by one, so that a
// shape that fails at its first job costs one attempt however many entries it has.
import { type Placement, place, undo } from './fit.ts';
import { compareStanding, type Standing } from './order.ts';
import type { Entry, Queue } from './queue.ts';
import { matchShape, type Shape } from './shape.ts';
import type { State } from './state.ts';

export interface Placed {
  readonly job: number;
  readonly placement: Placement;
}

export interface Pass {
  readonly placed: Placed[];
  /** Shapes of which a job did not fit. */
  readonly failed: Set<Shape>;
  /** Where each entry that was taken up stands: the position of its first job that was not placed, -1 when none is left. */
  readonly cursors: Map<Entry, number>;
}

/** Says that the walk is over before this job is tried. */
export type Stop = (job: number, standing: Standing, pass: Pass) => boolean;

export function walk(state: State, stop: Stop): Pass {
  const { queue, fleets, jobs } = state;
  const pass: Pass = { placed: [], failed: new Set(), cursors: new Map() };
  const heads = new Heads(queue, pass);
  for (const shape of queue.open) heads.takeUp(shape, shape.entries.first());
  for (let entry = heads.first(); entry; entry = heads.first()) {
    const job = heads.job(entry);
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
  readonly #heap: Entry[] = [];
  readonly #next = new Map<Entry, number>();

  constructor(queue: Queue, pass: Pass) {
    this.#queue = queue;
    this.#pass = pass;
  }

  job(entry: Entry): number {
    return entry.jobs.at(this.#pass.cursors.get(entry)!);
  }

  /** Starts on the entry at this position of the shape's list, and remembers the one after it. */
  takeUp(shape: Shape, position: number): void {
    if (position < 0) return;
    const entry = this.#queue.entries[shape.entries.at(position)]!;
    this.#pass.cursors.set(entry, entry.jobs.first());
    this.#next.set(entry, shape.entries.next(position));
    this.#heap.push(entry);
    this.#up(this.#heap.length - 1);
  }

  /** The entry whose turn it is; the ones behind it in its shape come up once it is reached. */
  first(): Entry | null {
    while (this.#heap.length > 0) {
      const entry = this.#heap[0]!;
      if (!this.#pass.failed.has(entry.shape)) return entry;
      this.drop();
    }
    return null;
  }

  advance(): void {
    const entry = this.#heap[0]!;
    const position = entry.jobs.next(this.#pass.cursors.get(entry)!);
    this.#pass.cursors.set(entry, position);
    if (position < 0) this.drop();
    else this.#down(0);
    const next = this.#next.get(entry);
    if (next === undefined) return;
    this.#next.delete(entry);
    this.takeUp(entry.shape, next);
  }

  drop(): void {
    const last = this.#heap.pop()!;
    if (this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#down(0);
  }

  #before(a: Entry, b: Entry): boolean {
    return (compareStanding(a.level, b.level) || this.#queue.compareJobs(this.job(a), this.job(b))) < 0;
  }

  #up(from: number): void {
    const heap = this.#heap;
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >>> 1;
      if (!this.#before(heap[at]!, heap[parent]!)) return;
      [heap[at], heap[parent]] = [heap[parent]!, heap[at]!];
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
      [heap[at], heap[least]] = [heap[least]!, heap[at]!];
      at = least;
    }
  }
}
