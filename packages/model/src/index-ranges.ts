// Sets of indices as ranges: a million waiting members of an array are one pair of numbers. Ranges are closed, ascending and
// never touch each other.

export type IndexRange = readonly [first: number, last: number];
export type IndexRanges = readonly IndexRange[];

export function allIndices(count: number): IndexRanges {
  return count === 0 ? [] : [[0, count - 1]];
}

export function countOf(ranges: IndexRanges): number {
  let count = 0;
  for (const [first, last] of ranges) count += last - first + 1;
  return count;
}

export function hasIndex(ranges: IndexRanges, index: number): boolean {
  return ranges.some(([first, last]) => first <= index && index <= last);
}

/** What is in both. */
export function within(ranges: IndexRanges, [from, to]: IndexRange): IndexRanges {
  return ranges.flatMap(([first, last]): IndexRange[] =>
    first <= to && from <= last ? [[Math.max(first, from), Math.min(last, to)]] : [],
  );
}

export function without(ranges: IndexRanges, [from, to]: IndexRange): IndexRanges {
  const [lowest] = ranges;
  // Members start lowest first, so that this is nearly always the case.
  if (lowest && lowest[0] === from && lowest[1] > to) return [[to + 1, lowest[1]], ...ranges.slice(1)];
  return ranges.flatMap(([first, last]): IndexRange[] => {
    if (last < from || to < first) return [[first, last]];
    const left: IndexRange[] = [];
    if (first < from) left.push([first, from - 1]);
    if (to < last) left.push([to + 1, last]);
    return left;
  });
}

export function withRange(ranges: IndexRanges, added: IndexRange): IndexRanges {
  const sorted = [...without(ranges, added), added].sort((a, b) => a[0] - b[0]);
  const joined: [number, number][] = [];
  for (const [first, last] of sorted) {
    const before = joined.at(-1);
    if (before && before[1] + 1 === first) before[1] = last;
    else joined.push([first, last]);
  }
  return joined;
}

/** "3-10, 12"; more than a few are cut. */
export function rangesText(ranges: IndexRanges, most = 8): string {
  const shown = ranges
    .slice(0, most)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return ranges.length > most ? `${shown.join(', ')}, …` : shown.join(', ');
}
