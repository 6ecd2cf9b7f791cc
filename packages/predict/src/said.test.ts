import { expect, test } from 'vitest';
import type { Estimate } from './run-times.ts';
import { saidOf } from './said.ts';

test('what is told of a job has two digits, and is at least a millisecond', () => {
  const told = (expectedMs: number, p90Ms: number) =>
    saidOf({ expectedMs, p50Ms: 1, p90Ms, kin: 'any job', runs: 1 } satisfies Estimate);
  expect(told(1_234_567, 99)).toEqual({ expectedMs: 1_200_000, p90Ms: 99 });
  expect(told(0, 995)).toEqual({ expectedMs: 1, p90Ms: 1000 });
});
