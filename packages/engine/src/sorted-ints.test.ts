import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SortedInts } from './sorted-ints.ts';

const keys = new Int32Array(2000);
const compare = (a: number, b: number): number => keys[a]! - keys[b]! || a - b;

function items(list: SortedInts): number[] {
  const found: number[] = [];
  for (let p = list.first(); p >= 0; p = list.next(p)) found.push(list.at(p));
  return found;
}

describe('a sorted list', () => {
  test('agrees with a sorted array through inserts, removals and moves', () => {
    const change = fc.record({ item: fc.nat(1999), key: fc.nat(50) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 1500, size: 'max' }), (changes) => {
        const list = new SortedInts(compare);
        const present = new Set<number>();
        for (const { item, key } of changes) {
          if (!present.has(item)) {
            keys[item] = key;
            list.insert(item);
            present.add(item);
          } else if (key % 2 === 0) {
            list.remove(item);
            present.delete(item);
          } else {
            const position = list.find(item);
            keys[item] = key;
            list.moved(position);
          }
        }
        const expected = [...present].sort(compare);
        expect(items(list)).toEqual(expected);
        expect(list.size).toBe(expected.length);
        for (const least of [0, 7, 25, 50, 51]) {
          const position = list.lowerBound(keys, least);
          const index = expected.findIndex((item) => keys[item]! >= least);
          expect(position < 0 ? -1 : list.countBefore(position)).toBe(index);
          const before = expected.filter((item) => keys[item]! < least).length;
          expect(list.countWhile((item) => keys[item]! < least)).toBe(before);
        }
        for (const [i, item] of expected.entries()) if (i % 97 === 0) expect(list.rank(item)).toBe(i);
        expect(items(list.copy(compare))).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });

  test('a copy and what it was copied from go their own ways', () => {
    keys.fill(0);
    const change = fc.record({ on: fc.nat(2), item: fc.nat(999), copy: fc.nat(60) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 1500, size: 'max' }), (changes) => {
        const lists = [0, 1, 2].map(() => new SortedInts(compare));
        const sets = [0, 1, 2].map(() => new Set<number>());
        for (let i = 0; i < 900; i++) {
          lists[0]!.insert(i);
          sets[0]!.add(i);
        }
        for (const { on, item, copy } of changes) {
          if (copy < 3) {
            lists[copy] = lists[on]!.copy(compare);
            sets[copy] = new Set(sets[on]!);
          } else if (sets[on]!.delete(item)) lists[on]!.remove(item);
          else {
            lists[on]!.insert(item);
            sets[on]!.add(item);
          }
        }
        for (const [i, list] of lists.entries()) expect(items(list)).toEqual([...sets[i]!].sort(compare));
      }),
      { numRuns: 50 },
    );
  });

  test('walks backwards as it walks forwards', () => {
    keys.fill(0);
    const list = new SortedInts(compare);
    for (let i = 0; i < 1000; i++) list.insert((i * 7) % 1000);
    const back: number[] = [];
    for (let p = list.last(); p >= 0; p = list.previous(p)) back.push(list.at(p));
    expect(back).toEqual(items(list).reverse());
  });

  test('refuses to remove what is not in it', () => {
    const list = new SortedInts(compare);
    expect(() => list.remove(1)).toThrow('not in its sorted list');
  });
});
