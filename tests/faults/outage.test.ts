// Server and database down for a minute: nothing stops, everything is adopted. And F2: a leader paused past its lease finds
// its epoch refused when it wakes.
import { aPlan } from '@muster/store/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';
import { expectAttemptsOnce, expectIdle, expectWholeLog, provenJob } from './proof.ts';

let system: TestSystem;
let ports: readonly [number, number];

beforeAll(async () => {
  ports = [await freePort(), await freePort()];
  system = await startSystem([{ name: 'a', port: ports[0] }]);
  await system.startAgent({ name: 'n1', devices: 'gpu=4:H100', otherPorts: [ports[1]] });
});

afterAll(() => system.close());

it('server and database down for a minute: nothing stops and all is adopted', {
  timeout: 300_000,
}, async () => {
  const jobs = await Promise.all([1, 2, 3].map(() => system.submit(provenJob(system, 'sleep 75'))));
  const quick = await system.submit(provenJob(system, 'sleep 10'));
  for (const job of [...jobs, quick]) await system.inState(job, 'running', 20_000);
  await system.server('a').end('SIGKILL');
  await system.postgres.kill();
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  await system.postgres.start();
  await system.startServer('a', ports[0]);
  for (const job of [...jobs, quick]) {
    const detail = await system.ended(job, 60_000);
    expect(detail.result).toEqual({ outcome: 'succeeded' });
    expect(detail.runs).toHaveLength(1);
  }
  expectAttemptsOnce(system);
  await expectIdle(system);
});

it('a leader paused past its lease: the other takes over within 20 s, and the old epoch is refused', {
  timeout: 180_000,
}, async () => {
  const before = await system.store.leader();
  await system.startServer('b', ports[1]);
  await system.startAgent({ name: 'n2', devices: 'gpu=4:H100' }, ports[1]);
  const a = system.server('a');
  a.signal('SIGSTOP');
  const pausedAt = performance.now();
  const after = await eventually('another server leads', 25_000, async () => {
    const leader = await system.store.leader();
    return leader.epoch > before.epoch && leader.holder?.url.includes(String(ports[1])) ? leader : null;
  });
  expect(performance.now() - pausedAt).toBeLessThan(20_000);
  const other = system.clientOf(ports[1]);
  // It may be planned on the node whose server is paused; nothing was sent, so it moves once that node is silent.
  const during = await other.jobs.submit(provenJob(system, 'true'));
  await eventually(
    'a job runs under the new leader',
    45_000,
    async () => (await other.jobs.get(during.id)).state === 'ended',
  );
  await eventually('the node of the paused server has gone to the other', 60_000, async () => {
    const node = await system.store.node('n1');
    const server = node ? await system.store.serverOfNode(node.id) : null;
    return node?.state.state === 'ready' && server?.url.includes(String(ports[1]));
  });
  const late = {
    ...aPlan([]),
    verdicts: [{ entry: 'late', verdict: { kind: 'waits' as const, reasons: [] } }],
  };
  expect(await system.store.commitPlan(before.epoch, late)).toEqual({
    outcome: 'refused',
    refusal: 'stale-epoch',
  });
  a.signal('SIGCONT');
  await eventually('the old leader follows', 20_000, () => a.output().includes('no longer leading'));
  const after20 = await Promise.all(
    Array.from({ length: 20 }, () => other.jobs.submit(provenJob(system, 'true'))),
  );
  for (const { id } of after20)
    expect((await system.ended(id, 30_000)).result).toEqual({ outcome: 'succeeded' });
  expect((await system.store.leader()).epoch).toBe(after.epoch);
  expectAttemptsOnce(system);
  await expectIdle(system);
  await expectWholeLog(system);
});
