// Faults of a real Slurm that the driver has to survive: F21, F22 and F23 of the fault matrix, as far as a driver alone can tell.
// Every run appends a line to a side file when it begins: whatever happens, there is never a second one.

import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSlurmDriver, localRunDirectories, slurmCommands } from '@muster/drivers/slurm';
import { processesWith, testInstallation, testOwnership } from '@muster/drivers/testing';
import type { NodeId, RunId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';
import { accepted, cancel, ended, freshRun, shellTask, submit } from '../harness/runs.ts';
import { type SlurmSubject, slurmSubject } from '../harness/slurm-subject.ts';

/** One of them here, because each costs half a minute; 50 with MUSTER_KILLS=50. */
const kills = Number(process.env.MUSTER_KILLS ?? 1);

onSlurm('a Slurm that fails', (slurm) => {
  let subject: SlurmSubject;
  beforeAll(() => {
    subject = slurmSubject(slurm());
    writeFileSync(sideFile(), '');
  });
  afterAll(() => subject.close());

  const sideFile = (): string => join(slurm().shared, 'side');
  const begins = (run: RunId): number =>
    readFileSync(sideFile(), 'utf8')
      .split('\n')
      .filter((line) => line === run).length;
  const proving = (run: RunId, then = 'true') => ({
    n1: [shellTask(0, `echo ${run} >> ${sideFile()}; ${then}`)],
  });

  async function restart(...args: string[]): Promise<void> {
    await slurm().controller.end('SIGKILL');
    slurm().controller.start(...args);
    await slurm().ready();
  }

  /** Sends it until the cluster holds it, as the control plane does: what is not there is sent again. */
  async function insist(run: RunId): Promise<void> {
    await eventually(`${run} is held`, 60_000, async () => {
      const held = await subject.driver.find(subject.node, run);
      if (held === null) return false;
      if (held.length === 0) await submit(subject, run, proving(run, 'sleep 0.1'));
      return held.length > 0;
    });
  }

  it(`loses no run and starts none twice when the controller is killed after an answer (${kills}x)`, async () => {
    for (let kill = 0; kill < kills; kill++) {
      const runs = [freshRun(), freshRun(), freshRun()];
      for (const run of runs)
        expect(await submit(subject, run, proving(run, 'sleep 0.1'))).toEqual([accepted]);
      await restart();
      for (const run of runs) {
        await insist(run);
        const [exit] = await ended(subject, run);
        if (exit?.ok) expect(begins(run)).toBe(1);
        else {
          // Begun, forgotten and ended by its node: the next attempt has another key.
          expect(exit).toMatchObject({ class: 'infrastructure', reason: { code: 'forgotten' } });
          expect(begins(run)).toBeLessThanOrEqual(1);
        }
      }
    }
  });

  it('runs a job once whose submit was not answered and sent again', async () => {
    const run = freshRun();
    const impatient = createSlurmDriver({
      commands: slurmCommands({ env: slurm().env, timeoutMs: 1500 }),
      installation: testInstallation,
      directories: localRunDirectories(slurm().shared, testOwnership()),
      nodeName: () => 'n1',
      billing: () => ({}),
    });
    // It has seen the nodes: what times out is the submit itself.
    await impatient.look();
    slurm().controller.signal('SIGSTOP');
    try {
      const hasty = { ...subject, driver: impatient };
      expect(await submit(hasty, run, proving(run))).toEqual([{ outcome: 'unknown' }]);
      expect(await submit(hasty, run, proving(run))).toEqual([{ outcome: 'unknown' }]);
      expect(await impatient.find('node_x' as NodeId, run)).toBeNull();
    } finally {
      slurm().controller.signal('SIGCONT');
    }
    await insist(run);
    expect(await ended(subject, run)).toEqual([{ ok: true }]);
    expect(begins(run)).toBe(1);
  });

  it('never starts what was stopped while the controller did not answer', async () => {
    const run = freshRun();
    slurm().controller.signal('SIGSTOP');
    const answers = Promise.all([submit(subject, run, proving(run)), cancel(subject, run)]);
    await eventually('the stop lies there', 10_000, async () => {
      const seen = await localRunDirectories(slurm().shared, testOwnership()).evidence(run);
      return seen?.stop !== null && seen?.claim !== null;
    });
    slurm().controller.signal('SIGCONT');
    await answers;
    expect(await ended(subject, run)).toMatchObject([{ ok: false, class: 'cancelled' }]);
    await eventually('no job of it is left', 60_000, async () => {
      const states = ['--states=PENDING,RUNNING,COMPLETING'];
      return (await slurm().command('squeue', '--noheader', `--name=${run}`, ...states)) === '';
    });
    expect(begins(run)).toBe(0);
  });

  it.each([
    ['stopped', { class: 'cancelled', reason: { code: 'stopped' } }],
    ['left alone', { class: 'infrastructure', reason: { code: 'forgotten' } }],
  ] as const)(
    'tells the end of a run that is %s, and that a controller which lost its start has for waiting, once it is over',
    async (what, end) => {
      const run = freshRun();
      const seconds = `600.${process.pid}${what.length}`;
      const state = join(slurm().dir, 'state', 'job_state');
      const waits = join(slurm().dir, `waits-${what.length}`);
      await slurm().command('scontrol', 'update', 'nodename=n1', 'state=drain', 'reason=later');
      await submit(subject, run, proving(run, `exec sleep ${seconds}`));
      await eventually('that it waits is written', 60_000, () => {
        return existsSync(state) && readFileSync(state, 'latin1').includes(run);
      });
      cpSync(state, waits);
      await slurm().command('scontrol', 'update', 'nodename=n1', 'state=resume');
      await eventually('it began', 60_000, () => begins(run) === 1);
      await slurm().controller.end('SIGKILL');
      cpSync(waits, state);
      slurm().controller.start();
      if (what === 'stopped')
        await eventually('a stop is taken', 60_000, async () => {
          return (await cancel(subject, run)).outcome === 'accepted';
        });
      expect(await ended(subject, run)).toMatchObject([end]);
      expect(processesWith(seconds)).toEqual([]);
      expect(begins(run)).toBe(1);
      await slurm().ready();
    },
  );

  it('tells the end of a run that a controller without its state knows nothing of, once it is over', async () => {
    const run = freshRun();
    // A number that no other process on this machine sleeps for.
    const seconds = `600.${process.pid}`;
    await submit(subject, run, proving(run, `exec sleep ${seconds}`));
    await eventually('it began', 60_000, () => begins(run) === 1);
    expect(processesWith(seconds)).toHaveLength(1);
    await restart('-c');
    expect(await ended(subject, run)).toMatchObject([
      { class: 'infrastructure', reason: { code: 'forgotten' } },
    ]);
    expect(begins(run)).toBe(1);
  });
});
