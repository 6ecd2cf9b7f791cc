import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  allIndices,
  countOf,
  hasIndex,
  type IndexRange,
  rangesText,
  within,
  without,
  withRange,
} from './index-ranges.ts';

const indices = (ranges: readonly IndexRange[]): number[] =>
  ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
const range = fc.tuple(fc.nat(30), fc.nat(6)).map(([first, more]): IndexRange => [first, first + more]);
const change = fc.record({ add: fc.boolean(), range });

test('ranges are the set they stand for, ascending and never touching', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), range, (changes, asked) => {
      const set = new Set(indices(allIndices(20)));
      let ranges = allIndices(20);
      for (const { add, range: each } of changes) {
        ranges = add ? withRange(ranges, each) : without(ranges, each);
        for (const index of indices([each]))
          if (add) set.add(index);
          else set.delete(index);
      }
      const expected = [...set].sort((a, b) => a - b);
      expect(indices(ranges)).toEqual(expected);
      expect(countOf(ranges)).toBe(set.size);
      for (let i = 1; i < ranges.length; i++) expect(ranges[i]![0]).toBeGreaterThan(ranges[i - 1]![1] + 1);
      expect(indices(within(ranges, asked))).toEqual(expected.filter((i) => asked[0] <= i && i <= asked[1]));
      for (let i = 0; i < 40; i++) expect(hasIndex(ranges, i)).toBe(set.has(i));
    }),
  );
});

test('ranges read as people write them', () => {
  expect(
    rangesText([
      [0, 0],
      [3, 10],
    ]),
  ).toBe('0, 3-10');
  expect(
    rangesText(
      [
        [1, 1],
        [3, 3],
        [5, 5],
      ],
      2,
    ),
  ).toBe('1, 3, …');
});
