import { defaultPolicy, type JobId } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, gpus, group, job, jobId, node, oneTask } from './testing/builders.ts';
import { World } from './testing/world.ts';

const whole = oneTask(8);
const served = (world: World): JobId[] => world.decide().units.map((unit) => unit.job);

/** Jobs in the order they get the fleet's only node, one after another. */
function orderOf(world: World): JobId[] {
  const order: JobId[] = [];
  for (let units = world.cycle().units; units.length > 0; units = world.cycle().units) {
    order.push(units[0]!.job);
    world.finish(units[0]!.run);
  }
  return order;
}

describe('the queue', () => {
  test('serves higher tiers, then higher priorities, then first come first served', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, whole));
    world.submit(job(3, whole, { priority: 5 }));
    world.submit(job(4, whole, { tier: 'critical', priority: -5 }));
    world.submit(job(5, whole));
    world.submit(job(6, whole, { tier: 'a tier that is gone', priority: 1000 }));
    expect(orderOf(world)).toEqual([4, 3, 1, 5, 6].map(jobId));
  });

  test('lets jobs of other shapes go on when one does not fit', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(6)));
    world.submit(job(2, oneTask(4)));
    world.submit(job(3, oneTask(2)));
    expect(served(world)).toEqual([jobId(1), jobId(3)]);
  });

  test('never lets a later job pass an earlier one that asks the same', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, whole));
    world.submit(job(2, whole));
    expect(served(world)).toEqual([jobId(1)]);
  });

  test('keeps the place of a job that is held and released, and of one that is tried again', () => {
    const world = new World(loadEngine, node('a'));
    for (const n of [1, 2, 3]) world.submit(job(n, whole));
    world.hold(jobId(2));
    const [first] = world.cycle().units;
    world.requeue(first!.run);
    world.release(jobId(2));
    expect(orderOf(world)).toEqual([1, 2, 3].map(jobId));
  });

  test('holds a job submitted held until it is released', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, whole), true);
    expect(served(world)).toEqual([]);
    world.release(jobId(1));
    expect(served(world)).toEqual([jobId(1)]);
  });

  test('forgets a job that is cancelled while it waits, while it is held and while it is delayed', () => {
    const world = new World(loadEngine, node('a'));
    for (const n of [1, 2, 3]) world.submit(job(n, whole));
    world.requeue(world.cycle().units[0]!.run, 500);
    world.hold(jobId(2));
    for (const n of [1, 2, 3]) world.cancel(jobId(n));
    expect(world.decide()).toMatchObject({ units: [], wakeAtMs: null });
    expect(world.engine.verdict(jobId(1), 0)).toBeNull();
  });

  test('keeps a job out until its backoff ends and says when to look again', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, whole));
    world.submit(job(2, oneTask(1)));
    const [first] = world.cycle().units;
    world.requeue(first!.run, 500);
    const plan = world.cycle();
    expect(plan.wakeAtMs).toBe(1500);
    expect(plan.units.map((unit) => unit.job)).toEqual([jobId(2)]);
    world.finish(plan.units[0]!.run);
    world.nowMs = 1499;
    expect(world.decide()).toMatchObject({ units: [], wakeAtMs: 1500 });
    world.nowMs = 1500;
    expect(world.decide()).toMatchObject({ units: [{ job: jobId(1), attempt: 2 }] });
  });

  test('is reordered when the policy changes', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, whole, { tier: 'critical' }));
    world.submit(job(2, whole, { tier: 'spot' }));
    expect(served(world)).toEqual([jobId(1)]);
    const tiers = defaultPolicy.tiers.map((tier) => ({ ...tier, rank: -tier.rank }));
    world.setPolicy({ ...defaultPolicy, tiers });
    expect(served(world)).toEqual([jobId(2)]);
  });

  test('shares an entry between equal demands however their members are ordered', () => {
    const world = new World(loadEngine, node('a', { devices: [] }));
    const asked = demand(group([gpus(1)]));
    const { exclusive, groups, ...rest } = asked;
    world.submit(job(1, asked));
    world.submit(job(2, { exclusive, ...rest, groups }));
    expect(world.decide().verdicts).toHaveLength(1);
  });

  test('tries again only when something could help', () => {
    const world = new World(loadEngine, node('a'), node('b', { pool: 'cpu', devices: [] }));
    world.submit(job(1, whole));
    world.submit(job(2, oneTask(0)));
    world.cycle();
    world.submit(job(3, oneTask(4)));
    world.cycle();
    const cpuRun = [...world.runs.values()].find((run) => run.job === jobId(2))!;
    world.finish(cpuRun.run);
    expect(served(world)).toEqual([]);
    const gpuRun = [...world.runs.values()].find((run) => run.job === jobId(1))!;
    world.finish(gpuRun.run);
    expect(served(world)).toEqual([jobId(3)]);
  });
});
