import { expect, test } from 'vitest';
import type { DispatchSession, OutboxCommand, Store } from '../../contract.ts';
import { aPlan, aSpec, aSubmit, aUnit, joinNode, lead, placement, sayHello, submitted } from '../builders.ts';
import type { Harness } from './harness.ts';

async function planned(store: Store, nodes: readonly DispatchSession[]) {
  const epoch = await lead(store);
  const job = await submitted(store, aSubmit({ spec: aSpec({ tasks: nodes.length }) }));
  const unit = aUnit(
    job,
    nodes.map((node) => placement(node.node)),
  );
  const answer = await store.commitPlan(epoch, aPlan([unit]));
  if (answer.outcome !== 'committed' || answer.value.applied.length !== 1) throw new Error('not planned');
  return { epoch, job, unit };
}

const done = (commands: readonly OutboxCommand[], outcome: 'accepted' | 'refused' | 'stale-epoch') =>
  commands.map(({ id, session }) => ({
    id,
    session,
    outcome,
    detail: outcome === 'refused' ? 'no such image' : null,
  }));

export function outboxSuite(harness: Harness): void {
  test('a start row is handed once to the session that holds the node, with all it needs', async () => {
    const store = await harness.store();
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const { epoch, job, unit } = await planned(store, [one, two]);
    expect(await store.takeOutbox([{ ...one, session: 'other' }], 10)).toEqual([]);
    const commands = await store.takeOutbox([one], 10);
    expect(commands).toMatchObject([
      {
        kind: 'start',
        epoch,
        node: one.node,
        session: one.session,
        command: { run: unit.run, job, user: 'ada', stopAfterMs: 300_000 },
      },
    ]);
    const [command] = commands;
    const tasks = command?.kind === 'start' ? command.command.tasks : [];
    expect(tasks).toMatchObject([{ rank: 0, command: ['true'], cpuMilli: 1000, devices: [] }]);
    expect(tasks[0]?.env).toMatchObject({
      A: '1',
      RANK: '0',
      WORLD_SIZE: '2',
      MASTER_ADDR: '10.0.0.1',
      MUSTER_NODES: `${one.name},${two.name}`,
    });
    expect((await store.runs(job))[0]?.state.state).toBe('starting');
    expect(await store.takeOutbox([one], 10)).toEqual([]);
    expect(await store.takeOutbox([one, two], 10)).toHaveLength(1);
    const starting = (await store.eventsSince(0, 100)).filter((event) => event.body.kind === 'run.starting');
    expect(starting).toHaveLength(1);
  });

  test('accepted closes the row and the tasks are the agent’s', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job } = await planned(store, [node]);
    await store.closeOutbox(done(await store.takeOutbox([node], 10), 'accepted'));
    expect((await store.counts()).outboxOpen).toBe(0);
    expect((await store.runs(job))[0]?.tasks[0]?.state).toEqual({ state: 'accepted' });
  });

  test('a refused start ends its tasks as infrastructure, and the job is tried again', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job } = await planned(store, [node]);
    const commands = await store.takeOutbox([node], 10);
    await store.closeOutbox(done(commands, 'refused'));
    await store.closeOutbox(done(commands, 'refused'));
    expect((await store.runs(job))[0]?.state).toMatchObject({
      state: 'ended',
      result: {
        outcome: 'failed',
        class: 'infrastructure',
        reason: { code: 'start-refused', message: 'no such image' },
      },
    });
    expect((await store.job(job))?.state).toMatchObject({ state: 'queued', attempt: 2, avoid: [node.node] });
    expect(await store.counts()).toMatchObject({ outboxOpen: 0 });
    expect((await store.node(node.node))?.cpuMilliUsed).toBe(0);
  });

  test('a row refused for its epoch is handed out again, with the epoch of today', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { epoch } = await planned(store, [node]);
    const first = await store.takeOutbox([node], 10);
    const next = await lead(store);
    await store.closeOutbox(done(first, 'stale-epoch'));
    const again = await store.takeOutbox([node], 10);
    expect(again).toMatchObject([{ id: first[0]?.id, epoch: next }]);
    expect(next).toBe(epoch + 1);
  });

  test('a new session gets the rows again, an old one nothing', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    await planned(store, [node]);
    const first = await store.takeOutbox([node], 10);
    const again = await sayHello(store, node.node);
    expect(await store.takeOutbox([node], 10)).toEqual([]);
    expect(await store.takeOutbox([again], 10)).toMatchObject([{ id: first[0]?.id }]);
  });

  test('a late answer of an older session settles nothing: the session that has the row answers for it', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job } = await planned(store, [node]);
    const first = await store.takeOutbox([node], 10);
    const again = await sayHello(store, node.node);
    const second = await store.takeOutbox([again], 10);
    const late = ['refused', 'stale-epoch', 'accepted'] as const;
    for (const outcome of late) await store.closeOutbox(done(first, outcome));
    expect((await store.runs(job))[0]).toMatchObject({
      state: { state: 'starting' },
      tasks: [{ state: { state: 'planned' } }],
    });
    expect(await store.takeOutbox([again], 10)).toEqual([]);
    await store.closeOutbox(done(second, 'accepted'));
    expect((await store.runs(job))[0]?.tasks[0]?.state).toEqual({ state: 'accepted' });
    expect((await store.counts()).outboxOpen).toBe(0);
  });

  test('a run cancelled before its start left is over at once and is never sent', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job } = await planned(store, [node]);
    expect(await store.cancel(job, 'bo')).toMatchObject({
      value: { state: 'ended', result: { outcome: 'cancelled' } },
    });
    expect(await store.takeOutbox([node], 10)).toEqual([]);
    expect(await store.node(node.node)).toMatchObject({ cpuMilliUsed: 0 });
    const kinds = (await store.events({ scope: null, after: 0, job, limit: 20 })).map(
      (event) => event.body.kind,
    );
    expect(kinds).toEqual([
      'job.submitted',
      'run.planned',
      'job.stopping',
      'run.stopping',
      'run.ended',
      'job.ended',
    ]);
  });

  test('a gang of which one start left is stopped there and over elsewhere', async () => {
    const store = await harness.store();
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const { job, unit } = await planned(store, [one, two]);
    await store.takeOutbox([one], 10);
    expect(await store.cancel(job, 'bo')).toMatchObject({ value: { state: 'stopping' } });
    expect(await store.takeOutbox([two], 10)).toEqual([]);
    expect(await store.takeOutbox([one], 10)).toMatchObject([
      { kind: 'stop', command: { run: unit.run, class: 'cancelled', signal: 'TERM', graceMs: 30_000 } },
    ]);
    const states = (await store.runs(job))[0]?.tasks.map((task) => task.state.state);
    expect(states).toEqual(['planned', 'ended']);
    expect(await store.node(two.node)).toMatchObject({ cpuMilliUsed: 1000 });
  });

  test('a start taken before a crash is dropped, not sent, when its run is being stopped by then', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job } = await planned(store, [node]);
    await store.takeOutbox([node], 10);
    await store.cancel(job, 'bo');
    const again = await sayHello(store, node.node);
    const commands = await store.takeOutbox([again], 10);
    expect(commands.filter((command) => command.kind === 'start')).toEqual([]);
    expect((await store.job(job))?.state).toMatchObject({ state: 'ended', result: { outcome: 'cancelled' } });
    expect((await store.counts()).outboxOpen).toBe(0);
  });

  test('where a start may come late, it keeps its capacity while its run is stopped, is sent again and then stopped', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const { job, unit } = await planned(store, [node]);
    await store.takeOutbox([{ ...node, fenced: false }], 10);
    await store.cancel(job, 'bo');
    const again = { ...(await sayHello(store, node.node)), fenced: false };
    const commands = await store.takeOutbox([again], 10);
    expect(commands).toMatchObject([
      { kind: 'start', command: { run: unit.run } },
      { kind: 'stop', command: { run: unit.run } },
    ]);
    expect((await store.job(job))?.state).toMatchObject({ state: 'stopping' });
    expect((await store.node(node.node))?.cpuMilliUsed).toBe(1000);
    // The stop overtook the start: it is said again once the start is known to be there, whatever was answered.
    const [start, stop] = [done(commands.slice(0, 1), 'accepted'), done(commands.slice(1), 'accepted')];
    await store.closeOutbox(start);
    await store.closeOutbox(stop);
    expect(await store.takeOutbox([again], 10)).toMatchObject([{ kind: 'stop', command: { run: unit.run } }]);
    const reason = { code: 'cancelled', message: 'stopped' };
    const exit = { ok: false, class: 'cancelled', code: null, signal: null, reason } as const;
    await store.observe(again, [{ kind: 'ended', run: unit.run, rank: 0, exit }]);
    expect((await store.job(job))?.state).toMatchObject({ state: 'ended', result: { outcome: 'cancelled' } });
    expect(await store.counts()).toMatchObject({ outboxOpen: 0 });
    expect((await store.node(node.node))?.cpuMilliUsed).toBe(0);
  });

  test('a stop that was answered before the start was is said once more when the start is accepted', async () => {
    const store = await harness.store();
    const node = { ...(await joinNode(store)), fenced: false };
    const { job } = await planned(store, [node]);
    const start = await store.takeOutbox([node], 10);
    await store.cancel(job, 'bo');
    await store.closeOutbox(done(await store.takeOutbox([node], 10), 'accepted'));
    expect(await store.takeOutbox([node], 10)).toEqual([]);
    await store.closeOutbox(done(start, 'accepted'));
    expect(await store.takeOutbox([node], 10)).toMatchObject([{ kind: 'stop' }]);
  });

  test('a gang that fails on a node which is to be told of its stop anyway is told once', async () => {
    const store = await harness.store();
    const node = await joinNode(store);
    const epoch = await lead(store);
    const job = await submitted(store, aSubmit({ spec: aSpec({ tasks: 2 }) }));
    const unit = aUnit(job, [placement(node.node, { rank: 0 }), placement(node.node, { rank: 1 })]);
    await store.commitPlan(epoch, aPlan([unit]));
    await store.closeOutbox(done(await store.takeOutbox([node], 10), 'accepted'));
    // Of two tasks it has lost one: the other is to be stopped.
    const again = await sayHello(store, node.node, {
      tasks: [{ run: unit.run, rank: 0, state: 'running', exit: null }],
    });
    expect(await store.takeOutbox([again], 10)).toMatchObject([{ kind: 'stop', command: { run: unit.run } }]);
  });
}
