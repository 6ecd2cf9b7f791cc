// An array has one slot in the table of jobs, which stands in line for all its members that never started. This is what that slot
// stands for: index ranges, and how many members are on their way.
import { type ArraySize, countOf, type IndexRanges } from '@muster/model';

export interface Pool {
  /** The array's own slot. */
  readonly slot: number;
  readonly size: ArraySize;
  /** Members that never started. */
  waiting: IndexRanges;
  count: number;
  /** Members that are placed or have a claim. */
  out: number;
  /** Slots of members that wait, in line or not. */
  readonly again: Set<number>;
}

export function makePool(slot: number, size: ArraySize, waiting: IndexRanges): Pool {
  return { slot, size, waiting, count: countOf(waiting), out: 0, again: new Set() };
}

export function copyPool(pool: Pool): Pool {
  return { ...pool, again: new Set(pool.again) };
}

/** As many members are out as may be at once. */
export function isFull({ size, out }: Pool): boolean {
  return size.parallel !== null && out >= size.parallel;
}
