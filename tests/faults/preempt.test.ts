// F34 and the life of a preemption on real processes: room is given only after proof, work that was saved is gone on with, and a
// claim that nobody wants any more is everybody's room.
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultPolicy, type JobId } from '@muster/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';
import { expectAttemptsOnce, expectIdle, expectWholeLog, proofs, provenJob } from './proof.ts';

let system: TestSystem;

beforeAll(async () => {
  system = await startSystem([{ name: 'server', port: await freePort() }]);
  // Nothing is shielded, so that tests need not wait for minutes.
  const { version } = await system.store.policy();
  const tiers = defaultPolicy.tiers.map((tier) => ({ ...tier, minRunMs: 0 }));
  const preemption = { ...defaultPolicy.preemption, coolingMs: 0 };
  await system.store.setPolicy({ ...defaultPolicy, tiers, preemption }, version, 'test');
  await system.startAgent({ name: 'n1', devices: 'gpu=2:H100' });
});

afterAll(() => system.close());

const whole = { resources: { accelerators: { model: 'H100', count: 2 } } };
const words = (job: JobId) =>
  proofs(system)
    .filter((proof) => proof.job === job)
    .map(({ attempt, word }) => `${attempt} ${word}`);

async function verdictCode(job: JobId): Promise<string | undefined> {
  const { verdict } = await system.client.jobs.why(job);
  return verdict && verdict.kind !== 'placed' ? verdict.reasons[0]?.code : verdict?.kind;
}

describe('a preemption', () => {
  it('of a job that ignores the signal gives its room only when it is gone, and says so meanwhile', {
    timeout: 90_000,
  }, async () => {
    const pidFile = join(system.dir, 'side', 'pid');
    const stubborn = await system.submit(
      provenJob(system, `echo $$ > ${pidFile}; trap '' TERM; while :; do sleep 0.1; done`, {
        ...whole,
        tier: 'spot',
        stop: { grace: '4s' },
      }),
    );
    await system.inState(stubborn, 'running', 20_000);
    await eventually('it wrote its pid', 10_000, () => readFileSync(pidFile, 'utf8').trim() !== '');
    const urgent = await system.submit(
      provenJob(
        system,
        `kill -0 $(cat ${pidFile}) 2>/dev/null && echo "$MUSTER_JOB_ID 1 0 overlap" >> ${system.sideFile}`,
        whole,
      ),
    );
    await eventually('its verdict says what it waits for', 10_000, async () => {
      return (await verdictCode(urgent)) === 'preempting';
    });
    expect((await system.client.jobs.get(urgent)).state).toBe('queued');
    expect((await system.ended(urgent, 40_000)).result).toEqual({ outcome: 'succeeded' });
    expect(words(urgent)).toEqual(['1 start', '1 end']);
    // The victim is queued again at once, and runs again when there is room.
    const again = await system.inState(stubborn, 'running', 30_000);
    expect(again.attempt).toBe(2);
    expect(again.runs[0]?.result).toMatchObject({ class: 'preemption', reason: { code: 'preempted' } });
    expect(again.runs[0]?.result).toHaveProperty('reason.message', expect.stringContaining(urgent));
    await system.client.jobs.cancel(stubborn);
    await system.ended(stubborn, 30_000);
    await expectIdle(system);
  });

  it('of a job that saves its work when asked loses none of it', { timeout: 90_000 }, async () => {
    const dir = join(system.dir, 'side', 'work');
    mkdirSync(dir);
    chmodSync(dir, 0o777);
    const example = join(dir, 'checkpoint.py');
    copyFileSync(fileURLToPath(new URL('../../docs/guide/examples/checkpoint.py', import.meta.url)), example);
    const trainer = await system.submit({
      name: 'trainer',
      command: ['python3', example, '300'],
      env: { CHECKPOINT_DIR: dir },
      ...whole,
      tier: 'spot',
      checkpoint: { signal: 'USR1', wait: '1m' },
      stop: { grace: '5s' },
    });
    await system.inState(trainer, 'running', 20_000);
    await eventually('it started to work', 20_000, async () => {
      const log = await system.client.jobs.logs(trainer);
      return Buffer.from(log.data).toString().includes('starts at step 0');
    });
    const urgent = await system.submit({ name: 'urgent', command: ['true'], ...whole });
    expect((await system.ended(urgent, 50_000)).result).toEqual({ outcome: 'succeeded' });
    const done = await system.ended(trainer, 60_000);
    expect(done.result).toEqual({ outcome: 'succeeded' });
    expect(done.attempt).toBe(2);
    const output = Buffer.from((await system.client.jobs.logs(trainer)).data).toString();
    const step = Number(/attempt 2 starts at step (\d+)/.exec(output)?.[1]);
    expect(step).toBeGreaterThan(0);
    const events = await system.store.events({ scope: null, after: 0, job: trainer, limit: 1000 });
    const kinds = events.map((event) => event.body.kind);
    expect(kinds).toContain('run.checkpointed');
    expect(kinds.indexOf('run.stopping')).toBeLessThan(kinds.lastIndexOf('run.checkpointed'));
  });

  it('whose job is cancelled while it waits leaves the room to others', { timeout: 90_000 }, async () => {
    const slow = await system.submit(
      provenJob(system, "trap '' TERM; while :; do sleep 0.1; done", {
        ...whole,
        tier: 'spot',
        stop: { grace: '5s' },
      }),
    );
    await system.inState(slow, 'running', 20_000);
    const urgent = await system.submit({ name: 'urgent', command: ['true'], ...whole });
    // Not its verdict, which says so as soon as the engine would.
    await eventually('it has its claim', 20_000, async () => {
      const told = await system.store.events({ scope: null, after: 0, job: urgent, limit: 100 });
      return told.some((event) => event.body.kind === 'job.claimed');
    });
    const other = await system.submit(provenJob(system, ':', { ...whole, tier: 'standard' }));
    await system.client.jobs.cancel(urgent);
    expect((await system.ended(other, 30_000)).result).toEqual({ outcome: 'succeeded' });
    const events = await system.store.events({ scope: null, after: 0, job: urgent, limit: 100 });
    expect(events.map((event) => event.body.kind)).toEqual([
      'job.submitted',
      'job.claimed',
      'job.unclaimed',
      'job.ended',
    ]);
    await system.client.jobs.cancel(slow);
    await system.ended(slow, 30_000);
    await expectIdle(system);
  });

  it('that races with the end of its victim ends well for both, every time', {
    timeout: 240_000,
  }, async () => {
    for (let round = 0; round < 12; round++) {
      const victim = await system.submit(
        provenJob(system, `sleep 0.${round % 10}`, { ...whole, tier: 'spot', stop: { grace: '2s' } }),
      );
      await system.inState(victim, 'running', 20_000).catch(() => {});
      const urgent = await system.submit(provenJob(system, ':', whole));
      expect((await system.ended(urgent, 40_000)).result).toEqual({ outcome: 'succeeded' });
      expect((await system.ended(victim, 40_000)).result).toEqual({ outcome: 'succeeded' });
    }
    expectAttemptsOnce(system);
    await expectIdle(system);
    await expectWholeLog(system);
  });
});
