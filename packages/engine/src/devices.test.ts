import { describe, expect, test } from 'vitest';
import { chooseDevices as chooseInto, choosePart, countFree, countParts } from './devices.ts';

const mask = (...indices: number[]): Uint32Array => {
  const words = new Uint32Array(2);
  for (const i of indices) words[i >>> 5]! |= 1 << (i & 31);
  return words;
};

const chooseDevices = (
  taken: Uint32Array,
  from: number,
  total: number,
  match: Uint32Array | null,
  count: number,
  lowest = false,
): number[] => {
  const out = new Int32Array(count + 1);
  chooseInto(taken, from, total, match, count, out, 1, lowest);
  return [...out.subarray(1)];
};

describe('the devices of a task', () => {
  test.each<[string, number[], number, number[]]>([
    ['the lowest of an empty node', [], 2, [0, 1]],
    ['the gap that fits exactly, before a longer one', [5], 2, [6, 7]],
    ['the shortest gap that is long enough', [3, 6], 2, [4, 5]],
    ['the lower of two equal gaps', [2, 3, 6, 7], 2, [0, 1]],
    ['the lowest free ones when no gap is long enough', [1, 3, 5, 7], 3, [0, 2, 4]],
    ['all of them', [], 8, [0, 1, 2, 3, 4, 5, 6, 7]],
  ])('are %s', (_, taken, count, expected) => {
    expect(chooseDevices(mask(...taken), 0, 8, null, count)).toEqual(expected);
  });

  test.each<[string, number[], number, number[]]>([
    ['the lowest gap that is long enough', [5], 2, [0, 1]],
    ['a later one when the lowest is too short', [1, 5], 2, [2, 3]],
    ['the lowest free ones when no gap is long enough', [1, 3, 5, 7], 3, [0, 2, 4]],
  ])('are, where they must stay the same, %s', (_, taken, count, expected) => {
    expect(chooseDevices(mask(...taken), 0, 8, null, count, true)).toEqual(expected);
  });

  test('are only those that match, and neighbours only where both match', () => {
    expect(chooseDevices(mask(), 0, 8, mask(1, 4, 5), 2)).toEqual([4, 5]);
    expect(chooseDevices(mask(4), 0, 8, mask(1, 4, 5, 7), 2)).toEqual([1, 5]);
  });

  test('may have indices beyond the first word', () => {
    const taken = mask(...Array.from({ length: 31 }, (_, i) => i));
    expect(chooseDevices(taken, 0, 40, null, 4)).toEqual([31, 32, 33, 34]);
    expect(countFree(taken, 0, mask(30, 31, 32, 63))).toBe(3);
  });
});

describe('a part of a device', () => {
  const taken = Uint16Array.of(0, 300, 700, 700, 0);

  test.each([
    [300, 2],
    [301, 1],
    [700, 1],
    [701, 0],
  ])('of %i thousandths goes to the fullest device with room, then the lowest', (milli, index) => {
    expect(choosePart(taken, 0, 5, null, milli, false)).toBe(index);
  });

  test('goes, where it must stay the same, to the lowest device with room', () => {
    expect(choosePart(taken, 0, 5, null, 300, true)).toBe(0);
    expect(choosePart(taken, 1, 4, null, 301, true)).toBe(0);
    expect(choosePart(taken, 1, 3, null, 701, true)).toBe(-1);
  });

  test('goes only to devices that match', () => {
    expect(choosePart(taken, 0, 5, mask(0, 4), 300, false)).toBe(0);
    expect(choosePart(taken, 1, 3, null, 701, false)).toBe(-1);
  });

  test('fits as often as the free parts of each device hold it', () => {
    expect(countParts(taken, 0, 5, null, 300)).toBe(3 + 2 + 1 + 1 + 3);
    expect(countParts(taken, 0, 5, mask(1, 2), 300)).toBe(3);
  });
});
