import { expect, test } from 'vitest';
import { parseGres } from './gres.ts';

test('generic resources of nodes and of jobs are read, with or without a type', () => {
  expect(parseGres('gpu:h100:4(S:0-1),shard:8')).toEqual([
    { name: 'gpu', type: 'h100', count: 4 },
    { name: 'shard', type: '', count: 8 },
  ]);
  expect(parseGres('gpu:a100:2(IDX:0-1,3),gpu:1(IDX:4)')).toEqual([
    { name: 'gpu', type: 'a100', count: 2 },
    { name: 'gpu', type: '', count: 1 },
  ]);
  expect([parseGres(''), parseGres('(null)')]).toEqual([[], []]);
});

test.each(['gpu', 'gpu:', 'gpu:h100:-1', 'gpu:h100:4K', 'gpu:h100:4,', 'gpu:1.5', '4', 'gpu:h100:4(S:0'])(
  '%s is refused, not guessed',
  (text) => {
    expect(() => parseGres(text)).toThrow(/cannot read the generic resource/);
  },
);
