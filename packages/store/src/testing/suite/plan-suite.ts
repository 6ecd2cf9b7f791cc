import { expect, test, vi } from 'vitest';
import type { Store } from '../../contract.ts';
import {
  anInventory,
  aPlan,
  aSpec,
  aSubmit,
  aUnit,
  entryOfSpec,
  joinNode,
  lead,
  newId,
  placement,
  sayHello,
  submitted,
} from '../builders.ts';
import type { Harness } from './harness.ts';

const dropped = async (answer: Awaited<ReturnType<Store['commitPlan']>>) =>
  answer.outcome === 'committed' ? answer.value.dropped.map((one) => one.refusal) : answer.outcome;

export function planSuite(harness: Harness): void {
  test('a unit is applied whole: job, run, tasks, capacity, one start row a node, one event', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const job = await submitted(store, aSubmit({ spec: aSpec({ tasks: 3, gpus: 1 }) }));
    expect((await store.job(job))?.deviceMilli).toBeNull();
    const unit = aUnit(job, [
      placement(one.node, { devices: [0] }),
      placement(one.node, { devices: [1] }),
      placement(two.node, { devices: [7] }),
    ]);
    const answer = await store.commitPlan(epoch, aPlan([unit]));
    expect(answer).toMatchObject({ outcome: 'committed', value: { applied: [unit.run], dropped: [] } });
    expect((await store.job(job))?.state).toMatchObject({ state: 'starting', run: unit.run, attempt: 1 });
    expect((await store.job(job))?.deviceMilli).toBe(3000);
    const [run] = await store.runs(job);
    expect(run).toMatchObject({ id: unit.run, attempt: 1, epoch, port: 20_000, state: { state: 'planned' } });
    expect(run?.tasks.map((task) => task.placement)).toEqual(unit.tasks);
    expect(await store.node(one.name)).toMatchObject({ cpuMilliUsed: 2000, memoryMibUsed: 1024 });
    expect((await store.node(two.node))?.devicesUsed).toEqual([0, 0, 0, 0, 0, 0, 0, 1000]);
    expect(await store.counts()).toMatchObject({ outboxOpen: 2, devices: 16, devicesUsed: 3 });
    const last = (await store.eventsSince(0, 100)).at(-1);
    expect(answer).toMatchObject({ sequence: last?.sequence });
    const { kind: _, jobVersion: __, nodeGenerations: ___, ...facts } = unit;
    expect(last?.body).toEqual({
      kind: 'run.planned',
      ...facts,
      version: 2,
      epoch,
      plannedMs: (await store.runs(unit.job))[0]?.plannedMs,
    });
  });

  test('an old epoch and an old policy change nothing', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const node = await joinNode(store);
    const job = await submitted(store);
    const plan = aPlan([aUnit(job, [placement(node.node)])]);
    await lead(store);
    expect(await store.commitPlan(epoch, plan)).toEqual({ outcome: 'refused', refusal: 'stale-epoch' });
    expect(await store.commitPlan(epoch + 1, aPlan(plan.units, { policyVersion: 9 }))).toEqual({
      outcome: 'refused',
      refusal: 'stale-policy',
    });
    expect((await store.job(job))?.state.state).toBe('queued');
    expect(await store.commitPlan(epoch + 1, plan)).toMatchObject({
      value: { applied: [plan.units[0]?.run] },
    });
  });

  test('a job that changed is dropped with a reason, and the rest of the plan stands', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const { node } = await joinNode(store);
    const [cancelled, held, fine] = [await submitted(store), await submitted(store), await submitted(store)];
    await store.cancel(cancelled, 'ada');
    await store.hold(held, 'ada');
    const gone = newId.job();
    const units = [cancelled, held, gone, fine].map((job, i) =>
      aUnit(job, [placement(node)], { port: 20_000 + i }),
    );
    const answer = await store.commitPlan(epoch, aPlan(units));
    expect(answer).toMatchObject({ value: { applied: [units[3]?.run] } });
    expect(await dropped(answer)).toEqual(['job-changed', 'job-changed', 'job-changed']);
    const told = (await store.eventsSince(0, 100)).filter((event) => event.body.kind === 'plan.dropped');
    expect(told.map((event) => 'job' in event.body && event.body.job)).toEqual([cancelled, held, gone]);
  });

  test('a node that changed, drains or fell silent takes nothing', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const [changed, draining, silent] = [await joinNode(store), await joinNode(store), await joinNode(store)];
    await sayHello(store, changed.node, { inventory: anInventory({ labels: { zone: 'b' } }) });
    await store.drain(draining.node, { by: 'ada', reason: 'fan' }, 'ada');
    await store.silence(silent);
    const units = [];
    for (const { node } of [changed, draining, silent])
      units.push(aUnit(await submitted(store), [placement(node)]));
    expect(await dropped(await store.commitPlan(epoch, aPlan(units)))).toEqual([
      'node-changed',
      'node-changed',
      'node-changed',
    ]);
    await store.drain(draining.node, null, 'ada');
    expect(await store.commitPlan(epoch, aPlan([units[1]!]))).toMatchObject({ value: { dropped: [] } });
  });

  test('nothing is sold twice: devices, cores, memory and ports, also within one plan', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const { node } = await joinNode(store);
    const unit = async (change: Parameters<typeof placement>[1], port: number) =>
      aUnit(await submitted(store), [placement(node, change)], { port });
    const units = [
      await unit({ devices: [0, 1] }, 1),
      await unit({ devices: [1, 2] }, 2),
      await unit({ devices: [8] }, 3),
      await unit({ cpuMilli: 63_001 }, 4),
      await unit({ memoryMib: 512 * 1024 }, 5),
      await unit({}, 1),
      await unit({ cpuMilli: 63_000, memoryMib: 512 * 1023 }, 6),
      await unit({ cpuMilli: 1 }, 7),
    ];
    const answer = await store.commitPlan(epoch, aPlan(units));
    expect(answer).toMatchObject({ value: { applied: [units[0]?.run, units[6]?.run] } });
    expect(await dropped(answer)).toEqual([
      'no-capacity',
      'no-capacity',
      'no-capacity',
      'no-capacity',
      'port-taken',
      'no-capacity',
    ]);
    expect(await store.node(node)).toMatchObject({ cpuMilliUsed: 64_000 });
  });

  test('parts of a device are sold up to the whole of it, and given back', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const { node } = await joinNode(store);
    const unit = async (deviceMilli: number, port: number) =>
      aUnit(await submitted(store), [placement(node, { devices: [3], deviceMilli })], { port });
    const units = [await unit(500, 1), await unit(501, 2), await unit(500, 3), await unit(1000, 4)];
    const answer = await store.commitPlan(epoch, aPlan(units));
    expect(answer).toMatchObject({ value: { applied: [units[0]?.run, units[2]?.run] } });
    expect((await store.node(node))?.devicesUsed[3]).toBe(1000);
    await store.cancel(units[0]!.job, 'ada');
    expect((await store.node(node))?.devicesUsed[3]).toBe(500);
  });

  test('an exclusive run is alone on its nodes', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const unit = async (node: typeof one, exclusive: boolean, port: number) =>
      aUnit(await submitted(store), [placement(node.node)], { exclusive, port });
    const units = [
      await unit(one, true, 1),
      await unit(one, false, 2),
      await unit(two, false, 3),
      await unit(two, true, 4),
      await unit(two, false, 5),
    ];
    const answer = await store.commitPlan(epoch, aPlan(units));
    expect(answer).toMatchObject({ value: { applied: [units[0]?.run, units[2]?.run, units[4]?.run] } });
    await store.cancel(units[0]!.job, 'ada');
    expect(await store.commitPlan(epoch, aPlan([units[1]!]))).toMatchObject({ value: { dropped: [] } });
  });

  test('a gang that does not fit takes nothing at all', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const [one, two] = [await joinNode(store), await joinNode(store)];
    const full = aUnit(await submitted(store), [placement(two.node, { devices: [0] })]);
    const gang = aUnit(await submitted(store), [placement(one.node), placement(two.node, { devices: [0] })]);
    await store.commitPlan(epoch, aPlan([full, gang]));
    expect(await store.node(one.node)).toMatchObject({ cpuMilliUsed: 0 });
    expect(await store.runs(gang.job)).toEqual([]);
  });

  test('the verdict of an entry is what its waiting jobs show', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const spec = aSpec({ gpus: 4 });
    const job = await submitted(store, aSubmit({ spec }));
    const other = await submitted(store);
    const verdict = { kind: 'waits', reasons: [{ code: 'behind', ahead: 3 }] } as const;
    await store.commitPlan(epoch, aPlan([], { verdicts: [{ entry: entryOfSpec(spec), verdict }] }));
    expect((await store.job(job))?.verdict).toEqual(verdict);
    expect((await store.job(other))?.verdict).toBeNull();
    await store.cancel(job, 'ada');
    expect((await store.job(job))?.verdict).toBeNull();
  });

  test('a job that came after the verdict was told does not show it until it is told again', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const verdict = { kind: 'waits', reasons: [{ code: 'behind', ahead: 3 }] } as const;
    const tell = () =>
      store.commitPlan(epoch, aPlan([], { verdicts: [{ entry: entryOfSpec(aSpec()), verdict }] }));
    await store.cancel(await submitted(store), 'ada');
    await tell();
    const toldMs = await store.nowMs();
    await vi.waitUntil(async () => (await store.nowMs()) > toldMs);
    const later = await submitted(store);
    expect((await store.job(later))?.verdict).toBeNull();
    await tell();
    expect((await store.job(later))?.verdict).toEqual(verdict);
  });
}
