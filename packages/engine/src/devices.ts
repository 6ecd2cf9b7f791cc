// What is taken of each device of each node, and which ones a task gets. Bit i of a mask is device i, 32 to a word; a bit is
// set when anything of the device is taken.
//
// The rule for a part of a device: the fullest device that still has room for it, then the lowest; so parts share devices
// and whole ones stay whole. The rule for whole devices, which must be untouched: of the runs of consecutive free matching indices that hold the whole request, the shortest, and of equal ones
// the lowest, from its low end; if no run holds it, the lowest free matching indices. So small requests fill the gaps and
// neighbouring devices, which are the ones with fast links between them, stay together for larger ones.
//
// Under conservative backfill jobs that are planned again and again must find the same devices, whatever others take of the rest
// meanwhile (0007, section 6): `lowest` takes the lowest device with room for a part, and the lowest run that is long enough.

import { invariant, wholeDevice } from '@muster/model';
import { grown } from './columns.ts';

/** The devices of all nodes in one array, the same number of words for each node. */
export class DeviceMasks {
  words = new Uint32Array(0);
  /** Thousandths taken, 32 for each word. */
  milli = new Uint16Array(0);
  /** Words a node. */
  stride = 1;
  #nodes = 0;

  copy(): DeviceMasks {
    const other = this.emptied();
    other.words = this.words.slice();
    other.milli = this.milli.slice();
    return other;
  }

  /** Room for the same nodes and devices, with none taken. */
  emptied(): DeviceMasks {
    const other = new DeviceMasks();
    other.words = new Uint32Array(this.words.length);
    other.milli = new Uint16Array(this.milli.length);
    other.stride = this.stride;
    other.#nodes = this.#nodes;
    return other;
  }

  /** Room for a node at this slot, with nothing taken. */
  add(slot: number): void {
    this.#nodes = Math.max(this.#nodes, slot + 1);
    this.words = grown(this.words, this.#nodes * this.stride);
    this.words.fill(0, slot * this.stride, (slot + 1) * this.stride);
    this.milli = grown(this.milli, this.words.length * 32);
    this.milli.fill(0, slot * this.stride * 32, (slot + 1) * this.stride * 32);
  }

  /** Thousandths of the device that are taken. */
  taken(slot: number, index: number): number {
    return index < this.stride * 32 ? this.milli[slot * this.stride * 32 + index]! : 0;
  }

  /** Takes so much of a device, or gives it back when below 0; returns what was taken before. */
  change(slot: number, index: number, milli: number): number {
    if (index >= this.stride * 32) this.fit(index + 1);
    const at = slot * this.stride * 32 + index;
    const before = this.milli[at]!;
    const taken = before + milli;
    if (taken < 0 || taken > wholeDevice)
      invariant(false, `device ${index} is ${milli > 0 ? 'sold twice' : 'not sold'}`);
    this.milli[at] = taken;
    const word = slot * this.stride + (index >>> 5);
    const bit = 1 << (index & 31);
    if (taken > 0) this.words[word]! |= bit;
    else this.words[word]! &= ~bit;
    return before;
  }

  /** Makes every node's mask wide enough for so many devices. */
  fit(devices: number): void {
    const stride = (devices + 31) >>> 5;
    if (stride <= this.stride) return;
    const wider = new Uint32Array(this.#nodes * stride);
    for (let slot = 0; slot < this.#nodes; slot++)
      wider.set(this.words.subarray(slot * this.stride, (slot + 1) * this.stride), slot * stride);
    const milli = new Uint16Array(wider.length * 32);
    const devicesOf = this.stride * 32;
    for (let slot = 0; slot < this.#nodes; slot++)
      milli.set(this.milli.subarray(slot * devicesOf, (slot + 1) * devicesOf), slot * stride * 32);
    this.words = wider;
    this.milli = milli;
    this.stride = stride;
  }
}

/** The device that a part goes to, or -1. */
export function choosePart(
  taken: Uint16Array,
  from: number,
  total: number,
  match: Uint32Array | null,
  milli: number,
  lowest: boolean,
): number {
  let best = -1;
  for (let i = 0; i < total; i++) {
    if (match !== null && (match[i >>> 5]! & (1 << (i & 31))) === 0) continue;
    const used = taken[from + i]!;
    if (used + milli > wholeDevice) continue;
    if (lowest) return i;
    if (best < 0 || used > taken[from + best]!) best = i;
  }
  return best;
}

/** How many parts of this size the node's matching devices hold. */
export function countParts(
  taken: Uint16Array,
  from: number,
  total: number,
  match: Uint32Array | null,
  milli: number,
): number {
  let parts = 0;
  for (let i = 0; i < total; i++)
    if (match === null || (match[i >>> 5]! & (1 << (i & 31))) !== 0)
      parts += Math.floor((wholeDevice - taken[from + i]!) / milli);
  return parts;
}

/** Writes the chosen indices to `out`, from `at`. `from` is where the node's words begin in `taken`. */
export function chooseDevices(
  taken: Uint32Array,
  from: number,
  total: number,
  match: Uint32Array | null,
  count: number,
  out: Int32Array,
  at: number,
  lowest: boolean,
): void {
  const first =
    total <= 32
      ? runInWord(freeInWord(taken[from]!, total, match), count, lowest)
      : runOf(taken, from, total, match, count, lowest);
  if (first >= 0) {
    for (let i = 0; i < count; i++) out[at + i] = first + i;
    return;
  }
  let filled = 0;
  for (let i = 0; i < total && filled < count; i++) if (isFree(taken, from, match, i)) out[at + filled++] = i;
}

/** Where the run begins that a request gets, or -1. */
function runOf(
  taken: Uint32Array,
  from: number,
  total: number,
  match: Uint32Array | null,
  count: number,
  lowest: boolean,
): number {
  let bestStart = -1;
  let bestLength = total + 1;
  let start = 0;
  for (let i = 0; i <= total; i++) {
    if (i < total && isFree(taken, from, match, i)) continue;
    const length = i - start;
    if (length >= count && length < bestLength) {
      bestStart = start;
      bestLength = length;
      if (lowest || length === count) break;
    }
    start = i + 1;
  }
  return bestStart;
}

/** The same among the bits of one word, run by run and not device by device: most nodes have no more. */
function runInWord(free: number, count: number, lowest: boolean): number {
  let bestStart = -1;
  let bestLength = 33;
  for (let left = free; left !== 0; ) {
    const start = lowestBit(left);
    const taken = ~(left >> start);
    const length = taken === 0 ? 32 - start : lowestBit(taken);
    if (length >= count && length < bestLength) {
      bestStart = start;
      bestLength = length;
      if (lowest || length === count) break;
    }
    left = start + length < 32 ? left & (-1 << (start + length)) : 0;
  }
  return bestStart;
}

function freeInWord(taken: number, total: number, match: Uint32Array | null): number {
  const all = total === 32 ? -1 : (1 << total) - 1;
  return ~taken & all & (match === null ? -1 : match[0]!);
}

/** The place of the lowest bit of a word that is not 0. */
function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
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
