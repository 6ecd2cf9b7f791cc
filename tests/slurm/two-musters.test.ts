// Two Musters that use one Slurm, with the same key on both sides: neither stops, adopts, forgets or tells of what is the other's.
import { mkdirSync, symlinkSync } from 'node:fs';
import { testOwnership } from '@muster/drivers/testing';
import type { RunId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';
import { accepted, cancel, ended, freshRun, shellTask, started, submit } from '../harness/runs.ts';
import { type SlurmSubject, slurmSubject } from '../harness/slurm-subject.ts';

onSlurm('a Slurm that two Musters use', (slurm) => {
  const theirs = testOwnership('00000000-0000-4000-8000-000000000002', 'west');
  let ours: SlurmSubject;
  beforeAll(() => {
    ours = slurmSubject(slurm());
  });
  afterAll(() => ours.close());

  const told = async ({ driver }: SlurmSubject, run: RunId): Promise<string[]> =>
    (await driver.look()).reports.filter((one) => one.run === run).map(({ state }) => state);
  const names = async (): Promise<string> =>
    slurm().command('squeue', '--noheader', '--states=RUNNING', '--format=%j');

  it('runs the same key for both, each in a directory of its own, and takes the other for use of others', async () => {
    const directory = `${slurm().shared}-of-theirs`;
    mkdirSync(directory, { mode: 0o700 });
    const other = slurmSubject(slurm(), { ownership: theirs, directory });
    try {
      const run = freshRun();
      const sleeps = { n1: [shellTask(0, 'exec sleep 600', { cpuMilli: 2000 })] };
      expect(await submit(ours, run, sleeps)).toEqual([accepted]);
      await started(ours, run);
      expect(await told(other, run)).toEqual([]);
      expect(await other.driver.find(other.node, run)).toEqual([]);
      expect((await other.driver.look()).taken.get('n1')?.cpus).toBe(2);
      // A stop of what the other never started leaves ours alone.
      const stopped = freshRun();
      expect(await submit(ours, stopped, sleeps)).toEqual([accepted]);
      await started(ours, stopped);
      expect(await cancel(other, stopped)).toEqual(accepted);
      expect(await submit(other, run, sleeps)).toEqual([accepted]);
      await started(other, run);
      expect((await ours.driver.look()).taken.get('n1')?.cpus).toBe(2);
      expect(await cancel(other, run)).toEqual(accepted);
      expect(await ended(other, run)).toMatchObject([{ class: 'cancelled', reason: { message: 'asked' } }]);
      await other.driver.forget(run);
      for (const one of [run, stopped]) expect(await told(ours, one)).toEqual(['running']);
      // Its job is over a moment after its task.
      const left = [run, stopped].toSorted().join();
      await eventually(
        'what is ours goes on, alone',
        30_000,
        async () => (await names()).trim().split('\n').toSorted().join() === left,
      );
      for (const one of [run, stopped]) expect(await cancel(ours, one)).toEqual(accepted);
      for (const one of [run, stopped])
        expect(await ended(ours, one)).toMatchObject([{ reason: { message: 'asked' } }]);
    } finally {
      await other.close();
    }
  });

  it('touches nothing in a directory that is the other one, by whatever path it comes there', async () => {
    const run = freshRun();
    expect(await submit(ours, run, { n1: [shellTask(0, 'exec sleep 600')] })).toEqual([accepted]);
    await started(ours, run);
    const directory = `${slurm().shared}-link`;
    symlinkSync(slurm().shared, directory);
    const other = slurmSubject(slurm(), { ownership: theirs, directory });
    try {
      await expect(other.driver.look()).rejects.toThrow(
        `the directory ${directory} holds the runs of another Muster: cluster alpha of the server at https://muster.test`,
      );
      expect(await cancel(other, run)).toEqual({ outcome: 'unknown' });
      const fresh = freshRun();
      expect(await submit(other, fresh, { n1: [shellTask(0, 'true')] })).toEqual([{ outcome: 'unknown' }]);
      expect(await other.driver.find(other.node, run)).toBeNull();
      await expect(other.driver.forget(run)).rejects.toThrow('another Muster');
      expect(await told(ours, run)).toEqual(['running']);
      await eventually('nothing else runs', 30_000, async () => (await names()).trim() === run);
      expect(await cancel(ours, run)).toEqual(accepted);
      expect(await ended(ours, run)).toMatchObject([{ reason: { message: 'asked' } }]);
    } finally {
      await other.close();
    }
  });
});
