// Two Musters in one Slurm may have the same key: a name is anybody's, and the comment says whose.
import type { RunId } from '@muster/model';
import { expect, test } from 'vitest';
import { commentOf, KeyedJobs } from './keyed-jobs.ts';
import type { SlurmJob } from './listing.ts';

const run = 'run_000000000000000001_1' as RunId;
const uses = [{ node: 'n1', cpus: 1, memoryMib: 1, gres: '' }];
const job = (id: number, comment: string, name: string = run): SlurmJob =>
  ({ id, name, comment, state: 'RUNNING', phase: 'holds', uses }) as unknown as SlurmJob;

test('a job of the same key is ours by the mark in its comment', () => {
  const ours = job(1, commentOf(run, 'ours'));
  const jobs = new KeyedJobs([ours, job(2, commentOf(run, 'theirs')), job(3, run), job(4, '')], 'ours');
  expect(jobs.of(run)).toEqual([ours]);
  expect(jobs.all.filter((one) => jobs.isKeyed(one))).toEqual([ours]);
});

test("an id that claimed our key and is another's now is not taken for the claimant, nor for one that may live", () => {
  const jobs = new KeyedJobs(
    [job(2, commentOf(run, 'theirs')), job(3, commentOf(run, 'theirs'), 'x')],
    'ours',
  );
  expect(jobs.claimant(run, 2)).toBeUndefined();
  expect(jobs.mayLive(2, 'n1')).toBe(false);
  expect(jobs.mayLive(3, 'n1')).toBe(false);
});

test('the claimant is known by either mark', () => {
  const jobs = new KeyedJobs([job(2, 'edited'), job(3, commentOf(run, 'ours'), 'edited')], 'ours');
  expect(jobs.claimant(run, 2)?.id).toBe(2);
  expect(jobs.claimant(run, 3)?.id).toBe(3);
});
