// Rows F21 to F24 and F30 of the fault matrix through the whole server. Every attempt of a job appends lines to a side file: whatever
// happens to Slurm, none begins twice.
import type { JobId, JobSpecInput } from '@muster/model';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { expectAttemptsOnce, expectIdle, proofs, provenJob } from '../faults/proof.ts';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';
import { allOpen, startSlurmSystem } from '../harness/slurm-system.ts';
import type { TestSystem } from '../harness/system.ts';

const withinMs = 120_000;
/** Each costs half a minute; 50 by "npm run test:kills". */
const kills = Number(process.env.MUSTER_KILLS ?? 5);
const pauseMs = 12_000;

onSlurm('a Slurm that fails, behind a server', (slurm) => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSlurmSystem(slurm());
  });
  afterAll(() => system?.close());
  afterEach(async () => {
    expectAttemptsOnce(system);
    await expectIdle(system);
  });

  const proven = (between: string, more: JobSpecInput = {}): Promise<JobId> =>
    system.submit(provenJob(system, between, more));
  const begins = (job: JobId): number =>
    proofs(system).filter((proof) => proof.job === job && proof.word === 'start').length;
  const began = (job: JobId, times = 1) => eventually(`${job} begins`, withinMs, () => begins(job) >= times);
  const resultOf = async (job: JobId) => (await system.ended(job, withinMs)).result;
  const runOf = async (job: JobId) => (await system.store.runs(job)).at(-1)!;

  async function restart(...args: string[]): Promise<void> {
    await slurm().controller.end('SIGKILL');
    slurm().controller.start(...args);
    await slurm().ready();
  }

  it(`F21: a controller killed after an accepted submit loses no job and runs none twice (${kills}x)`, {
    timeout: 60_000 + kills * 120_000,
  }, async () => {
    for (let kill = 0; kill < kills; kill++) {
      const jobs = await Promise.all([1, 2, 3].map(() => proven('sleep 0.2')));
      await eventually('all are submitted', withinMs, async () => {
        const states = await Promise.all(jobs.map(async (job) => (await runOf(job))?.state.state));
        return !states.includes('planned') && (await system.store.counts()).outboxOpen === 0;
      });
      await restart();
      for (const job of jobs) expect(await resultOf(job)).toEqual({ outcome: 'succeeded' });
      await allOpen(system, slurm());
    }
  });

  it('F22: a controller paused during a submit, a cancel and a poll: one job, not two, and the cancel comes true', async () => {
    const [ends, stopped] = await Promise.all([proven('sleep 4'), proven('sleep 600')]);
    await Promise.all([began(ends), began(stopped)]);
    slurm().controller.signal('SIGSTOP');
    const untilMs = performance.now() + pauseMs;
    const submitted = await proven('sleep 0.2');
    await system.client.jobs.cancel(stopped);
    await eventually('it was paused for long enough', 2 * pauseMs, () => performance.now() > untilMs);
    slurm().controller.signal('SIGCONT');
    expect(await resultOf(ends)).toEqual({ outcome: 'succeeded' });
    expect(await resultOf(stopped)).toMatchObject({ outcome: 'cancelled' });
    expect(await resultOf(submitted)).toEqual({ outcome: 'succeeded' });
    expect([begins(ends), begins(stopped)]).toEqual([1, 1]);
  });

  it('F23: what a controller without its state knows nothing of is over once that is proven, and tried again', async () => {
    // The second attempt ends by itself.
    const job = await proven('[ "$MUSTER_ATTEMPT" = 2 ] || sleep 600');
    await began(job);
    await restart('-c');
    expect(await resultOf(job)).toEqual({ outcome: 'succeeded' });
    const [first] = await system.store.runs(job);
    expect(first?.state).toMatchObject({
      result: { class: 'infrastructure', reason: { code: 'forgotten' } },
    });
  });

  it('F24: a node that goes down takes its job along, which is tried again elsewhere and not by Slurm', async () => {
    const job = await proven('[ "$MUSTER_ATTEMPT" = 2 ] || sleep 600');
    await began(job);
    const { id, tasks } = await runOf(job);
    const node = tasks[0]?.nodeName.replace('alpha-', '') as string;
    const [line] = (await slurm().command('squeue', '--noheader', '--format=%i', '--name', id)).split('\n');
    expect(await slurm().command('scontrol', 'show', 'job', line as string)).toContain('Requeue=0');
    await slurm().command('scontrol', 'update', `nodename=${node}`, 'state=down', 'reason=broken');
    expect(await resultOf(job)).toEqual({ outcome: 'succeeded' });
    const runs = await system.store.runs(job);
    expect(runs.map(({ state }) => state)).toMatchObject([
      { result: { class: 'infrastructure', reason: { code: 'node-failed' } } },
      { result: { outcome: 'succeeded' } },
    ]);
    expect(runs[1]?.tasks[0]?.nodeName).not.toBe(`alpha-${node}`);
    // Its slurmd lives and registers again.
    await allOpen(system, slurm());
  });

  it('F24: a node whose slurmd died keeps its job, which Slurm gave up and which still runs, until it answers again', async () => {
    const pid = `${system.sideFile}.pid`;
    // The second attempt fails when the first one's process lives.
    const first = `sleep 600 & echo $! > ${pid}; wait`;
    const job = await proven(
      `if [ "$MUSTER_ATTEMPT" = 1 ]; then ${first}; else ! kill -0 "$(cat ${pid})" || exit 9; fi`,
    );
    await began(job);
    const { id, tasks } = await runOf(job);
    const node = tasks[0]?.nodeName.replace('alpha-', '') as string;
    await slurm().slurmd.get(node)?.end('SIGKILL');
    await eventually('Slurm gives the job up', withinMs, async () => {
      const states = await slurm().command(
        'squeue',
        '--noheader',
        '--states=all',
        '--format=%T',
        '--name',
        id,
      );
      return states.trim() === 'NODE_FAIL';
    });
    const { answeredAt } = await system.client.clusters.get('alpha');
    await eventually('the leader has looked since', withinMs, async () => {
      return (await system.client.clusters.get('alpha')).answeredAt !== answeredAt;
    });
    expect([(await runOf(job)).state.state, begins(job)]).toEqual(['running', 1]);
    slurm().slurmd.get(node)?.start();
    expect(await resultOf(job)).toEqual({ outcome: 'succeeded' });
    expect((await system.store.runs(job)).map(({ state }) => state)).toMatchObject([
      { result: { class: 'infrastructure', reason: { code: 'node-failed' } } },
      { result: { outcome: 'succeeded' } },
    ]);
    await slurm().ready();
    await allOpen(system, slurm());
  });

  it('F30: a job cancelled in Slurm by an outside hand ends so, says so, and is not started again', async () => {
    const job = await proven('sleep 600');
    await began(job);
    await slurm().command('scancel', `--name=${(await runOf(job)).id}`);
    expect(await resultOf(job)).toMatchObject({
      class: 'cancelled',
      reason: { code: 'cancelled-in-slurm', message: 'cancelled in Slurm, not through Muster' },
    });
    expect((await system.store.runs(job)).length).toBe(1);
  });

  it('a cluster that does not answer keeps its runs until there is proof, and says what is missing', async () => {
    const job = await proven('sleep 6');
    await began(job);
    slurm().controller.signal('SIGSTOP');
    const degraded = await eventually('alpha is degraded', withinMs, async () => {
      const cluster = await system.client.clusters.get('alpha');
      return cluster.state === 'degraded' ? cluster : null;
    });
    expect(degraded.reason).toMatch(/squeue|sinfo|scontrol/);
    await eventually('its run is unproven', withinMs, async () => {
      const { unproven } = await system.client.clusters.get('alpha');
      return unproven === 1;
    });
    const { text } = await system.client.jobs.why(job);
    expect(text).toMatch(
      /: cluster alpha must answer \(.*\), or an operator must say that it is gone \(muster clusters lost alpha, or muster nodes lost for alpha-n\d\)/,
    );
    slurm().controller.signal('SIGCONT');
    expect(await resultOf(job)).toEqual({ outcome: 'succeeded' });
    expect(begins(job)).toBe(1);
    await eventually('alpha is connected', withinMs, async () => {
      return (await system.client.clusters.get('alpha')).state === 'connected';
    });
    await allOpen(system, slurm());
  });
});
