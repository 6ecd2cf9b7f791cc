// Which devices of a node a task gets. Bit i of a mask is device i, 32 to a word.
//
// The rule: of the runs of consecutive free matching indices that hold the whole request, the shortest, and of equal ones
// the lowest, from its low end; if no run holds it, the lowest free matching indices. So small requests fill the gaps and
// neighbouring devices, which are the ones with fast links between them, stay together for larger ones.

/** Appends nothing and allocates only its answer. `from` is where the node's words begin in `taken`. */
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
