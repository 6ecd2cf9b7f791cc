// All runs by their known end, for whoever wants only the first of very many: a few are picked out
// at first, and the others are not looked at before somebody asks for them.
import { type LiveRun, tierNamed } from '@muster/model';
import { compareSequence } from './order.ts';
import type { State } from './state.ts';

export const never = Number.MAX_SAFE_INTEGER;

/** How many are picked out first, before it is asked of all others whether they count. */
const firstPicked = 64;

export interface KnownEnd {
  /** In the table of runs. */
  readonly slot: number;
  /** `never` where nobody knows. */
  readonly endMs: number;
}

/**
 * Of those that count the soonest first, at most so many; of equal ones by their jobs, as submitted. No run may start or end
 * meanwhile.
 */
export function* soonestEnds(
  state: State,
  counts: (slot: number) => boolean,
  most: number,
): IterableIterator<KnownEnd> {
  const { table, jobs } = state;
  const endMs = knownEnds(state);
  const compare = (a: number, b: number): number =>
    endMs[a]! - endMs[b]! || compareSequence(jobs, table.job[a]!, table.job[b]!);
  const soonest = new Picked(Math.min(firstPicked, most), compare);
  for (let slot = 0; slot < endMs.length; slot++) if (table.live[slot]) soonest.offer(slot);
  let left = most;
  let last = -1;
  for (const slot of soonest.inOrder()) {
    last = slot;
    if (!counts(slot)) continue;
    yield { slot, endMs: endMs[slot]! };
    left--;
  }
  if (left === 0 || table.size <= firstPicked) return;
  const later = new Picked(left, compare);
  for (let slot = 0; slot < endMs.length; slot++)
    if (table.live[slot] && compare(slot, last) > 0 && counts(slot)) later.offer(slot);
  for (const slot of later.inOrder()) yield { slot, endMs: endMs[slot]! };
}

/** The least of what is offered, so many: a heap with the greatest of them on top. */
class Picked {
  readonly #most: number;
  readonly #compare: (a: number, b: number) => number;
  readonly #heap: number[] = [];

  constructor(most: number, compare: (a: number, b: number) => number) {
    this.#most = most;
    this.#compare = compare;
  }

  offer(item: number): void {
    const heap = this.#heap;
    if (heap.length < this.#most) {
      heap.push(item);
      if (heap.length === this.#most) heap.sort((a, b) => this.#compare(b, a));
    } else if (this.#compare(item, heap[0]!) < 0) this.#replaceTop(item);
  }

  inOrder(): readonly number[] {
    return this.#heap.sort(this.#compare);
  }

  #replaceTop(item: number): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#compare(heap[child + 1]!, heap[child]!) > 0) child++;
      if (this.#compare(heap[child]!, item) <= 0) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = item;
  }
}

/** By its time limit or its tier's default; `never` before it has started. */
export function expectedEndMs({ queue, policy, table }: State, slot: number, { startedMs }: LiveRun): number {
  if (startedMs === null) return never;
  const { durationMs, tier } = queue.entryOf(table.job[slot]!).facts;
  const lengthMs = durationMs ?? tierNamed(policy, tier)?.durationMs;
  return lengthMs === undefined ? never : startedMs + lengthMs;
}

/** The same for all runs: how long they last is looked up once an entry. */
function knownEnds(state: State): Float64Array {
  const { table, jobs } = state;
  const ends = new Float64Array(table.live.length).fill(never);
  const lengths: (number | undefined)[] = [];
  for (let slot = 0; slot < ends.length; slot++) {
    const startedMs = table.startedMs[slot]!;
    if (!table.live[slot] || startedMs < 0) continue;
    const entry = jobs.entry[table.job[slot]!]!;
    let lengthMs = lengths[entry];
    if (lengthMs === undefined) {
      const endMs = expectedEndMs(state, slot, table.live[slot]!);
      lengthMs = endMs === never ? Number.POSITIVE_INFINITY : endMs - startedMs;
      lengths[entry] = lengthMs;
    }
    ends[slot] = Math.min(never, startedMs + lengthMs);
  }
  return ends;
}
