import { expect, test } from 'vitest';
import type { DispatchSession, Store } from '../../contract.ts';
import {
  aPlan,
  aSpec,
  aSubmit,
  aUnit,
  entryOfSpec,
  failed,
  joinNode,
  lead,
  ok,
  placement,
  sayHello,
  submitted,
} from '../builders.ts';
import type { Harness } from './harness.ts';

/** A run whose start commands were all taken and accepted. */
export async function dispatched(
  store: Store,
  nodes: readonly DispatchSession[],
  spec = aSpec({ tasks: nodes.length }),
) {
  const epoch = await lead(store);
  const job = await submitted(store, aSubmit({ spec }));
  const unit = aUnit(
    job,
    nodes.map((node) => placement(node.node)),
  );
  await store.commitPlan(epoch, aPlan([unit]));
  const commands = await store.takeOutbox(nodes, 100);
  await store.closeOutbox(
    commands.map(({ id, session }) => ({ id, session, outcome: 'accepted', detail: null })),
  );
  return { epoch, job, unit, run: unit.run };
}

const kindsOf = async (store: Store, job: Parameters<Store['job']>[0]) =>
  (await store.events({ scope: null, after: 0, job, limit: 100 })).map((event) => event.body.kind);

export function runSuite(harness: Harness): void {
  test('a job runs when its task started and ends when it ended, giving everything back', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job, run } = await dispatched(store, [node]);
    expect(await store.observe(node, [{ kind: 'started', run, rank: 0, pid: 1 }])).toMatchObject({
      outcome: 'committed',
    });
    const running = await store.job(job);
    expect(running?.state).toMatchObject({ state: 'running', run });
    expect(running?.startedMs).toBeGreaterThan(0);
    await store.observe(node, [{ kind: 'ended', run, rank: 0, exit: ok }]);
    expect((await store.job(job))?.state).toMatchObject({ state: 'ended', result: { outcome: 'succeeded' } });
    expect(await store.node(node.node)).toMatchObject({ cpuMilliUsed: 0, memoryMibUsed: 0 });
    expect(await kindsOf(store, job)).toEqual([
      'job.submitted',
      'run.planned',
      'run.starting',
      'run.running',
      'run.ended',
      'job.ended',
    ]);
  });

  test('jobs that came to an end by themselves are told in that order, with how long they ran', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const finished = async (exit: typeof ok | ReturnType<typeof failed>) => {
      const { job, run } = await dispatched(store, [node]);
      await store.observe(node, [{ kind: 'started', run, rank: 0, pid: 1 }]);
      await store.observe(node, [{ kind: 'ended', run, rank: 0, exit }]);
      return job;
    };
    const [one, two] = [await finished(ok), await finished(failed())];
    // Somebody else's word ends it: that says nothing about the work.
    const cancelled = await submitted(store);
    await store.cancel(cancelled, 'ada');
    const ended = await store.endedJobs(null, 10);
    expect(ended).toMatchObject([
      { id: one, user: 'ada', spec: aSpec(), estimate: null },
      { id: two, user: 'ada', estimate: null },
    ]);
    for (const { id, ranMs, endedMs } of ended) {
      const row = await store.job(id);
      expect(ranMs).toBe(endedMs - row!.startedMs!);
    }
    expect(await store.endedJobs(null, 1)).toMatchObject([{ id: two }]);
    expect(await store.endedJobs(ended[0]!, 10)).toMatchObject([{ id: two }]);
    expect(await store.endedJobs(ended[1]!, 10)).toEqual([]);
  });

  test('a job that waits for its backoff says so, whatever its entry was told', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const spec = aSpec({ retry: { user: 2, outOfMemory: 0, infrastructure: 0 } });
    const { epoch, job, run } = await dispatched(store, [node], spec);
    await store.observe(node, [{ kind: 'ended', run, rank: 0, exit: failed() }]);
    const verdict = { kind: 'waits', reasons: [{ code: 'behind', ahead: 3 }] } as const;
    await store.commitPlan(epoch, aPlan([], { verdicts: [{ entry: entryOfSpec(spec), verdict }] }));
    expect((await store.job(job))?.verdict).toEqual({
      kind: 'waits',
      reasons: [{ code: 'not-before', untilMs: expect.any(Number), failures: 1 }],
    });
  });

  test('start and end may come in one report, and the port is free again', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    for (let i = 0; i < 2; i++) {
      const { job, run } = await dispatched(store, [node]);
      await store.observe(node, [
        { kind: 'started', run, rank: 0, pid: 1 },
        { kind: 'ended', run, rank: 0, exit: ok },
      ]);
      expect((await store.job(job))?.state).toMatchObject({
        state: 'ended',
        result: { outcome: 'succeeded' },
      });
    }
  });

  test('many nodes report at once', async () => {
    const store = await harness.store();
    const nodes = await Promise.all(Array.from({ length: 20 }, () => joinNode(store)));
    const runs = [];
    for (const node of nodes) runs.push({ node, ...(await dispatched(store, [node])) });
    await Promise.all(
      runs.map(({ node, run }) => store.observe(node, [{ kind: 'started', run, rank: 0, pid: 1 }])),
    );
    await Promise.all(
      runs.map(({ node, run }) => store.observe(node, [{ kind: 'ended', run, rank: 0, exit: ok }])),
    );
    expect((await store.counts()).jobs).toEqual({ ended: 20 });
    expect((await store.counts()).outboxOpen).toBe(0);
  });

  test('an old session, a foreign node and news of the past change nothing', async () => {
    const store = await harness.store();
    const [node, other] = [await joinNode(store), await joinNode(store)];
    const { job, run } = await dispatched(store, [node]);
    const stale = { ...node, session: 'old' };
    expect(await store.observe(stale, [{ kind: 'ended', run, rank: 0, exit: ok }])).toEqual({
      outcome: 'refused',
      refusal: 'stale-session',
    });
    await store.observe(other, [{ kind: 'ended', run, rank: 0, exit: ok }]);
    await store.observe(node, [{ kind: 'ended', run, rank: 9, exit: ok }]);
    expect((await store.job(job))?.state.state).toBe('starting');
    await store.observe(node, [{ kind: 'ended', run, rank: 0, exit: ok }]);
    const { sequence } = await store.head();
    await store.observe(node, [{ kind: 'ended', run, rank: 0, exit: failed() }]);
    await store.observe(node, [{ kind: 'started', run, rank: 0, pid: 1 }]);
    expect((await store.head()).sequence).toBe(sequence);
  });

  test('a failure of the command uses the user’s budget, and only that', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const spec = aSpec({ retry: { user: 1, outOfMemory: 0, infrastructure: 0 } });
    const { job, run } = await dispatched(store, [node], spec);
    await store.observe(node, [{ kind: 'ended', run, rank: 0, exit: failed({ code: 3 }) }]);
    const state = (await store.job(job))?.state;
    expect(state).toMatchObject({ state: 'queued', attempt: 2, failures: { user: 1 } });
    const requeued = (await store.eventsSince(0, 100)).at(-1)?.body;
    expect(requeued).toMatchObject({
      kind: 'job.requeued',
      attempt: 2,
      because: { code: 3, rank: 0, node: node.node },
    });
    expect(await store.runs(job)).toMatchObject([{ attempt: 1, state: { state: 'ended' } }]);
  });

  test('when one task of a gang fails the others are stopped, and the first failure is the result', async () => {
    const store = await harness.store();
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const { job, run } = await dispatched(store, [one, two]);
    await store.observe(one, [{ kind: 'started', run, rank: 0, pid: 1 }]);
    expect((await store.job(job))?.state.state).toBe('starting');
    await store.observe(two, [{ kind: 'started', run, rank: 1, pid: 1 }]);
    expect((await store.job(job))?.state.state).toBe('running');
    await store.observe(two, [{ kind: 'ended', run, rank: 1, exit: failed({ code: 7 }) }]);
    expect((await store.runs(job))[0]?.state.state).toBe('stopping');
    expect(await store.takeOutbox([two], 10)).toEqual([]);
    expect(await store.takeOutbox([one], 10)).toMatchObject([{ kind: 'stop', command: { run } }]);
    expect(await store.node(two.node)).toMatchObject({ cpuMilliUsed: 1000 });
    await store.observe(one, [
      { kind: 'ended', run, rank: 0, exit: failed({ class: 'cancelled', code: null, signal: 'SIGTERM' }) },
    ]);
    const result = { outcome: 'failed', class: 'user', code: 7, rank: 1, node: two.node };
    expect((await store.job(job))?.state).toMatchObject({ state: 'ended', result });
    expect(await store.node(two.node)).toMatchObject({ cpuMilliUsed: 0 });
    expect((await store.counts()).outboxOpen).toBe(0);
    const kinds = await kindsOf(store, job);
    expect(kinds.slice(-5)).toEqual(['run.running', 'task.failed', 'run.stopping', 'run.ended', 'job.ended']);
  });

  test('a task that ends well while others run just ends', async () => {
    const store = await harness.store();
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const { job, run } = await dispatched(store, [one, two]);
    await store.observe(one, [{ kind: 'ended', run, rank: 0, exit: ok }]);
    expect((await store.job(job))?.state.state).toBe('starting');
    await store.observe(two, [{ kind: 'started', run, rank: 1, pid: 1 }]);
    expect((await store.job(job))?.state.state).toBe('running');
    await store.observe(two, [{ kind: 'ended', run, rank: 1, exit: ok }]);
    expect((await store.job(job))?.state).toMatchObject({ state: 'ended', result: { outcome: 'succeeded' } });
  });

  test('a task that came and went unseen does not keep its gang from running', async () => {
    const store = await harness.store();
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const { job, run } = await dispatched(store, [one, two], aSpec({ tasks: 2 }));
    await store.observe(one, [{ kind: 'started', run, rank: 0, pid: 1 }]);
    await sayHello(store, two.node, { tasks: [{ run, rank: 1, state: 'ended', exit: ok }] });
    expect((await store.runs(job))[0]?.state.state).toBe('running');
    expect((await store.job(job))?.state.state).toBe('running');
  });

  test('a cancelled run ends cancelled, unless it had succeeded by then', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    for (const [exit, outcome] of [
      [ok, 'succeeded'],
      [failed({ class: 'cancelled', code: null, signal: 'SIGTERM' }), 'cancelled'],
    ] as const) {
      const { job, run } = await dispatched(store, [node]);
      await store.observe(node, [{ kind: 'started', run, rank: 0, pid: 1 }]);
      expect(await store.cancel(job, 'bo')).toMatchObject({ value: { state: 'stopping' } });
      expect(await store.cancel(job, 'bo')).toMatchObject({ value: { state: 'stopping' } });
      expect(await store.takeOutbox([node], 10)).toMatchObject([{ kind: 'stop' }]);
      await store.observe(node, [{ kind: 'ended', run, rank: 0, exit }]);
      expect((await store.job(job))?.state).toMatchObject({ state: 'ended', result: { outcome } });
    }
  });
}
