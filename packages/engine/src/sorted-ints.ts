// A sorted list of small integers (slots of nodes, jobs, entries) under an order that the owner gives. Chunks of at most
// 256 keep insert and remove at well under a microsecond from ten items to a million, whatever the order of changes.
// The order of an item may change only between `find` and `moved`; everything else relies on it standing still.
//
// A position is a packed pair (chunk, offset); it stays valid until the next change of the list.
//
// A copy shares the chunks; whoever changes a shared one first makes it its own.
import { invariant } from '@muster/model';

export type Compare = (a: number, b: number) => number;

const chunkMax = 256;
const offsetBits = 9;
const offsetMask = (1 << offsetBits) - 1;
const firstCapacity = 4;

/** The place of a position in its chunk. */
export function offsetIn(position: number): number {
  return position & offsetMask;
}

export class SortedInts {
  size = 0;
  readonly #compare: Compare;
  #chunks: Int32Array[] = [];
  #lengths: number[] = [];
  /** Which chunks may be written; null for all. */
  #owned: boolean[] | null = null;

  constructor(compare: Compare) {
    this.#compare = compare;
  }

  copy(compare: Compare): SortedInts {
    const other = new SortedInts(compare);
    other.size = this.size;
    other.#chunks = this.#chunks.slice();
    other.#lengths = this.#lengths.slice();
    other.#owned = this.#chunks.map(() => false);
    this.#owned = other.#owned.slice();
    return other;
  }

  /** The first position, or -1 when the list is empty. */
  first(): number {
    return this.size === 0 ? -1 : 0;
  }

  next(position: number): number {
    const chunk = position >>> offsetBits;
    if ((position & offsetMask) + 1 < this.#lengths[chunk]!) return position + 1;
    return chunk + 1 < this.#chunks.length ? (chunk + 1) << offsetBits : -1;
  }

  previous(position: number): number {
    if ((position & offsetMask) > 0) return position - 1;
    const chunk = (position >>> offsetBits) - 1;
    return chunk < 0 ? -1 : (chunk << offsetBits) | (this.#lengths[chunk]! - 1);
  }

  last(): number {
    const chunk = this.#chunks.length - 1;
    return chunk < 0 ? -1 : (chunk << offsetBits) | (this.#lengths[chunk]! - 1);
  }

  at(position: number): number {
    return this.#chunks[position >>> offsetBits]![position & offsetMask]!;
  }

  /** The items that stand together with that of a position, to be read in order from `offsetIn` to before `endOf`. */
  chunkOf(position: number): Int32Array {
    return this.#chunks[position >>> offsetBits]!;
  }

  endOf(position: number): number {
    return this.#lengths[position >>> offsetBits]!;
  }

  /** How many items stand before a position. */
  countBefore(position: number): number {
    let count = position & offsetMask;
    for (let chunk = (position >>> offsetBits) - 1; chunk >= 0; chunk--) count += this.#lengths[chunk]!;
    return count;
  }

  /** The first position whose key is at least `least`, or -1; the list must be sorted by that key first. */
  lowerBound(key: Int32Array | Float64Array, least: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (key[this.#chunks[middle]![this.#lengths[middle]! - 1]!]! < least) low = middle + 1;
      else high = middle;
    }
    if (low === this.#chunks.length) return -1;
    const chunk = this.#chunks[low]!;
    let from = 0;
    let to = this.#lengths[low]! - 1;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (key[chunk[middle]!]! < least) from = middle + 1;
      else to = middle;
    }
    return (low << offsetBits) | from;
  }

  /** The first position whose item is not ordered before `item`, which need not be in the list; or -1. */
  notBefore(item: number): number {
    return this.#notBefore(item);
  }

  /** How many items are ordered before `item`, which need not be in the list. */
  rank(item: number): number {
    const position = this.#notBefore(item);
    return position < 0 ? this.size : this.countBefore(position);
  }

  /** How many items stand before the first of which it is not said; all of which it is said must stand first. */
  countWhile(isBefore: (item: number) => boolean): number {
    let count = 0;
    for (let c = 0; c < this.#chunks.length; c++) {
      const chunk = this.#chunks[c]!;
      const length = this.#lengths[c]!;
      if (isBefore(chunk[length - 1]!)) {
        count += length;
        continue;
      }
      let from = 0;
      let to = length - 1;
      while (from < to) {
        const middle = (from + to) >>> 1;
        if (isBefore(chunk[middle]!)) from = middle + 1;
        else to = middle;
      }
      return count + from;
    }
    return count;
  }

  find(item: number): number {
    // The first in a line is the one that leaves it, most of the time.
    if (this.size > 0 && this.#chunks[0]![0] === item) return 0;
    const position = this.#notBefore(item);
    if (position < 0 || this.at(position) !== item) invariant(false, `${item} is not in its sorted list`);
    return position;
  }

  /** Returns its position. */
  insert(item: number): number {
    this.size++;
    const position = this.#notBefore(item);
    if (position >= 0) return this.#insertAt(position >>> offsetBits, position & offsetMask, item);
    if (this.#chunks.length > 0) {
      const chunk = this.#chunks.length - 1;
      return this.#insertAt(chunk, this.#lengths[chunk]!, item);
    }
    const chunk = new Int32Array(firstCapacity);
    chunk[0] = item;
    this.#chunks.push(chunk);
    this.#lengths.push(1);
    this.#owned?.push(true);
    return 0;
  }

  remove(item: number): void {
    this.removeAt(this.find(item));
  }

  removeAt(position: number): void {
    this.size--;
    const c = position >>> offsetBits;
    const offset = position & offsetMask;
    const length = this.#lengths[c]! - 1;
    // The last one leaves by being counted no more.
    if (offset < length) this.#own(c).copyWithin(offset, offset + 1, length + 1);
    this.#lengths[c] = length;
    if (length > 0) return;
    this.#chunks.splice(c, 1);
    this.#lengths.splice(c, 1);
    this.#owned?.splice(c, 1);
  }

  /** The item at `position` changed its place in the order since `find` gave that position. Returns where it is now. */
  moved(position: number): number {
    const item = this.at(position);
    const before = this.previous(position);
    const after = this.next(position);
    // Filling one node task by task leaves it between its neighbours most of the time.
    const inPlace =
      (before < 0 || this.#compare(this.at(before), item) < 0) &&
      (after < 0 || this.#compare(item, this.at(after)) < 0);
    if (inPlace) return position;
    this.removeAt(position);
    return this.insert(item);
  }

  /** The first position whose item is not ordered before `item`, or -1. */
  #notBefore(item: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#chunks[middle]![this.#lengths[middle]! - 1]!, item) < 0) low = middle + 1;
      else high = middle;
    }
    if (low === this.#chunks.length) return -1;
    const chunk = this.#chunks[low]!;
    let from = 0;
    let to = this.#lengths[low]! - 1;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.#compare(chunk[middle]!, item) < 0) from = middle + 1;
      else to = middle;
    }
    return (low << offsetBits) | from;
  }

  #insertAt(c: number, offset: number, item: number): number {
    const length = this.#lengths[c]!;
    if (length === chunkMax) {
      this.#split(c);
      const half = this.#lengths[c]!;
      return offset > half ? this.#insertAt(c + 1, offset - half, item) : this.#insertAt(c, offset, item);
    }
    const chunk = this.#own(c, length + 1);
    chunk.copyWithin(offset + 1, offset, length);
    chunk[offset] = item;
    this.#lengths[c] = length + 1;
    return (c << offsetBits) | offset;
  }

  /** The chunk, to write, with room for so many. */
  #own(c: number, room = 0): Int32Array {
    const chunk = this.#chunks[c]!;
    const capacity = room > chunk.length ? chunk.length * 2 : chunk.length;
    if (capacity === chunk.length && (this.#owned === null || this.#owned[c])) return chunk;
    const own = new Int32Array(capacity);
    own.set(chunk);
    this.#chunks[c] = own;
    if (this.#owned) this.#owned[c] = true;
    return own;
  }

  /** Appending is the common case, so the last chunk splits into a full one and a small one. */
  #split(c: number): void {
    const chunk = this.#chunks[c]!;
    const keep = c === this.#chunks.length - 1 ? chunkMax - firstCapacity : chunkMax / 2;
    const rest = new Int32Array(chunkMax);
    rest.set(chunk.subarray(keep, chunkMax));
    this.#chunks.splice(c + 1, 0, rest);
    this.#lengths.splice(c + 1, 0, chunkMax - keep);
    this.#owned?.splice(c + 1, 0, true);
    this.#lengths[c] = keep;
  }
}
