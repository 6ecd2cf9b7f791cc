import { expect, test } from 'vitest';
import { fewAtOnce } from './few-at-once.ts';

test('so many run at once, all in their order, and a failure gives its place back', async () => {
  const two = fewAtOnce(2);
  const begun: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const calls = [0, 1, 2, 3].map((i) =>
    two(() => {
      begun.push(i);
      return new Promise<number>((resolve, reject) => {
        ends[i] = (error) => (error ? reject(error) : resolve(i));
      });
    }),
  );
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual([0, 1]);
  ends[1]?.(new Error('no'));
  await expect(calls[1]).rejects.toThrow('no');
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual([0, 1, 2]);
  ends[0]?.();
  ends[2]?.();
  await new Promise((resolve) => setImmediate(resolve));
  ends[3]?.();
  expect(await Promise.all([calls[0], calls[2], calls[3]])).toEqual([0, 2, 3]);
  expect(await two(async () => 'free again')).toBe('free again');
});
