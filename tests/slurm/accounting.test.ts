// Row F25 of the fault matrix, on a real slurmdbd and MariaDB: what the controller has forgotten is told as the accounting knows it,
// and where that is gone, slow or cannot be read, as before there was any.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createSlurmDriver,
  localRunDirectories,
  type SlurmDriver,
  slurmCommands,
} from '@muster/drivers/slurm';
import { testInstallation, testOwnership } from '@muster/drivers/testing';
import type { NodeId, RunId, TaskExit } from '@muster/model';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';
import { accepted, freshRun, shellTask, submit } from '../harness/runs.ts';

const withinMs = 120_000;

onSlurm(
  'a Slurm with accounting',
  (slurm) => {
    let driver: SlurmDriver;
    beforeAll(() => {
      driver = driverWith();
    });
    afterEach(async () => {
      slurm().accounting?.slurmdbd.signal('SIGCONT');
    });

    /** Nobody looks through it unless a test does, as while no server is there. */
    function driverWith(path = slurm().env.PATH as string): SlurmDriver {
      return createSlurmDriver({
        // Some tests wait for it to pass; sacct was seen to need more than four seconds on an idle machine.
        commands: slurmCommands({ env: { ...slurm().env, PATH: path }, timeoutMs: 20_000 }),
        installation: testInstallation,
        directories: localRunDirectories(slurm().shared, testOwnership()),
        nodeName: () => 'n1',
        billing: () => ({}),
      });
    }

    const subjectOf = (one: SlurmDriver) => ({
      driver: one,
      node: 'node_x' as NodeId,
      nodeOf: () => 'node_x' as NodeId,
      observed: () => [],
      forbid: () => {},
      close: async () => {},
    });
    const start = (run: RunId, script: string, more = {}) =>
      submit(subjectOf(driver), run, { n1: [shellTask(0, script, more)] });
    const file = (run: RunId, name: string): string => join(slurm().shared, 'runs', run, name);
    const begun = (run: RunId) =>
      eventually(`${run} begins`, withinMs, () => existsSync(file(run, 'claim/started-0')));
    const listed = (run: RunId) => slurm().command('squeue', '--noheader', '--states=all', `--name=${run}`);
    const forgotten = (run: RunId) =>
      eventually(`the controller forgets ${run}`, withinMs, async () => (await listed(run)) === '');
    const exitOf = (run: RunId, by = driver): Promise<TaskExit> =>
      eventually(`the end of ${run} is told`, withinMs, async () => {
        const { reports } = await by.look();
        return reports.find((report) => report.run === run)?.exit;
      });

    /** Ended by an outside hand, script and all, and forgotten by the controller. */
    async function endedByHand(...how: string[]): Promise<RunId> {
      const run = freshRun();
      expect(await start(run, 'sleep 600')).toEqual([accepted]);
      await begun(run);
      await slurm().command('scancel', ...how, `--name=${run}`);
      await forgotten(run);
      return run;
    }

    const byRoot = {
      ok: false,
      class: 'cancelled',
      reason: {
        code: 'cancelled-in-slurm',
        message: 'cancelled in Slurm by root, not through Muster',
      },
    };

    /** As by a Slurm that keeps no accounting. */
    const unexplained = {
      ok: false,
      class: 'infrastructure',
      reason: { code: 'forgotten', message: expect.stringContaining('its accounting did not answer') },
    };

    it('F25, F30: tells who cancelled a job while nobody looked, after the controller forgot it', async () => {
      expect(await exitOf(await endedByHand())).toMatchObject(byRoot);
    });

    it('F30: tells who cancelled a job that the controller still lists, though its accounting hears of it later', async () => {
      const run = freshRun();
      await start(run, 'sleep 600');
      await begun(run);
      await slurm().command('scancel', `--name=${run}`);
      expect(await exitOf(run)).toMatchObject(byRoot);
    });

    it('F25: does not start a job again that was cancelled while it waited, and forgotten', async () => {
      const [blocker, run] = [freshRun(), freshRun()];
      await start(blocker, 'sleep 600', { cpuMilli: 8000 });
      await begun(blocker);
      expect(await start(run, 'echo never', { cpuMilli: 8000 })).toEqual([accepted]);
      // It learns that there is accounting, as a server that leads does.
      await driver.look();
      await slurm().command('scancel', `--name=${run}`);
      await forgotten(run);
      expect(await start(run, 'echo never', { cpuMilli: 8000 })).toEqual([accepted]);
      expect(await exitOf(run)).toMatchObject(byRoot);
      expect(await listed(run)).toBe('');
      await slurm().command('scancel', `--name=${blocker}`);
    });

    it('F25: a slurmdbd that hangs delays neither looks nor jobs; what it would have told is told without it', async () => {
      const run = await endedByHand('--signal=KILL', '--full');
      slurm().accounting?.slurmdbd.signal('SIGSTOP');
      const other = freshRun();
      await start(other, 'true');
      expect(await exitOf(other)).toEqual({ ok: true });
      expect(await exitOf(run)).toMatchObject(unexplained);
    });

    it('F25: the same where it is gone, and what its accounting holds is told once it is back', async () => {
      const run = await endedByHand('--signal=KILL', '--full');
      await slurm().accounting?.slurmdbd.end('SIGKILL');
      expect(await exitOf(run)).toMatchObject(unexplained);
      slurm().accounting?.slurmdbd.start();
      await eventually('slurmdbd answers', withinMs, async () =>
        (await slurm().command('sacct', '--noheader', `--name=${run}`, '--format=state')).includes(
          'CANCELLED',
        ),
      );
      expect(await exitOf(run, driverWith())).toMatchObject(byRoot);
    });

    it('F25: believes no sacct that it cannot read', async () => {
      const run = await endedByHand('--signal=KILL', '--full');
      const scripts = {
        table: 'echo "JobID|State"; echo "5|COMPLETED"',
        newer: 'echo \'{"jobs": [{"job_id": {"number": 5}, "state": ["COMPLETED"]}]}\'',
        german: 'echo "sacct: Fehler: Verbindung abgelehnt" >&2; exit 1',
        silent: 'true',
        long: 'exec head -c 2000000 /dev/zero',
      };
      for (const [name, script] of Object.entries(scripts)) {
        const shims = join(slurm().dir, name);
        mkdirSync(shims);
        writeFileSync(join(shims, 'sacct'), `#!/bin/sh\n${script}\n`);
        chmodSync(join(shims, 'sacct'), 0o755);
        expect(await exitOf(run, driverWith(`${shims}:${slurm().env.PATH}`)), name).toMatchObject(
          unexplained,
        );
      }
      expect(await exitOf(run, driverWith())).toMatchObject(byRoot);
    });
  },
  { accounting: true },
);
