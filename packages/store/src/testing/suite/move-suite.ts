import { entryFacts, entryHead, type JobId, jobDemand, type MoveOrder, type StartUnit } from '@muster/model';
import { expect, test } from 'vitest';
import type { Store } from '../../contract.ts';
import {
  aPlan,
  aSpec,
  aSubmit,
  aUnit,
  failed,
  type JoinedNode,
  joinNode,
  lead,
  ok,
  placement,
  submitted,
} from '../builders.ts';
import type { Harness } from './harness.ts';

interface World {
  readonly store: Store;
  readonly epoch: number;
  readonly node: JoinedNode;
  readonly unit: StartUnit;
  readonly job: JobId;
  readonly order: MoveOrder;
}

const away = { label: 'cluster', op: 'not-in', values: ['here'] } as const;

async function orderOf(store: Store, job: JobId, run: StartUnit['run']): Promise<MoveOrder> {
  const row = await store.job(job);
  if (!row) throw new Error(`no job ${job}`);
  const { spec, submittedBy, estimate } = row;
  const head = entryHead(entryFacts(spec, submittedBy, estimate ?? undefined));
  return { run, place: away, reason: 'new switch', base: { head, demand: jobDemand(spec) } };
}

async function world(harness: Harness, more: Parameters<typeof aSpec>[0] = {}): Promise<World> {
  const store = await harness.store();
  const epoch = await lead(store);
  const node = await joinNode(store);
  const job = await submitted(store, aSubmit({ spec: aSpec(more) }));
  const unit = aUnit(job, [placement(node.node)]);
  await store.commitPlan(epoch, aPlan([unit]));
  await store.takeOutbox([node], 100);
  await store.observe(node, [{ kind: 'started', run: unit.run, rank: 0, pid: 1 }]);
  return { store, epoch, node, unit, job, order: await orderOf(store, job, unit.run) };
}

const stopped = failed({ class: 'preemption', reason: { code: 'stopped', message: 'stopped' } });
const bodies = async (store: Store, after: number) =>
  (await store.eventsSince(after, 100)).map((event) => event.body);
const demandOf = async (store: Store, job: JobId) =>
  (await store.loadEngine()).jobs.find((row) => row.job === job)?.demand;

async function startNext({ store, epoch, node, unit, job }: World, attempt: number): Promise<StartUnit> {
  const version = (await store.job(job))?.version ?? 0;
  const next = aUnit(job, [placement(node.node)], { attempt, jobVersion: version });
  expect(await store.commitPlan(epoch, aPlan([next]))).toMatchObject({ value: { applied: [next.run] } });
  expect(next.run).not.toBe(unit.run);
  await store.takeOutbox([node], 100);
  await store.observe(node, [{ kind: 'started', run: next.run, rank: 0, pid: 1 }]);
  return next;
}

export function moveSuite(harness: Harness): void {
  test('a move asks the run for a checkpoint and stops it, all in one step', async () => {
    const checkpoint = { signal: 'USR1', waitMs: 5000 } as const;
    const { store, node, unit, job, order } = await world(harness, { checkpoint });
    const { sequence } = await store.head();
    expect(await store.move(job, order, 'ann')).toMatchObject({ outcome: 'committed' });
    expect(await bodies(store, sequence)).toMatchObject([
      { kind: 'job.moving', run: unit.run, place: away, by: 'ann', reason: 'new switch' },
      { kind: 'run.stopping', reason: { code: 'moved' }, preemptor: null },
    ]);
    const [stop] = await store.takeOutbox([node], 100);
    expect(stop?.command).toMatchObject({
      class: 'preemption',
      ask: checkpoint,
      reason: 'moved away from cluster here by ann: new switch',
    });
    // A newer checkpoint ends the wait: the stop is sent again without the asking.
    await store.observe(node, [
      { kind: 'checkpoint', run: unit.run, rank: 0, agoMs: 0, step: 4, path: null },
    ]);
    const [again] = await store.takeOutbox([node], 100);
    expect(again?.command).toMatchObject({ class: 'preemption', ask: null });
  });

  test('a cancel waits for no checkpoint that a move asked for: the stop is sent again without the asking', async () => {
    const checkpoint = { signal: 'USR1', waitMs: 3_600_000 } as const;
    const { store, node, unit, job, order } = await world(harness, { checkpoint });
    await store.move(job, order, 'ann');
    expect((await store.takeOutbox([node], 100))[0]?.command).toMatchObject({ ask: checkpoint });
    await store.cancel(job, 'bob');
    const [hurry] = await store.takeOutbox([node], 100);
    expect(hurry).toMatchObject({ kind: 'stop', command: { class: 'preemption', ask: null } });
    // Once more is no news.
    await store.cancel(job, 'bob');
    expect(await store.takeOutbox([node], 100)).toEqual([]);
    await store.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit: stopped }]);
    expect((await store.job(job))?.state).toMatchObject({
      state: 'ended',
      result: { outcome: 'cancelled', reason: { message: 'cancelled by bob' } },
    });
  });

  test('its job waits again, charged nothing, with the place in its demand until its next run has started', async () => {
    const at = await world(harness);
    const { store, node, unit, job, order } = at;
    const base = await demandOf(store, job);
    await store.move(job, order, 'ann');
    expect(await demandOf(store, job)).toEqual(base);
    const { sequence } = await store.head();
    await store.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit: stopped }]);
    const moved = { ...base, constraints: [...(base?.constraints ?? []), away] };
    expect((await bodies(store, sequence)).at(-1)).toMatchObject({ kind: 'job.requeued', demand: moved });
    expect(await store.job(job)).toMatchObject({
      state: {
        state: 'queued',
        attempt: 2,
        notBeforeMs: 0,
        failures: { user: 0, outOfMemory: 0, infrastructure: 0 },
        preempted: [],
        move: { place: away, over: false },
      },
    });
    expect(await demandOf(store, job)).toEqual(moved);
    const next = await startNext(at, 2);
    expect((await store.job(job))?.state).toMatchObject({ state: 'running', move: { over: true } });
    // What the engine was told stays until it is told something else.
    expect(await demandOf(store, job)).toEqual(moved);
    const before = await store.head();
    await store.observe(node, [
      { kind: 'ended', run: next.run, rank: 0, exit: failed({ class: 'infrastructure' }) },
    ]);
    expect((await bodies(store, before.sequence)).at(-1)).toMatchObject({
      kind: 'job.requeued',
      demand: base,
    });
    expect(await demandOf(store, job)).toEqual(base);
    expect((await store.job(job))?.state).not.toHaveProperty('move');
  });

  test('a next run that never started leaves the place as it was', async () => {
    const at = await world(harness);
    const { store, epoch, node, unit, job, order } = at;
    await store.move(job, order, 'ann');
    await store.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit: stopped }]);
    const version = (await store.job(job))?.version ?? 0;
    const next = aUnit(job, [placement(node.node)], { attempt: 2, jobVersion: version });
    await store.commitPlan(epoch, aPlan([next]));
    const [row] = await store.takeOutbox([node], 100);
    await store.closeOutbox([
      { id: row!.id, session: node.session, outcome: 'refused', detail: 'no such image' },
    ]);
    expect((await store.job(job))?.state).toMatchObject({ state: 'queued', move: { over: false } });
    expect((await demandOf(store, job))?.constraints).toContainEqual(away);
  });

  test('a run that ended well before it was stopped has ended', async () => {
    const { store, node, unit, job, order } = await world(harness);
    await store.move(job, order, 'ann');
    await store.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit: ok }]);
    expect((await store.job(job))?.state).toMatchObject({
      state: 'ended',
      result: { outcome: 'succeeded' },
    });
  });

  test('a move is taken back: while it waits its demand is what it was, and what is being stopped stays so', async () => {
    const { store, node, unit, job, order } = await world(harness);
    const base = await demandOf(store, job);
    await store.move(job, order, 'ann');
    await store.unmove(job, 'bob');
    expect((await store.runs(job)).at(-1)?.state.state).toBe('stopping');
    await store.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit: stopped }]);
    expect(await demandOf(store, job)).toEqual(base);
    expect((await store.job(job))?.state).toMatchObject({ state: 'queued', attempt: 2 });

    const other = await world(harness);
    await other.store.move(other.job, other.order, 'ann');
    await other.store.observe(other.node, [{ kind: 'ended', run: other.unit.run, rank: 0, exit: stopped }]);
    const { sequence } = await other.store.head();
    expect(await other.store.unmove(other.job, 'bob')).toMatchObject({ outcome: 'committed' });
    expect(await bodies(other.store, sequence)).toMatchObject([
      { kind: 'job.unmoved', by: 'bob', demand: other.order.base.demand },
    ]);
    expect(await demandOf(other.store, other.job)).toEqual(other.order.base.demand);
    // Once more is no error, and nothing.
    const { sequence: after } = await other.store.head();
    expect(await other.store.unmove(other.job, 'bob')).toMatchObject({ outcome: 'committed' });
    expect(await bodies(other.store, after)).toEqual([]);
  });

  test('only a job that has this very run is moved', async () => {
    const at = await world(harness);
    const { store, node, unit, job, order } = at;
    const waiting = await submitted(store);
    expect(await store.move(waiting, order, 'ann')).toEqual({ outcome: 'refused', refusal: 'not-now' });
    expect(await store.move('job_000000000000000000' as JobId, order, 'ann')).toEqual({
      outcome: 'refused',
      refusal: 'not-found',
    });
    await store.observe(node, [
      { kind: 'ended', run: unit.run, rank: 0, exit: failed({ class: 'infrastructure' }) },
    ]);
    await startNext(at, 2);
    expect(await store.move(job, order, 'ann')).toEqual({ outcome: 'refused', refusal: 'not-now' });
    await store.cancel(job, 'ann');
    const [run] = (await store.runs(job)).slice(-1);
    expect(await store.move(job, { ...order, run: run!.id }, 'ann')).toEqual({
      outcome: 'refused',
      refusal: 'not-now',
    });
  });

  test('a cancelled job goes nowhere', async () => {
    const { store, node, unit, job, order } = await world(harness);
    await store.move(job, order, 'ann');
    await store.cancel(job, 'ann');
    await store.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit: stopped }]);
    expect((await store.job(job))?.state).toMatchObject({ state: 'ended', result: { outcome: 'cancelled' } });
  });

  test('jobs are found by the nodes that they run on', async () => {
    const { store, node, unit, job } = await world(harness);
    const other = await joinNode(store);
    expect((await store.jobsOn([node.node, other.node])).map(({ id }) => id)).toEqual([job]);
    expect(await store.jobsOn([other.node])).toEqual([]);
    await store.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit: ok }]);
    expect(await store.jobsOn([node.node])).toEqual([]);
  });
}
