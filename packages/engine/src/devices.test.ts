import { describe, expect, test } from 'vitest';
import { chooseDevices, countFree } from './devices.ts';

const mask = (...indices: number[]): Uint32Array => {
  const words = new Uint32Array(2);
  for (const i of indices) words[i >>> 5]! |= 1 << (i & 31);
  return words;
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
