import type { RunId } from '@muster/model';
import { expect, test } from 'vitest';
import type { SlurmJob } from './listing.ts';
import { slurmJob } from './testing/slurm-job.ts';
import { Waits } from './waits.ts';

const run = 'run_000000000000000001_1' as RunId;

/** A server that looks since second 100, and whether it finds the job overdue at a second. */
function watch() {
  const waits = new Waits(60);
  waits.overdue(new Set(), 100);
  return (nowS: number, more: Partial<SlurmJob> = {}): string => {
    const job = slurmJob(run, { state: 'PENDING', phase: 'waits', reason: 'Resources', ...more });
    return [...waits.overdue(new Set([job]), nowS)].map(([key, why]) => `${key} ${why}`).join();
  };
}

test('a job of ours that waits for longer than a minute is overdue, a heterogeneous one after ten', () => {
  const at = watch();
  expect(at(160)).toBe('');
  expect(at(161)).toBe(`${run} Resources`);
  expect(at(161, { phase: 'holds' })).toBe('');
  expect(at(161, { partOf: 7 })).toBe('');
  expect(at(701, { partOf: 7 })).toBe(`${run} Resources`);
});

test('one that somebody keeps is not overdue, and has its minute once it is let go', () => {
  for (const kept of [
    { reason: 'JobHeldUser' },
    { reason: 'BeginTime', eligibleS: 10_000 },
    { reason: 'Dependency' },
  ]) {
    const at = watch();
    expect(at(5000, kept)).toBe('');
    expect(at(5060)).toBe('');
    expect(at(5061)).toBe(`${run} Resources`);
  }
});

test('a delay that passes by itself is not counted', () => {
  const at = watch();
  expect(at(1060, { eligibleS: 1000 })).toBe('');
  expect(at(1061, { eligibleS: 1000 })).toBe(`${run} Resources`);
});

test('a server that begins to look waits a minute itself: what went before it has not seen', () => {
  const waits = new Waits(60);
  const job = slurmJob(run, { state: 'PENDING', phase: 'waits', reason: 'Resources' });
  expect(waits.overdue(new Set([job]), 9000).size).toBe(0);
  expect(waits.overdue(new Set([job]), 9061).size).toBe(1);
});
