import type { JobId, StartUnit } from '@muster/model';
import { expect, test } from 'vitest';
import type { Store } from '../../contract.ts';
import {
  anInventory,
  aPlan,
  aPreemption,
  aSpec,
  aSubmit,
  aUnit,
  failed,
  type JoinedNode,
  joinNode,
  lead,
  ok,
  placement,
  sayHello,
  submitted,
} from '../builders.ts';
import type { Harness } from './harness.ts';

interface World {
  readonly store: Store;
  readonly epoch: number;
  readonly node: JoinedNode;
  /** Runs of one device each, running. */
  readonly victims: readonly StartUnit[];
  readonly preemptor: JobId;
}

async function world(harness: Harness, running = true): Promise<World> {
  const store = await harness.store();
  const epoch = await lead(store);
  const node = await joinNode(store);
  const victims: StartUnit[] = [];
  for (const device of [0, 1])
    victims.push(
      aUnit(await submitted(store), [placement(node.node, { devices: [device] })], {
        port: 20_000 + device,
      }),
    );
  await store.commitPlan(epoch, aPlan(victims));
  if (running) {
    await store.takeOutbox([node], 100);
    for (const { run } of victims) await store.observe(node, [{ kind: 'started', run, rank: 0, pid: 1 }]);
  }
  return { store, epoch, node, victims, preemptor: await submitted(store) };
}

const stopped = failed({ class: 'preemption', reason: { code: 'preemption', message: 'stopped' } });
const kinds = async (store: Store, after: number) =>
  (await store.eventsSince(after, 100)).map((event) => event.body.kind);

export function preemptSuite(harness: Harness): void {
  test('a preemption is one: victims are told to stop, and the job has its claim', async () => {
    const { store, epoch, node, victims, preemptor } = await world(harness);
    const { sequence } = await store.head();
    const unit = aPreemption(preemptor, [placement(node.node, { devices: [0, 1] })], victims);
    const answer = await store.commitPlan(epoch, aPlan([unit]));
    expect(answer).toMatchObject({ value: { applied: [], claimed: [preemptor], dropped: [] } });
    expect(await store.job(preemptor)).toMatchObject({
      version: 2,
      state: { state: 'queued', claim: unit.claim },
      verdict: { kind: 'waits', reasons: [{ code: 'preempting', victims: 2, left: 2 }] },
    });
    expect(await kinds(store, sequence)).toEqual(['run.stopping', 'run.stopping', 'job.claimed']);
    for (const { job, run } of victims) {
      const [row] = await store.runs(job);
      expect(row).toMatchObject({ id: run, state: { state: 'stopping', stop: { preemptor } } });
      expect((await store.job(job))?.state.state).toBe('running');
    }
    const stops = await store.takeOutbox([node], 100);
    expect(stops.map((row) => row.kind)).toEqual(['stop', 'stop']);
    expect(stops[0]?.command).toMatchObject({ class: 'preemption', signal: 'TERM', graceMs: 30_000 });
    expect(stops[0]?.command).toHaveProperty('reason', expect.stringContaining(preemptor));
    // The room is still the victims'.
    expect((await store.node(node.node))?.devicesUsed.slice(0, 2)).toEqual([1000, 1000]);
  });

  test('a victim is queued again at once, charged nothing, and knows who took its room', async () => {
    const { store, epoch, node, victims, preemptor } = await world(harness);
    const [victim] = victims as [StartUnit];
    await store.commitPlan(
      epoch,
      aPlan([aPreemption(preemptor, [placement(node.node, { devices: [0] })], [victim])]),
    );
    await store.observe(node, [{ kind: 'ended', run: victim.run, rank: 0, exit: stopped }]);
    expect(await store.job(victim.job)).toMatchObject({
      state: {
        state: 'queued',
        attempt: 2,
        notBeforeMs: 0,
        failures: { user: 0, infrastructure: 0 },
        failedMs: null,
        preempted: [{ by: preemptor }],
      },
    });
    const [run] = await store.runs(victim.job);
    expect(run?.state).toMatchObject({ result: { class: 'preemption', reason: { code: 'preempted' } } });
    const events = await store.events({ scope: null, after: 0, job: victim.job, limit: 100 });
    expect(events.at(-1)?.body).toMatchObject({ kind: 'job.requeued', preempted: [{ by: preemptor }] });
    // The claimed start is an ordinary one.
    const start = aUnit(preemptor, [placement(node.node, { devices: [0] })], { jobVersion: 2 });
    expect(await store.commitPlan(epoch, aPlan([start]))).toMatchObject({ value: { applied: [start.run] } });
    expect((await store.job(preemptor))?.state).not.toHaveProperty('claim');
  });

  test('a victim that finished by itself has finished, and one whose start never left ends at once', async () => {
    const { store, epoch, node, victims, preemptor } = await world(harness, false);
    const [first, second] = victims as [StartUnit, StartUnit];
    const unit = aPreemption(preemptor, [placement(node.node, { devices: [0] })], [first]);
    await store.commitPlan(epoch, aPlan([unit]));
    expect((await store.job(first.job))?.state).toMatchObject({ state: 'queued', attempt: 2 });
    await store.takeOutbox([node], 100);
    await store.observe(node, [{ kind: 'started', run: second.run, rank: 0, pid: 1 }]);
    const other = await submitted(store);
    await store.commitPlan(
      epoch,
      aPlan([aPreemption(other, [placement(node.node, { devices: [1] })], [second])]),
    );
    await store.observe(node, [{ kind: 'ended', run: second.run, rank: 0, exit: ok }]);
    expect((await store.job(second.job))?.state).toMatchObject({
      state: 'ended',
      result: { outcome: 'succeeded' },
    });
  });

  test('a victim that has ended is no reason to refuse, and others are not stopped for a unit that is dropped', async () => {
    const { store, epoch, node, victims, preemptor } = await world(harness);
    const [gone, lives] = victims as [StartUnit, StartUnit];
    await store.observe(node, [{ kind: 'ended', run: gone.run, rank: 0, exit: ok }]);
    const claim = [placement(node.node, { devices: [0, 1] })];
    const held = await submitted(store);
    await store.hold(held, 'ada');
    const answer = await store.commitPlan(
      epoch,
      aPlan([aPreemption(held, claim, [lives]), aPreemption(preemptor, claim, victims)]),
    );
    expect(answer).toMatchObject({
      value: { claimed: [preemptor], dropped: [{ refusal: 'job-changed' }] },
    });
    expect((await store.runs(lives.job))[0]?.state).toMatchObject({ stop: { preemptor } });
  });

  test('the last claims of a job are told with their victims, oldest first, and of no other job', async () => {
    const { store, epoch, node, victims, preemptor } = await world(harness);
    for (const [device, victim] of victims.entries()) {
      const { version: jobVersion } = (await store.job(preemptor))!;
      const places = [placement(node.node, { devices: [device] })];
      const unit = aPreemption(preemptor, places, [victim], { port: 20_000 + device, jobVersion });
      expect(await store.commitPlan(epoch, aPlan([unit]))).toMatchObject({ value: { claimed: [preemptor] } });
      await store.hold(preemptor, 'ada');
      await store.release(preemptor, 'ada');
    }
    const told = victims.map(({ job, run }) => ({ victims: [{ job, run, right: 'tier' }] }));
    expect(await store.claims(preemptor, 10)).toMatchObject(told);
    expect(await store.claims(preemptor, 1)).toMatchObject(told.slice(1));
    expect(await store.claims(victims[0]!.job, 10)).toEqual([]);
    const events = await store.events({ scope: null, after: 0, job: preemptor, limit: 100 });
    const claimed = events.filter(({ body }) => body.kind === 'job.claimed').map(({ atMs }) => atMs);
    expect((await store.claims(preemptor, 10)).map(({ atMs }) => atMs)).toEqual(claimed);
  });

  test('a claim of what somebody else holds, or of a node that changed, is dropped whole', async () => {
    const { store, epoch, node, victims, preemptor } = await world(harness);
    const [first] = victims as [StartUnit];
    const drop = async (unit: Parameters<typeof aPlan>[0][number]) => {
      const answer = await store.commitPlan(epoch, aPlan([unit]));
      return answer.outcome === 'committed' ? answer.value.dropped.map((one) => one.refusal) : answer;
    };
    const claims = (devices: number[], changes = {}) =>
      aPreemption(preemptor, [placement(node.node, { devices, ...changes })], [first]);
    expect(await drop(claims([0, 1]))).toEqual(['no-capacity']);
    expect(await drop(claims([8]))).toEqual(['no-capacity']);
    expect(await drop(claims([0], { cpuMilli: 63_001 }))).toEqual(['no-capacity']);
    expect(await drop(aPreemption(preemptor, [placement(node.node)], [first], { port: 20_001 }))).toEqual([
      'port-taken',
    ]);
    await sayHello(store, node.node, {
      inventory: anInventory({ labels: { zone: 'b' } }),
      tasks: victims.map(({ run }) => ({ run, rank: 0, state: 'running' as const, exit: null })),
    });
    expect(await drop(claims([0]))).toEqual(['node-changed']);
    expect((await store.runs(first.job))[0]?.state.state).toBe('running');
    expect((await store.job(preemptor))?.state).toMatchObject({ claim: null });
  });

  test.each(['cancel', 'hold'] as const)('%s gives the claim up, and says so', async (how) => {
    const { store, epoch, node, victims, preemptor } = await world(harness);
    await store.commitPlan(
      epoch,
      aPlan([aPreemption(preemptor, [placement(node.node, { devices: [0] })], victims)]),
    );
    const { sequence } = await store.head();
    await store[how](preemptor, 'ada');
    expect(await kinds(store, sequence)).toEqual([
      'job.unclaimed',
      how === 'cancel' ? 'job.ended' : 'job.held',
    ]);
    expect((await store.job(preemptor))?.state).not.toHaveProperty('claim');
  });

  test('the engine gives a claim up by a unit, once', async () => {
    const { store, epoch, node, victims, preemptor } = await world(harness);
    const unit = aPreemption(preemptor, [placement(node.node, { devices: [0] })], victims);
    await store.commitPlan(epoch, aPlan([unit]));
    const { claim: _, nodeGenerations: __, ...rest } = unit;
    const reason = { code: 'node-changed', message: 'the node drains' };
    const release = { ...rest, kind: 'release', jobVersion: 2, reason } as const;
    expect(await store.commitPlan(epoch, aPlan([release]))).toMatchObject({
      value: { released: [preemptor], dropped: [] },
    });
    expect((await store.job(preemptor))?.state).toMatchObject({ state: 'queued', claim: null });
    expect(await store.commitPlan(epoch, aPlan([{ ...release, jobVersion: 3 }]))).toMatchObject({
      value: { released: [], dropped: [{ refusal: 'job-changed' }] },
    });
  });

  /** A running job that is asked for checkpoints, and a stop for another job. */
  async function asked() {
    const store = await harness.store();
    const epoch = await lead(store);
    const node = await joinNode(store);
    const checkpoint = { signal: 'USR1', waitMs: 60_000 } as const;
    const job = await submitted(store, aSubmit({ spec: aSpec({ checkpoint }) }));
    const unit = aUnit(job, [placement(node.node)]);
    await store.commitPlan(epoch, aPlan([unit]));
    const [start] = await store.takeOutbox([node], 100);
    await store.observe(node, [{ kind: 'started', run: unit.run, rank: 0, pid: 1 }]);
    const token = start?.kind === 'start' ? (start.command.tasks[0]?.env.MUSTER_RUN_TOKEN ?? '') : '';
    const preempt = async () => {
      const preemptor = await submitted(store);
      const claim = aPreemption(preemptor, [placement(node.node)], [unit], { port: 20_001 });
      return store.commitPlan(epoch, aPlan([claim]));
    };
    return { store, node, job, unit, token, preempt };
  }

  const told = async (store: Store) =>
    (await store.eventsSince(0, 100))
      .map(({ body }) => body)
      .filter(({ kind }) => kind === 'run.checkpointed');

  test('saved work is stamped with the time of the database and logged at most every few seconds', async () => {
    const { store, node, unit } = await asked();
    const report = (step: number, agoMs: number) =>
      store.observe(node, [{ kind: 'checkpoint', run: unit.run, rank: 0, step, path: '/c', agoMs }]);
    await report(1, 0);
    await report(2, 0);
    // Older than what is known: a report that came late.
    await report(0, 5000);
    expect(await told(store)).toMatchObject([{ step: 1, path: '/c' }]);
    const { runs } = await store.loadEngine();
    const [event] = await told(store);
    expect(runs[0]?.checkpointMs).toBe(event?.kind === 'run.checkpointed' ? event.checkpointMs : 0);
    expect((await store.runs(unit.job))[0]?.checkpoint).toMatchObject({ step: 2, path: '/c' });
  });

  test('a run may tell by its own token, which is worth nothing once it is over', async () => {
    const { store, node, unit, token } = await asked();
    const saved = { step: 7, path: null };
    expect(await store.checkpoint(token, saved)).toMatchObject({ outcome: 'committed' });
    expect(await store.ownRun(token)).toEqual({ job: unit.job, run: unit.run, attempt: 1 });
    expect(await store.ownRun(`${token.slice(0, -1)}x`)).toBeNull();
    expect(await store.ownRun('msr_x')).toBeNull();
    expect(await told(store)).toMatchObject([{ step: 7 }]);
    expect(await store.checkpoint(`${token.slice(0, -1)}x`, saved)).toMatchObject({ refusal: 'bad-token' });
    expect(await store.checkpoint('msr_x', saved)).toMatchObject({ refusal: 'bad-token' });
    await store.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit: ok }]);
    expect(await store.checkpoint(token, saved)).toMatchObject({ refusal: 'bad-token' });
    expect(await store.ownRun(token)).toBeNull();
  });

  test('a preempted run is asked first, and the first checkpoint after that ends the wait', async () => {
    const { store, node, unit, preempt, token } = await asked();
    await store.checkpoint(token, { step: 1, path: null });
    await preempt();
    const [ask] = await store.takeOutbox([node], 100);
    expect(ask).toMatchObject({ kind: 'stop', command: { ask: { signal: 'USR1', waitMs: 60_000 } } });
    if (ask)
      await store.closeOutbox([{ id: ask.id, session: node.session, outcome: 'accepted', detail: null }]);
    await store.observe(node, [
      { kind: 'checkpoint', run: unit.run, rank: 0, step: 1, path: null, agoMs: 60_000 },
    ]);
    expect(await store.takeOutbox([node], 100)).toEqual([]);
    await store.observe(node, [
      { kind: 'checkpoint', run: unit.run, rank: 0, step: 2, path: null, agoMs: 0 },
    ]);
    const [now] = await store.takeOutbox([node], 100);
    expect(now).toMatchObject({ kind: 'stop', command: { ask: null, class: 'preemption' } });
    expect((await told(store)).at(-1)).toMatchObject({ step: 2 });
  });

  test('a checkpoint that comes before the question was taken takes its place', async () => {
    const { store, node, preempt, token } = await asked();
    await preempt();
    await store.checkpoint(token, { step: 3, path: null });
    expect(await store.takeOutbox([node], 100)).toMatchObject([{ kind: 'stop', command: { ask: null } }]);
  });

  test('a cancelled victim stays cancelled', async () => {
    const { store, epoch, node, victims, preemptor } = await world(harness);
    const [victim] = victims as [StartUnit];
    await store.commitPlan(
      epoch,
      aPlan([aPreemption(preemptor, [placement(node.node, { devices: [0] })], [victim])]),
    );
    await store.cancel(victim.job, 'ada');
    await store.observe(node, [{ kind: 'ended', run: victim.run, rank: 0, exit: stopped }]);
    expect((await store.job(victim.job))?.state).toMatchObject({
      state: 'ended',
      result: { outcome: 'cancelled' },
    });
  });
}
