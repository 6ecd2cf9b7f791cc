// F13, F14, F18: the agent is killed, frozen, or lost with its whole node.

import { writeFileSync } from 'node:fs';
import { processesOf, processesWith } from '@muster/drivers/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, type MusterProcess } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';
import { expectAttemptsOnce, proofs, provenJob } from './proof.ts';

let system: TestSystem;
let first: MusterProcess;

beforeAll(async () => {
  system = await startSystem([{ name: 'server', port: await freePort() }]);
  first = await system.startAgent({ name: 'n1', devices: 'gpu=2:H100' });
});

afterAll(() => system.close());

const onFirst = { constraints: [{ label: 'node', in: ['n1'] }] };

describe('an agent', () => {
  it('killed and started again: the job is adopted and its output is complete', {
    timeout: 120_000,
  }, async () => {
    const count = 'for i in $(seq 1 60); do echo "line $i"; sleep 0.1; done';
    const job = await system.submit(provenJob(system, count, onFirst));
    await system.inState(job, 'running', 20_000);
    await first.end('SIGKILL');
    first = await system.startAgent({ name: 'n1', devices: 'gpu=2:H100' });
    const detail = await system.ended(job, 60_000);
    expect(detail.result).toEqual({ outcome: 'succeeded' });
    expect(detail.runs).toHaveLength(1);
    const output = Buffer.from((await system.client.jobs.logs(job)).data).toString();
    expect(output).toBe(Array.from({ length: 60 }, (_, i) => `line ${i + 1}\n`).join(''));
    expectAttemptsOnce(system);
  });

  it('killed while its job ends: the end is found and told', { timeout: 120_000 }, async () => {
    const word = `${system.sideFile}.go`;
    const waits = `until [ -e ${word} ]; do sleep 0.1; done; echo done; exit 3`;
    const job = await system.submit(provenJob(system, waits, onFirst));
    await system.inState(job, 'running', 20_000);
    await first.end('SIGKILL');
    writeFileSync(word, '');
    await eventually('the job ends while nobody looks', 20_000, () => processesWith(word).length === 0);
    first = await system.startAgent({ name: 'n1', devices: 'gpu=2:H100' });
    const detail = await system.ended(job, 30_000);
    expect(detail.exitCode).toBe(3);
    expect(detail.runs).toHaveLength(1);
  });

  it('frozen past stopAfter 25 s: the job is dead before the next attempt starts', {
    timeout: 180_000,
  }, async () => {
    const job = await system.submit(
      provenJob(
        system,
        `for i in $(seq 1 1200); do echo "$MUSTER_ATTEMPT $(cut -d' ' -f1 /proc/uptime)" >> ${system.dir}/side/alive; sleep 0.1; done`,
        { stopAfter: '25s', stop: { grace: '1s' } },
      ),
    );
    const running = await system.inState(job, 'running', 20_000);
    const node = running.runs[0]?.tasks[0]?.nodeName;
    expect(node).toBe('n1');
    const second = await system.startAgent({ name: 'n2', devices: 'gpu=2:H100' });
    first.signal('SIGSTOP');
    await eventually('the second attempt runs', 90_000, () =>
      proofs(system).some((proof) => proof.job === job && proof.attempt === 2 && proof.word === 'start'),
    );
    const { readFileSync } = await import('node:fs');
    const seen = await eventually('the second attempt is alive', 20_000, () => {
      const lines = readFileSync(`${system.dir}/side/alive`, 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(' ').map(Number));
      return lines.some(([attempt]) => attempt === 2) ? lines : null;
    });
    const lastOfFirst = Math.max(...seen.filter(([attempt]) => attempt === 1).map(([, at]) => at ?? 0));
    const firstOfSecond = Math.min(...seen.filter(([attempt]) => attempt === 2).map(([, at]) => at ?? 0));
    expect(lastOfFirst).toBeLessThan(firstOfSecond);
    first.signal('SIGCONT');
    await system.client.jobs.cancel(job);
    const detail = await system.ended(job, 60_000);
    expect(detail.result?.outcome).toBe('cancelled');
    expect(detail.runs[0]?.result).toMatchObject({ class: 'infrastructure' });
    expectAttemptsOnce(system);
    await second.end('SIGTERM');
  });

  it('lost with supervisor and job: the next attempt runs elsewhere within 45 s', {
    timeout: 180_000,
  }, async () => {
    const second = await system.startAgent({ name: 'n2', devices: 'gpu=2:H100' });
    const job = await system.submit(
      provenJob(system, 'sleep 300', {
        ...onFirst,
        stopAfter: '25s',
        stop: { grace: '1s' },
        constraints: [],
      }),
    );
    const running = await system.inState(job, 'running', 20_000);
    const lost = running.runs[0]?.tasks[0]?.nodeName ?? '';
    const victim = lost === 'n1' ? first : second;
    const killedAt = performance.now();
    await victim.end('SIGKILL');
    for (const pid of processesOf(`${system.dir}/agent-${lost}`)) process.kill(pid, 'SIGKILL');
    await eventually('the second attempt runs', 60_000, () =>
      proofs(system).some((proof) => proof.job === job && proof.attempt === 2 && proof.word === 'start'),
    );
    const tookMs = performance.now() - killedAt;
    const detail = await system.inState(job, 'running', 10_000);
    expect(detail.runs.find((run) => run.attempt === 2)?.tasks[0]?.nodeName).not.toBe(lost);
    expect(tookMs).toBeLessThan(45_000);
    await system.client.jobs.cancel(job);
    await system.ended(job, 60_000);
    expectAttemptsOnce(system);
  });
});
