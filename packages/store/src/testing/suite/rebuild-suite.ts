import type { LogEvent, RunId } from '@muster/model';
import { expect, test } from 'vitest';
import type { Store } from '../../contract.ts';
import {
  anInventory,
  aPlan,
  aSpec,
  aSubmit,
  aUnit,
  failed,
  joinNode,
  lead,
  ok,
  placement,
  sayHello,
  submitted,
} from '../builders.ts';
import type { Harness } from './harness.ts';
import { dispatched } from './run-suite.ts';

/** What the log alone says: the runs that hold capacity, and every job that is not over with its version and state. */
function replay(events: readonly LogEvent[]) {
  const runs = new Set<RunId>();
  const jobs = new Map<string, { version: number; state: string }>();
  for (const { body } of events) {
    if (body.kind === 'run.planned') runs.add(body.run);
    if (body.kind === 'run.ended') runs.delete(body.run);
    if ('version' in body && 'job' in body) {
      const state = {
        'job.submitted': body.kind === 'job.submitted' && body.held ? 'held' : 'queued',
        'job.held': 'held',
        'job.released': 'queued',
        'job.stopping': 'stopping',
        'job.requeued': 'queued',
        'job.ended': 'ended',
        'run.planned': 'starting',
        'run.running': jobs.get(body.job)?.state === 'stopping' ? 'stopping' : 'running',
      }[body.kind as string] as string;
      jobs.set(body.job, { version: body.version, state });
      if (state === 'ended') jobs.delete(body.job);
    }
  }
  return { runs: [...runs].sort(), jobs: [...jobs].sort() };
}

async function rebuilt(store: Store) {
  const rows = await store.loadEngine();
  return {
    runs: rows.runs.map((run) => run.run).sort(),
    jobs: rows.jobs.map((job) => [job.job, { version: job.version, state: job.state.state }] as const).sort(),
  };
}

export function rebuildSuite(harness: Harness): void {
  test('rows and log tell the same story at every point', async () => {
    const store = await harness.store();
    const check = async () =>
      expect(await rebuilt(store)).toEqual(replay(await store.eventsSince(0, 10_000)));
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const retry = { user: 1, outOfMemory: 0, infrastructure: 1 };
    const first = await dispatched(store, [one, two], aSpec({ tasks: 2, retry }));
    await check();
    await store.observe(one, [{ kind: 'started', run: first.run, rank: 0, pid: 1 }]);
    await store.observe(two, [{ kind: 'started', run: first.run, rank: 1, pid: 1 }]);
    await check();
    const held = await submitted(store, aSubmit({ held: true }));
    await store.observe(two, [{ kind: 'ended', run: first.run, rank: 1, exit: failed() }]);
    await check();
    await store.observe(one, [{ kind: 'ended', run: first.run, rank: 0, exit: failed() }]);
    await check();
    await store.release(held, 'ada');
    const second = await dispatched(store, [one], aSpec());
    await store.cancel(second.job, 'ada');
    await check();
    await store.observe(one, [
      { kind: 'started', run: second.run, rank: 0, pid: 1 },
      { kind: 'ended', run: second.run, rank: 0, exit: ok },
    ]);
    await check();
    await store.cancel(held, 'ada');
    await check();
  });

  test('an engine is loaded with what its events said', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const node = await joinNode(store);
    const item = aSubmit({ spec: aSpec({ gpus: 2 }) });
    const job = await submitted(store, item);
    const waiting = await submitted(store, aSubmit({ held: true }));
    const unit = aUnit(job, [placement(node.node, { devices: [0, 1] })]);
    await store.commitPlan(epoch, aPlan([unit]));
    await sayHello(store, node.node, { inventory: anInventory({ labels: { zone: 'c' } }) });
    await store.drain(node.node, { by: 'ada', reason: 'fan' }, 'ada');
    for (const trustMilli of [900, 900, 750]) await store.trust(node.node, trustMilli, 'ada');
    const told = (await store.eventsSince(0, 100)).filter(({ body }) => body.kind === 'node.trusted');
    expect(told, 'said once, when it changes').toMatchObject([
      { body: { trustMilli: 900, by: 'ada' } },
      { body: { trustMilli: 750 } },
    ]);
    const rows = await store.loadEngine();
    expect(rows.sequence).toBe((await store.head()).sequence);
    expect(rows).toMatchObject({ policyVersion: 1, policy: { defaultTier: 'standard' } });
    expect(rows.nodes).toEqual([
      {
        node: node.node,
        name: node.name,
        cluster: 'main',
        pool: 'gpu',
        generation: 2,
        inventory: anInventory({ labels: { zone: 'c' } }),
        state: 'ready',
        drain: { by: 'ada', reason: 'fan', sinceMs: expect.any(Number) },
        trustMilli: 750,
      },
    ]);
    const submits = (await store.eventsSince(0, 100)).filter((event) => event.body.kind === 'job.submitted');
    const sequenceOf = (id: string) => submits.find(({ body }) => 'job' in body && body.job === id)?.sequence;
    expect(rows.jobs.map((row) => [row.job, row.submittedSequence])).toEqual([
      [job, sequenceOf(job)],
      [waiting, sequenceOf(waiting)],
    ]);
    expect(rows.jobs[0]).toMatchObject({ demand: item.demand, version: 2, state: { state: 'starting' } });
    const { kind: _, jobVersion: __, nodeGenerations: ___, ...facts } = unit;
    expect(rows.runs).toEqual([
      { ...facts, plannedMs: expect.any(Number), startedMs: null, checkpointMs: null, stopping: false },
    ]);
  });

  test('the log is read on from any point, and by scope', async () => {
    const store = await harness.store();
    await store.createProject('a', 'ada');
    await store.createProject('a-b', 'ada');
    await joinNode(store);
    const job = await submitted(store, aSubmit({ spec: aSpec({ project: 'a' }) }));
    await submitted(store, aSubmit({ spec: aSpec({ project: 'a-b' }) }));
    const all = await store.eventsSince(0, 100);
    expect(all.map((event) => event.sequence)).toEqual([1, 2, 3, 4, 5]);
    expect(await store.eventsSince(2, 2)).toEqual(all.slice(2, 4));
    const query = { scope: 'a', after: 0, job: null, limit: 10 };
    expect(await store.events(query)).toEqual([all[0], all[3]]);
    expect(await store.events({ ...query, scope: null })).toEqual(all);
    expect(await store.events({ ...query, job })).toEqual([all[3]]);
    expect(await store.events({ ...query, scope: 'a-b', job })).toEqual([]);
    expect(await store.head()).toMatchObject({ sequence: 5, first: 1 });
  });

  test('a hint follows a commit', async () => {
    const store = await harness.store();
    const hinted = new Promise<void>((resolve) => {
      store.onEvents(resolve);
    });
    await submitted(store);
    await hinted;
  });

  test('ended jobs go after their time, with their runs; what lives stays', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { epoch, job, run } = await dispatched(store, [node]);
    await store.observe(node, [{ kind: 'ended', run, rank: 0, exit: ok }]);
    const alive = await submitted(store);
    const retention = { jobsMs: 3_600_000, eventsMs: 0, auditMs: 0, limit: 10 };
    expect(await store.retain(epoch - 1, retention)).toEqual({ outcome: 'refused', refusal: 'stale-epoch' });
    expect(await store.retain(epoch, retention)).toMatchObject({ value: { jobs: 0 } });
    await harness.pass(5);
    expect(await store.retain(epoch, { ...retention, jobsMs: 1 })).toMatchObject({ value: { jobs: 1 } });
    expect(await store.job(job)).toBeNull();
    expect(await store.runs(job)).toEqual([]);
    expect(await store.job(alive)).not.toBeNull();
  });
}
