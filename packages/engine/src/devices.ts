// Which devices of which node are taken, and which ones a task gets. Bit i of a mask is device i, 32 to a word.
//
// The rule: of the runs of consecutive free matching indices that hold the whole request, the shortest, and of equal ones
// the lowest, from its low end; if no run holds it, the lowest free matching indices. So small requests fill the gaps and
// neighbouring devices, which are the ones with fast links between them, stay together for larger ones.

import { invariant } from '@muster/model';
import { grown } from './columns.ts';

/** The taken devices of all nodes in one array, the same number of words for each node. */
export class DeviceMasks {
  words = new Uint32Array(0);
  /** Words a node. */
  stride = 1;
  #nodes = 0;

  copy(): DeviceMasks {
    const other = this.emptied();
    other.words = this.words.slice();
    return other;
  }

  /** Room for the same nodes and devices, with none taken. */
  emptied(): DeviceMasks {
    const other = new DeviceMasks();
    other.words = new Uint32Array(this.words.length);
    other.stride = this.stride;
    other.#nodes = this.#nodes;
    return other;
  }

  /** Room for a node at this slot, with nothing taken. */
  add(slot: number): void {
    this.#nodes = Math.max(this.#nodes, slot + 1);
    this.words = grown(this.words, this.#nodes * this.stride);
    this.words.fill(0, slot * this.stride, (slot + 1) * this.stride);
  }

  isTaken(slot: number, index: number): boolean {
    const word = index >>> 5;
    return word < this.stride && (this.words[slot * this.stride + word]! & (1 << (index & 31))) !== 0;
  }

  /** Takes a free device or gives a taken one back. */
  set(slot: number, index: number, taken: boolean): void {
    this.fit(index + 1);
    invariant(this.isTaken(slot, index) !== taken, `device ${index} is ${taken ? 'sold twice' : 'not sold'}`);
    this.words[slot * this.stride + (index >>> 5)]! ^= 1 << (index & 31);
  }

  /** Makes every node's mask wide enough for so many devices. */
  fit(devices: number): void {
    const stride = (devices + 31) >>> 5;
    if (stride <= this.stride) return;
    const wider = new Uint32Array(this.#nodes * stride);
    for (let slot = 0; slot < this.#nodes; slot++)
      wider.set(this.words.subarray(slot * this.stride, (slot + 1) * this.stride), slot * stride);
    this.words = wider;
    this.stride = stride;
  }
}

/** Allocates only its answer. `from` is where the node's words begin in `taken`. */
export function chooseDevices(
  taken: Uint32Array,
  from: number,
  total: number,
  match: Uint32Array | null,
  count: number,
): number[] {
  let bestStart = -1;
  let bestLength = total + 1;
  let start = 0;
  for (let i = 0; i <= total; i++) {
    if (i < total && isFree(taken, from, match, i)) continue;
    const length = i - start;
    if (length >= count && length < bestLength) {
      bestStart = start;
      bestLength = length;
      if (length === count) break;
    }
    start = i + 1;
  }
  const chosen: number[] = new Array(count);
  if (bestStart >= 0) {
    for (let i = 0; i < count; i++) chosen[i] = bestStart + i;
    return chosen;
  }
  let filled = 0;
  for (let i = 0; i < total && filled < count; i++) if (isFree(taken, from, match, i)) chosen[filled++] = i;
  return chosen;
}

function isFree(taken: Uint32Array, from: number, match: Uint32Array | null, index: number): boolean {
  const word = index >>> 5;
  const bit = 1 << (index & 31);
  return (taken[from + word]! & bit) === 0 && (match === null || (match[word]! & bit) !== 0);
}

/** Free devices among those of a mask. */
export function countFree(taken: Uint32Array, from: number, match: Uint32Array): number {
  let count = 0;
  for (let word = 0; word < match.length; word++) count += popCount(match[word]! & ~taken[from + word]!);
  return count;
}

function popCount(word: number): number {
  let w = word - ((word >>> 1) & 0x55555555);
  w = (w & 0x33333333) + ((w >>> 2) & 0x33333333);
  return Math.imul((w + (w >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
