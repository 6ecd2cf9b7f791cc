// Row F30 of the fault matrix on a real Slurm: jobs that an outside hand holds, delays or suspends. They are told as what they are, with what
// lets them go on; they are not given back and not started again, and can be stopped.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { RunId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';
import { accepted, cancel, ended, freshRun, shellTask, started, submit } from '../harness/runs.ts';
import { type SlurmSubject, slurmSubject } from '../harness/slurm-subject.ts';
import { startSlurmSystem } from '../harness/slurm-system.ts';
import type { TestSystem } from '../harness/system.ts';

const withinMs = 60_000;

onSlurm('a Slurm in which others hold, delay and suspend jobs (F30)', (slurm) => {
  let subject: SlurmSubject;
  beforeAll(async () => {
    // What waits for longer than a second is given back.
    subject = slurmSubject(slurm(), { waitMaxS: 1 });
    await eventually('what it lists is settled', withinMs, async () => (await subject.driver.look()).settled);
  });
  afterAll(() => subject.close());

  const scontrol = (...words: string[]): Promise<string> => slurm().command('scontrol', ...words);
  const idOf = async (run: RunId): Promise<string> => {
    const listed = ['--noheader', '--states=all', `--name=${run}`, '--format=%i'];
    return (await slurm().command('squeue', ...listed)).trim();
  };
  const stateOf = async (id: string): Promise<string> =>
    (await slurm().command('squeue', '--noheader', '--states=all', `--jobs=${id}`, '--format=%T')).trim();
  /** What was told of it since, in order. */
  const halts = (run: RunId) =>
    subject.observed().flatMap((item) => (item.kind === 'halt' && item.run === run ? [item.halt] : []));
  const halted = (run: RunId, code: string | null) =>
    eventually(`${run} is told as ${code}`, withinMs, () => {
      const last = halts(run).at(-1);
      return last !== undefined && (last?.code ?? null) === code ? { message: last?.message ?? '' } : null;
    });
  const isOver = (run: RunId): boolean =>
    subject.observed().some((item) => item.run === run && item.kind === 'ended');

  async function begun(script: string): Promise<{ run: RunId; id: string }> {
    const run = freshRun();
    expect(await submit(subject, run, { n1: [shellTask(0, script)] })).toEqual([accepted]);
    await started(subject, run);
    return { run, id: await idOf(run) };
  }

  /** It waits for room in Slurm, from before anybody looked. */
  async function waiting(
    script: string,
    keep: (id: string) => Promise<unknown>,
  ): Promise<{ run: RunId; id: string }> {
    const before = [
      '--parsable',
      '--nodelist=n2',
      '--cpus-per-task=8',
      '--output=/dev/null',
      '--wrap=sleep 600',
    ];
    const blocker = (await slurm().command('sbatch', ...before)).trim();
    await eventually('n2 is full', withinMs, async () => (await stateOf(blocker)) === 'RUNNING');
    const run = freshRun();
    expect(await submit(subject, run, { n2: [shellTask(0, script)] })).toEqual([accepted]);
    const id = await idOf(run);
    await keep(id);
    await slurm().command('scancel', blocker);
    await eventually('n2 has room', withinMs, async () => /CANCELLED|^$/.test(await stateOf(blocker)));
    return { run, id };
  }

  it.each([
    [
      'held',
      ['hold'],
      ['release'],
      /^held in Slurm by an administrator of it, .*; scontrol release \d+ lets/,
    ],
    ['held', ['uhold'], ['release'], /^held in Slurm by root \(the account .*; scontrol release \d+ lets/],
    [
      'delayed',
      ['update', 'StartTime=now+3600'],
      ['update', 'StartTime=now'],
      /^delayed in Slurm until 2\d\d\d-.*Z, .*; scontrol update jobid=\d+ starttime=now lets/,
    ],
  ] as const)(
    'tells a job as %s (%j) that has not begun, and it runs once it is let go (%j)',
    async (code, keep, release, words) => {
      const on = ([verb, ...changes]: readonly string[], id: string): Promise<string> =>
        scontrol(verb as string, ...(changes.length > 0 ? [`jobid=${id}`, ...changes] : [id]));
      const { run, id } = await waiting('echo let go', (job) => on(keep, job));
      expect((await halted(run, code)).message).toMatch(words);
      // Far longer than it may wait.
      const untilMs = performance.now() + 5000;
      await eventually('it was looked at for long', withinMs, async () => {
        expect([...(await subject.driver.look()).overdue.keys()]).not.toContain(run);
        return performance.now() > untilMs;
      });
      expect(isOver(run)).toBe(false);
      await on(release, id);
      expect(await ended(subject, run)).toEqual([{ ok: true }]);
    },
  );

  it('stops a job that is held: it never begins', async () => {
    const { run, id } = await waiting('echo never', (job) => scontrol('hold', job));
    await halted(run, 'held');
    expect(await cancel(subject, run)).toEqual(accepted);
    expect(await ended(subject, run)).toMatchObject([{ class: 'cancelled', reason: { message: 'asked' } }]);
    await eventually('Slurm has it no more', withinMs, async () => /CANCELLED|^$/.test(await stateOf(id)));
  });

  it('tells a job that is suspended, and that it goes on', async () => {
    const { run, id } = await begun('until [ -e "$MUSTER_STATUS_FILE" ]; do sleep 0.1; done');
    await scontrol('suspend', id);
    expect((await halted(run, 'suspended')).message).toBe(
      `suspended in Slurm, not through Muster; scontrol resume ${id} lets it go on`,
    );
    expect(await submit(subject, run, { n1: [shellTask(0, 'echo twice')] })).toEqual([accepted]);
    await scontrol('resume', id);
    await halted(run, null);
    expect(isOver(run)).toBe(false);
    expect(halts(run).map((halt) => halt?.code ?? null)).toEqual(['suspended', null]);
    // Slurm drops signals in the second after.
    expect(await cancel(subject, run)).toEqual(accepted);
    expect(await ended(subject, run)).toMatchObject([{ class: 'cancelled', reason: { message: 'asked' } }]);
  });

  it('stops a job that is suspended, by Slurm itself, and its end is that of the stop', async () => {
    const { run, id } = await begun('exec sleep 600');
    await scontrol('suspend', id);
    await halted(run, 'suspended');
    expect(await cancel(subject, run)).toEqual(accepted);
    expect(await ended(subject, run)).toMatchObject([{ class: 'cancelled', reason: { message: 'asked' } }]);
  });

  it('stops a job that was suspended while it was being stopped', async () => {
    const { run, id } = await begun('trap "" TERM; while :; do sleep 0.1; done');
    const stop = { run, reason: 'asked', class: 'cancelled', signal: 'TERM', graceMs: 3_600_000 } as const;
    const target = { outbox: 1, epoch: 1, node: subject.node };
    expect(await subject.driver.stop(target, stop)).toEqual(accepted);
    await scontrol('suspend', id);
    expect(await ended(subject, run)).toMatchObject([{ class: 'cancelled', reason: { message: 'asked' } }]);
  });

  it('tells a job that was put back into the queue and is held there, and tries it anew once it is let go', async () => {
    const { run, id } = await begun('exec sleep 600');
    // Ours are never requeued, unless somebody insists.
    await expect(scontrol('requeuehold', id)).rejects.toThrow(/disabled/);
    await scontrol('update', `jobid=${id}`, 'Requeue=1');
    await scontrol('requeuehold', id);
    expect((await halted(run, 'held')).message).toMatch(
      /^ended, put back into the queue and held in Slurm by /,
    );
    expect(isOver(run)).toBe(false);
    await scontrol('release', id);
    // Slurm waits two minutes before it runs again what was put back.
    expect((await halted(run, 'delayed')).message).toMatch(/^ended, put back into the queue and delayed /);
    await scontrol('update', `jobid=${id}`, 'StartTime=now');
    expect(await ended(subject, run)).toMatchObject([
      { class: 'infrastructure', reason: { code: 'requeued-in-slurm' } },
    ]);
  });
});

onSlurm('a server with a Slurm in which others suspend jobs (F30)', (slurm) => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSlurmSystem(slurm());
  });
  afterAll(() => system?.close());

  async function muster(...args: string[]): Promise<string> {
    const launcher = join(import.meta.dirname, '../../packages/muster/bin/muster.js');
    const own = { NO_COLOR: '1', MUSTER_SERVER: system.client.url, MUSTER_TOKEN: system.adminToken };
    const { stdout } = await promisify(execFile)(process.execPath, [launcher, ...args], {
      env: { ...process.env, ...own },
    });
    return stdout;
  }

  it('says so of the job wherever it is shown, logs it, and cancels it', async () => {
    const job = await system.submit({ command: ['sleep', '600'] });
    await system.inState(job, 'running', withinMs);
    const { run } = await system.client.jobs.get(job);
    const suspend = async (verb: string): Promise<void> => {
      const id = await slurm().command('squeue', '--noheader', `--name=${run}`, '--format=%i');
      await slurm().command('scontrol', verb, id.trim());
    };
    const kinds = async (): Promise<string[]> =>
      (await system.client.events.list({ job })).items
        .map(({ kind }) => kind)
        .filter((kind) => /halted/.test(kind));
    await suspend('suspend');
    const words = /suspended in Slurm, not through Muster; scontrol resume \d+ lets it go on/;
    await eventually('why says so', withinMs, async () => words.test(await muster('why', job)));
    expect(await muster('why', job)).toMatch(/^.*running since .*; suspended in Slurm/m);
    expect(await system.client.jobs.get(job)).toMatchObject({
      state: 'running',
      attempt: 1,
      reason: expect.stringMatching(words),
      runs: [{ halt: { code: 'suspended' } }],
    });
    expect(await muster('show', job)).toMatch(words);
    expect(await muster('ps', '-o', 'wide')).toMatch(words);
    await suspend('resume');
    await eventually('it goes on', withinMs, async () => (await system.client.jobs.get(job)).reason === null);
    expect(await kinds()).toEqual(['run.halted', 'run.unhalted']);
    await suspend('suspend');
    await eventually('why says so again', withinMs, async () => words.test(await muster('why', job)));
    await system.client.jobs.cancel(job);
    expect((await system.ended(job, withinMs)).result).toMatchObject({ outcome: 'cancelled' });
    expect(await system.client.jobs.get(job)).toMatchObject({ attempt: 1, runs: [{ halt: null }] });
  });
});
