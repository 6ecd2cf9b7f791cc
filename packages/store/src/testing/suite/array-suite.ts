import { memberId, parseRunId, runId } from '@muster/model';
import { expect, test } from 'vitest';
import type { Store } from '../../contract.ts';
import {
  aPlan,
  aPreemption,
  aSpec,
  aSubmit,
  aUnit,
  failed,
  joinNode,
  lead,
  ok,
  placement,
  submitted,
} from '../builders.ts';
import type { Harness } from './harness.ts';

type Job = Parameters<Store['job']>[0];
const retry = { user: 1, outOfMemory: 0, infrastructure: 1 };

async function anArray(harness: Harness, count: number, parallel: number | null = null, more = {}) {
  const store = await harness.store();
  const node = await joinNode(store);
  const epoch = await lead(store);
  const array = await submitted(
    store,
    aSubmit({ spec: aSpec({ array: { count, parallel }, retry, ...more }) }),
  );
  let port = 20_000;
  const start = (index: number, changes = {}) =>
    aUnit(memberId(array, index), [placement(node.node)], { port: port++, ...changes });
  const commit = async (...units: ReturnType<typeof start>[]) => {
    const answer = await store.commitPlan(epoch, aPlan(units));
    await store.takeOutbox([node], 1000);
    return answer;
  };
  const report = (id: Job, attempt: number, exit = ok) =>
    store.observe(node, [
      { kind: 'started', run: runId(id, attempt), rank: 0, pid: 1 },
      { kind: 'ended', run: runId(id, attempt), rank: 0, exit },
    ]);
  return { store, node, epoch, array, start, commit, report, of: (index: number) => memberId(array, index) };
}

const eventsOf = async (store: Store, job: Job) =>
  (await store.events({ scope: null, after: 0, job, limit: 1000 })).map(({ body }) => body);

export function arraySuite(harness: Harness): void {
  test('a million waiting members are one row, one event and one range', async () => {
    const { store, array, of } = await anArray(harness, 1_000_000);
    expect(await eventsOf(store, array)).toMatchObject([
      { kind: 'job.submitted', array: { count: 1_000_000 } },
    ]);
    expect((await store.job(array))?.state).toMatchObject({
      state: 'queued',
      waiting: [[0, 999_999]],
      live: 0,
    });
    expect(await store.members({ array, states: null, outcome: null, after: -1, limit: 10 })).toEqual([]);
    expect((await store.job(of(999_999)))?.state).toMatchObject({ state: 'queued', attempt: 1 });
    expect(await store.job(of(1_000_000))).toBeNull();
    const rows = await store.loadEngine();
    expect(rows.arrays).toMatchObject([{ job: array, array: { count: 1_000_000, parallel: null } }]);
    expect(rows.jobs).toEqual([]);
    expect((await store.jobs(all)).map(({ id }) => id)).toEqual([array]);
  });

  test('a member gets its row with its first plan, and its commands know its index', async () => {
    const { store, node, array, start, epoch, of } = await anArray(harness, 5);
    await store.commitPlan(epoch, aPlan([start(0), start(1), start(3)]));
    expect((await store.job(array))?.state).toMatchObject({
      state: 'running',
      live: 3,
      waiting: [
        [2, 2],
        [4, 4],
      ],
    });
    expect((await store.job(of(3)))?.state).toMatchObject({ state: 'starting', run: runId(of(3), 1) });
    const commands = await store.takeOutbox([node], 100);
    const indices = commands.map(({ command }) =>
      'tasks' in command ? command.tasks[0]?.env.MUSTER_ARRAY_INDEX : null,
    );
    expect(indices.sort()).toEqual(['0', '1', '3']);
    // The token of each tells whose it is.
    for (const { command } of commands) {
      if (!('tasks' in command)) continue;
      const { MUSTER_RUN_TOKEN: token = '' } = command.tasks[0]?.env ?? {};
      expect(await store.ownRun(token)).toEqual({ job: command.job, run: command.run, attempt: 1 });
    }
    const { jobs, runs } = await store.loadEngine();
    expect(jobs.map(({ job }) => job).sort()).toEqual([of(0), of(1), of(3)]);
    expect(runs.map(({ job }) => job).sort()).toEqual([of(0), of(1), of(3)]);
    expect(runs.map(({ run }) => parseRunId(run))).toContainEqual({ job: of(3), attempt: 1 });
  });

  test('what going on from a checkpoint takes is known of the array and of its members', async () => {
    const restoreMs = 90_000;
    const { store, array, start, commit, of } = await anArray(harness, 2, null, { restoreMs });
    expect(await eventsOf(store, array)).toMatchObject([{ kind: 'job.submitted', restoreMs }]);
    await commit(start(0));
    const { arrays, jobs } = await store.loadEngine();
    expect(arrays).toMatchObject([{ job: array, restoreMs }]);
    expect(jobs).toMatchObject([{ job: of(0), restoreMs }]);
    await submitted(store, aSubmit());
    expect((await store.loadEngine()).jobs[1]).not.toHaveProperty('restoreMs');
  });

  test('a member that started, was dropped or does not exist starts no second time', async () => {
    const { store, commit, start, of, array } = await anArray(harness, 3);
    await commit(start(0));
    await store.cancel(of(1), 'ada');
    const version = (await store.job(array))!.version;
    const answer = await commit(
      start(0, { jobVersion: version }),
      start(1, { jobVersion: version }),
      start(2, { jobVersion: version }),
      start(3, { jobVersion: version }),
    );
    const dropped = [0, 1, 3].map((index) => ({ run: runId(of(index), 1), refusal: 'job-changed' }));
    expect(answer).toMatchObject({ value: { applied: [runId(of(2), 1)], dropped } });
  });

  test('progress of members spoils no plan for the others, what people do to the array does', async () => {
    const { store, commit, start, report, of, array } = await anArray(harness, 4);
    await commit(start(0));
    await report(of(0), 1);
    expect(await commit(start(1))).toMatchObject({ value: { dropped: [] } });
    await store.hold(array, 'ada');
    await store.release(array, 'ada');
    expect(await commit(start(2))).toMatchObject({ value: { applied: [] } });
    expect(await commit(start(2, { jobVersion: 3 }))).toMatchObject({ value: { dropped: [] } });
  });

  test('one member fails for itself: it is retried, and the array tells the counts when all are over', async () => {
    const { store, commit, start, report, of, array } = await anArray(harness, 3);
    await commit(start(0), start(1), start(2));
    await report(of(0), 1);
    await report(of(1), 1, failed());
    await report(of(2), 1, failed());
    expect((await store.job(of(1)))?.state).toMatchObject({ state: 'queued', attempt: 2 });
    expect((await store.job(array))?.state).toMatchObject({ state: 'queued', again: 2, succeeded: 1 });
    await commit(start(1, { attempt: 2, jobVersion: 3 }), start(2, { attempt: 2, jobVersion: 3 }));
    await report(of(1), 2);
    expect((await store.job(array))?.state).toMatchObject({ state: 'running', live: 1, again: 0 });
    await report(of(2), 2, failed());
    expect((await store.job(array))?.state).toMatchObject({
      state: 'ended',
      succeeded: 2,
      failed: 1,
      result: { outcome: 'failed', reason: { message: '2 of 3 members succeeded, 1 failed' } },
    });
    const failures = await store.members({ array, states: null, outcome: 'failed', after: -1, limit: 10 });
    expect(failures.map(({ id }) => id)).toEqual([of(2)]);
    expect((await eventsOf(store, array)).at(-1)).toMatchObject({ kind: 'job.ended', job: array });
    expect((await store.runs(of(1))).map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await store.runs(array)).toEqual([]);
    expect(await store.loadEngine()).toMatchObject({ arrays: [], jobs: [], runs: [] });
  });

  test('all members succeed and so does the array', async () => {
    const { store, commit, start, report, of, array } = await anArray(harness, 2);
    await commit(start(0), start(1));
    await report(of(0), 1);
    await report(of(1), 1);
    expect((await store.job(array))?.state).toMatchObject({
      state: 'ended',
      result: { outcome: 'succeeded' },
    });
    expect((await store.job(array))?.startedMs).toBeGreaterThan(0);
  });

  test('a range is cancelled: what never started is dropped, what runs is stopped, the rest goes on', async () => {
    const { store, node, commit, start, of, array } = await anArray(harness, 6);
    await commit(start(0), start(1));
    const answer = await store.cancelRange(array, [1, 3], 'bo');
    expect(answer).toMatchObject({ value: { state: 'running', cancelled: 2, live: 2, waiting: [[4, 5]] } });
    expect((await store.job(of(2)))?.state).toMatchObject({
      state: 'ended',
      result: { outcome: 'cancelled' },
    });
    expect((await store.job(of(1)))?.state).toMatchObject({ state: 'stopping', by: 'bo' });
    expect((await store.takeOutbox([node], 10)).map(({ kind, command }) => [kind, command.run])).toEqual([
      ['stop', runId(of(1), 1)],
    ]);
    expect(await store.cancelRange(array, [4, 6], 'bo')).toEqual({
      outcome: 'refused',
      refusal: 'not-found',
    });
  });

  test('a cancelled array stops its members and ends with the last of them', async () => {
    const { store, commit, start, report, of, array } = await anArray(harness, 100);
    await commit(start(0), start(1));
    expect(await store.cancel(array, 'bo')).toMatchObject({
      value: { state: 'stopping', live: 2, cancelled: 98 },
    });
    await report(of(0), 1, failed({ class: 'cancelled' }));
    expect(await store.cancel(array, 'bo')).toMatchObject({ value: { state: 'stopping', live: 1 } });
    await report(of(1), 1);
    expect((await store.job(array))?.state).toMatchObject({
      state: 'ended',
      succeeded: 1,
      cancelled: 99,
      result: { outcome: 'cancelled', reason: { message: 'cancelled by bo' } },
    });
  });

  test('a held array starts nobody, gives its claims up, and members cannot be held by themselves', async () => {
    const { store, node, epoch, commit, start, of, array } = await anArray(harness, 4);
    await commit(start(0));
    const victim = start(0);
    const claim = aPreemption(of(1), [placement(node.node)], [victim], { port: 20_050 });
    expect(await store.commitPlan(epoch, aPlan([claim]))).toMatchObject({ value: { claimed: [of(1)] } });
    expect(await store.hold(array, 'bo')).toMatchObject({ value: { state: 'held', live: 1, again: 1 } });
    expect((await store.job(of(1)))?.state).toMatchObject({ state: 'queued', claim: null });
    expect((await store.job(of(1)))?.verdict).toMatchObject({ reasons: [{ code: 'held', by: 'bo' }] });
    const version = (await store.job(of(1)))!.version;
    expect(await commit(start(1, { jobVersion: version }), start(2, { jobVersion: 2 }))).toMatchObject({
      value: { applied: [] },
    });
    expect(await store.hold(of(1), 'bo')).toEqual({ outcome: 'refused', refusal: 'member' });
    expect(await store.release(array, 'bo')).toMatchObject({ value: { state: 'running' } });
    expect(await commit(start(1, { jobVersion: version }))).toMatchObject({ value: { dropped: [] } });
  });

  test('an array at its limit says so, and so do the members that wait', async () => {
    const { store, commit, start, of, array } = await anArray(harness, 4, 2);
    await commit(start(0), start(1));
    const verdict = { kind: 'waits', reasons: [{ code: 'parallel', running: 2, parallel: 2 }] };
    expect((await store.job(array))?.verdict).toEqual(verdict);
    expect((await store.job(of(3)))?.verdict).toEqual(verdict);
  });

  test('members are listed by page and state, and go with their array', async () => {
    const { store, commit, start, report, of, array, epoch } = await anArray(harness, 12);
    await commit(...Array.from({ length: 12 }, (_, index) => start(index)));
    for (const index of [2, 10, 11]) await report(of(index), 1);
    const list = async (after: number, states: ('ended' | 'starting')[] | null) =>
      (await store.members({ array, states, outcome: null, after, limit: 4 })).map(({ id }) => id);
    expect(await list(-1, null)).toEqual([of(0), of(1), of(2), of(3)]);
    expect(await list(8, null)).toEqual([of(9), of(10), of(11)]);
    expect(await list(-1, ['ended'])).toEqual([of(2), of(10), of(11)]);
    const retention = { jobsMs: 0, eventsMs: 1e12, auditMs: 1e12, limit: 10 };
    await harness.pass(5);
    expect(await store.retain(epoch, retention)).toMatchObject({ value: { jobs: 0 } });
    for (const index of [0, 1, 3, 4, 5, 6, 7, 8, 9]) await report(of(index), 1);
    await harness.pass(5);
    expect(await store.retain(epoch, retention)).toMatchObject({ value: { jobs: 1 } });
    expect(await store.job(of(2))).toBeNull();
    expect(await store.runs(of(2))).toEqual([]);
  });
}

const all = {
  scope: null,
  project: null,
  states: null,
  name: null,
  submittedBy: null,
  before: null,
  limit: 10,
} as const;
