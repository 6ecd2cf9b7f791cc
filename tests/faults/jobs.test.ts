// F31, F33, F35: jobs that behave badly, gangs that fail in part, and cancels that race with everything.
import { processesOf } from '@muster/drivers/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';
import { expectAttemptsOnce, expectIdle, proofs, provenJob } from './proof.ts';

let system: TestSystem;

beforeAll(async () => {
  system = await startSystem([{ name: 'server', port: await freePort() }]);
  for (const name of ['n1', 'n2', 'n3', 'n4']) await system.startAgent({ name, devices: 'gpu=2:H100' });
});

afterAll(() => system.close());

const h100 = (count: number) => ({ resources: { accelerators: { model: 'H100', count } } });

describe('a gang', () => {
  it('of 4 x 2 devices gets its ranks, world, devices and one rendezvous address', {
    timeout: 60_000,
  }, async () => {
    const env = [
      'RANK',
      'WORLD_SIZE',
      'LOCAL_RANK',
      'LOCAL_WORLD_SIZE',
      'MASTER_ADDR',
      'MASTER_PORT',
      'CUDA_VISIBLE_DEVICES',
      'SLURM_PROCID',
      'JAX_PROCESS_ID',
    ];
    const job = await system.submit({
      name: 'gang',
      tasks: 4,
      command: ['sh', '-c', `echo ${env.map((name) => `${name}=$${name}`).join(' ')}`],
      ...h100(2),
    });
    const detail = await system.ended(job, 30_000);
    expect(detail.result).toEqual({ outcome: 'succeeded' });
    expect(new Set(detail.runs[0]?.tasks.map((task) => task.node)).size).toBe(4);
    const ports = new Set<string>();
    for (let rank = 0; rank < 4; rank++) {
      const text = Buffer.from((await system.client.jobs.logs(job, { rank })).data)
        .toString()
        .trim();
      const values = Object.fromEntries(text.split(' ').map((pair) => pair.split('=')));
      expect(values).toMatchObject({
        RANK: String(rank),
        SLURM_PROCID: String(rank),
        JAX_PROCESS_ID: String(rank),
        WORLD_SIZE: '4',
        LOCAL_RANK: '0',
        LOCAL_WORLD_SIZE: '1',
        MASTER_ADDR: '127.0.0.1',
        CUDA_VISIBLE_DEVICES: '0,1',
      });
      ports.add(values.MASTER_PORT ?? '');
    }
    expect(ports.size).toBe(1);
  });

  it('ends whole when one rank fails, with the first cause, and is retried by its class', {
    timeout: 60_000,
  }, async () => {
    const job = await system.submit(
      provenJob(system, '[ "$MUSTER_RANK" = 2 ] && exit 7; sleep 60', {
        tasks: 4,
        ...h100(2),
        retry: { user: 1 },
        stop: { grace: '1s' },
      }),
    );
    const detail = await system.ended(job, 45_000);
    expect(detail.runs).toHaveLength(2);
    expect(detail.result).toMatchObject({ outcome: 'failed', class: 'user', code: 7, rank: 2 });
    expect(detail.exitCode).toBe(7);
    expect(proofs(system).filter((proof) => proof.job === job && proof.word === 'start')).toHaveLength(8);
    expect(proofs(system).filter((proof) => proof.job === job && proof.word === 'end')).toHaveLength(0);
    expectAttemptsOnce(system);
    await expectIdle(system);
  });

  it('that no node can hold is impossible at once, with the nearest possible', async () => {
    const job = await system.submit({ name: 'large', command: ['true'], ...h100(9) });
    const why = await system.client.jobs.why(job);
    expect(why.verdict?.kind).toBe('impossible');
    expect(why.text).toMatch(/Nearest possible: .*2/);
    await system.client.jobs.cancel(job);
  });
});

describe('a job', () => {
  it('that ignores SIGTERM is killed after its grace', { timeout: 60_000 }, async () => {
    const job = await system.submit(
      provenJob(system, "trap '' TERM; while :; do sleep 0.2; done", { stop: { grace: '2s' } }),
    );
    await system.inState(job, 'running', 20_000);
    await system.client.jobs.cancel(job);
    expect((await system.ended(job, 20_000)).result?.outcome).toBe('cancelled');
    expect(
      proofs(system)
        .filter((proof) => proof.job === job)
        .map((proof) => proof.word),
    ).toEqual(['start']);
  });

  it('that writes 1 GB of output is capped, and its first and last lines are kept', {
    timeout: 120_000,
  }, async () => {
    const job = await system.submit({
      name: 'loud',
      command: ['sh', '-c', 'echo first; head -c 1000000000 /dev/zero | tr "\\0" x; echo; echo last'],
      output: { limit: '8MiB' },
    });
    expect((await system.ended(job, 100_000)).result).toEqual({ outcome: 'succeeded' });
    const head = await system.client.jobs.logs(job, { limit: 6 });
    expect(Buffer.from(head.data).toString()).toBe('first\n');
    expect(head.size).toBe(1_000_000_000 + 12);
    const tail = await system.client.jobs.logs(job, { offset: head.size - 5 });
    expect(Buffer.from(tail.data).toString()).toBe('last\n');
  });

  it('that leaves a daemon behind leaves nothing', { timeout: 60_000 }, async () => {
    const job = await system.submit({
      name: 'daemon',
      command: ['sh', '-c', '(setsid sleep 987 >/dev/null 2>&1 &) ; exit 0'],
    });
    expect((await system.ended(job, 30_000)).result).toEqual({ outcome: 'succeeded' });
    await eventually('no process of the job is left', 10_000, async () => {
      const { readFileSync } = await import('node:fs');
      return !processesOf(system.dir).some((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('987');
        } catch {
          return false;
        }
      });
    });
  });

  it('cancelled at any moment of its life ends once, cancelled or finished, and is never started again', {
    timeout: 180_000,
  }, async () => {
    const rounds = 60;
    const jobs = await Promise.all(
      Array.from({ length: rounds }, async (_, i) => {
        const job = await system.submit(
          provenJob(system, 'sleep 0.1', {
            resources: { cpus: 1, memory: '64MiB' },
            retry: { user: 3 },
            stop: { grace: '1s' },
          }),
        );
        await new Promise((resolve) => setTimeout(resolve, (i % 20) * 20));
        await system.client.jobs.cancel(job);
        await system.client.jobs.cancel(job);
        return job;
      }),
    );
    for (const job of jobs) {
      const detail = await system.ended(job, 60_000);
      expect(['cancelled', 'succeeded']).toContain(detail.result?.outcome);
      expect(detail.runs.length).toBeLessThanOrEqual(1);
    }
    expectAttemptsOnce(system);
    await expectIdle(system);
  });
});
