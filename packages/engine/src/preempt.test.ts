import { defaultPolicy, type Policy, type PreemptUnit, type Quota } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, jobId, node, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

const minute = 60_000;

function preempts(world: World): PreemptUnit[] {
  return world.decide().units.filter((unit) => unit.kind === 'preempt');
}

/** Runs everything that starts, and lets an hour pass, so that nothing is shielded. */
function settle(world: World, ms = 60 * minute): void {
  for (const unit of starts(world.cycle())) world.running(unit.run);
  world.nowMs += ms;
}

/** One node of 8 devices full of one-device spot jobs 1 to 8, an hour old. */
function fullOfSpot(): World {
  const world = new World(loadEngine, node('a'));
  for (let n = 1; n <= 8; n++) world.submit(job(n, oneTask(1), { tier: 'spot' }));
  settle(world);
  return world;
}

const victimsOf = (unit: PreemptUnit | undefined) => unit?.claim.victims.map((victim) => victim.job);

const guarantee = (project: string, gpu: number, more: Partial<Quota> = {}): Quota => ({
  project,
  guaranteed: { gpu: gpu * 1000 },
  ceiling: {},
  userCeiling: {},
  weightMilli: 1000,
  preemptWithin: 'never',
  ...more,
});

describe('a job without a place', () => {
  test('counts what going on from a checkpoint takes as lost too, once there is a checkpoint', () => {
    const world = new World(loadEngine, node('a', { devices: devices(3) }));
    const restoreMs = 30 * minute;
    world.submit(job(1, oneTask(1), { tier: 'spot', restoreMs }));
    world.submit(job(2, oneTask(1), { tier: 'spot' }));
    world.submit(job(3, oneTask(1), { tier: 'spot', restoreMs }));
    for (const { run } of starts(world.cycle())) world.running(run);
    const runOf = (n: number) => [...world.runs.values()].find((run) => run.job === jobId(n))!.run;
    world.nowMs += 60 * minute;
    world.checkpoint(runOf(2));
    world.nowMs += 10 * minute;
    world.checkpoint(runOf(1));
    world.nowMs += 10 * minute;
    // The first would lose 10 minutes and 30 more, the second 20, the silent one 80.
    world.submit(job(8, oneTask(1), { tier: 'standard' }));
    world.submit(job(9, oneTask(1), { tier: 'standard' }));
    expect(preempts(world).map(victimsOf)).toEqual([[jobId(2)], [jobId(1)]]);
    expect(world.rebuilt().stateHash()).toBe(world.engine.stateHash());
  });

  test('looks for victims when its backoff ends, also where others of its kind wait already', () => {
    const world = new World(loadEngine, node('a', { devices: devices(1) }));
    world.submit(job(1, oneTask(1), { tier: 'standard' }));
    const [first] = starts(world.cycle());
    world.requeue(first!.run, 100);
    // Two of spot: one takes the device, and one waits, so that it is known that there is no room.
    for (const n of [2, 3]) world.submit(job(n, oneTask(1), { tier: 'spot' }));
    for (const { run } of starts(world.cycle())) world.running(run);
    world.cycle();
    world.nowMs += 60 * minute;
    expect(preempts(world).map(victimsOf)).toEqual([[jobId(2)]]);
  });

  test('stops the runs that lose the least, and gets exactly their places', () => {
    const world = fullOfSpot();
    world.checkpoint(starts(world.decide())[0]?.run ?? [...world.runs.keys()][2]!);
    world.nowMs += minute;
    world.submit(job(9, oneTask(1), { tier: 'standard' }));
    const [unit] = preempts(world);
    // The one that saved its work a minute ago.
    expect(victimsOf(unit)).toEqual([jobId(3)]);
    expect(unit!.claim.tasks[0]!.devices).toEqual([2]);
    world.commit(world.decide());
    expect(world.engine.verdict(jobId(9), world.nowMs)).toEqual({
      kind: 'waits',
      reasons: [{ code: 'preempting', victims: 1, left: 1 }],
    });
    // Nobody else gets the room once the victim is gone, not even who comes first in the order.
    world.submit(job(10, oneTask(1), { tier: 'critical' }));
    world.preempted(unit!.claim.victims[0]!.run);
    const plan = world.decide();
    expect(starts(plan).map(({ job: id }) => id)).toEqual([jobId(9)]);
    expect(starts(plan)[0]!.tasks).toEqual(unit!.claim.tasks);
  });

  test('takes whole gangs, and no run that could be spared', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    world.submit(job(1, demand(group([gpus(5)], { tasks: 2 })), { tier: 'spot' }));
    world.submit(job(2, oneTask(3), { tier: 'spot' }));
    world.submit(job(3, oneTask(3), { tier: 'spot' }));
    settle(world);
    world.submit(job(4, oneTask(5), { tier: 'standard' }));
    const [unit] = preempts(world);
    // Its neighbour loses less and would be stopped first, but is not enough and then not needed.
    expect(victimsOf(unit)).toEqual([jobId(1)]);
    expect(unit!.claim.tasks).toHaveLength(1);
  });

  test('stops nobody whom its other alternative can do without', () => {
    const world = new World(loadEngine, node('a', { devices: devices(4) }));
    for (const n of [1, 2]) world.submit(job(n, oneTask(2), { tier: 'spot' }));
    settle(world);
    world.submit(job(3, demand(group([gpus(4), gpus(2)]))));
    expect(preempts(world).map((unit) => unit.claim.victims.length)).toEqual([1]);
  });

  test('stops a run for its rendezvous port, when nodes with room have none left', () => {
    const onePort = { ports: { first: 10, count: 1 } };
    const world = new World(loadEngine, node('a', onePort));
    world.submit(job(1, oneTask(1), { tier: 'critical' }));
    world.cycle();
    world.join(node('b', onePort));
    world.submit(job(2, oneTask(8), { tier: 'spot' }));
    settle(world);
    for (const tasks of [1, 2]) {
      world.submit(job(2 + tasks, demand(group([gpus(1)], { tasks }))));
      const [unit] = preempts(world);
      expect(victimsOf(unit)).toEqual([jobId(2)]);
      expect(unit!.claim.tasks[0]!.node).toBe(node('b').node);
      world.cancel(jobId(2 + tasks));
    }
  });

  test('that must be in one rack stops runs of one rack, the one where that costs least', () => {
    const racks = ['r1', 'r2', 'r1', 'r2'];
    const nodes = racks.map((rack, i) => node(`n${i}`, { labels: { rack } }));
    const world = new World(loadEngine, ...nodes);
    for (let n = 1; n <= 4; n++) world.submit(job(n, oneTask(8), { tier: 'spot' }));
    settle(world);
    // The two that lose least are in different racks; together r2 loses less than r1.
    const saved = (name: string): void => {
      for (const run of [...world.runs.values()])
        if (run.tasks[0]!.node === node(name).node) world.checkpoint(run.run);
    };
    saved('n1');
    world.nowMs += 10 * minute;
    saved('n0');
    saved('n3');
    world.nowMs += minute;
    const topology = { level: 'rack', mode: 'required' } as const;
    world.submit(job(9, demand(group([gpus(8)], { tasks: 2 }), { topology })));
    const [unit] = preempts(world);
    expect([...new Set(unit!.claim.tasks.map((task) => task.node))].sort()).toEqual([
      node('n1').node,
      node('n3').node,
    ]);
    expect(unit!.claim.victims).toHaveLength(2);
  });

  test('of several groups in one domain makes room for the one that has none there', () => {
    const small = node('a', { cpuMilli: 32_000, devices: devices(8, 'A100') });
    const world = new World(loadEngine, small, node('b'));
    world.submit(
      job(1, demand(group([gpus(8, 'H100')], { cpuMilli: 8000, memoryMib: 1024 })), { tier: 'spot' }),
    );
    settle(world);
    // On the other node there are devices but never cores enough; on this one it is the other way round.
    const trainer = group([gpus(1)], { name: 'trainer', cpuMilli: 1000, memoryMib: 1024 });
    const loader = group([], { name: 'loader', cpuMilli: 40_000, memoryMib: 1024 });
    world.submit(job(2, demand([trainer, loader], { topology: { level: 'node', mode: 'required' } })));
    expect(victimsOf(preempts(world)[0])).toEqual([jobId(1)]);
  });

  test('leaves alone what runs for less than its shield, and looks again when that is over', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(8), { tier: 'spot' }));
    settle(world, minute);
    world.submit(job(2, oneTask(8)));
    const plan = world.cycle();
    expect(plan.units).toEqual([]);
    expect(plan.wakeAtMs).toBe(1000 + 2 * minute);
    world.nowMs = plan.wakeAtMs!;
    expect(preempts(world)).toHaveLength(1);
  });

  test('waits for an end that is near instead', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(8), { tier: 'spot', durationMs: 61 * minute }));
    settle(world);
    world.submit(job(2, oneTask(8)));
    expect(world.cycle().units).toEqual([]);
    const verdict = world.engine.verdict(jobId(2), world.nowMs);
    expect(verdict).toMatchObject({
      reasons: [{ code: 'no-room' }, { code: 'near-end', job: jobId(1), endMs: 1000 + 61 * minute }],
    });
  });

  test('waits no longer for an end that is near once another takes what it leaves', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    world.setPolicy({ ...defaultPolicy, backfill: { mode: 'skip', depth: 1 } });
    world.submit(job(1, oneTask(5), { tier: 'spot', durationMs: 61 * minute }));
    world.submit(job(2, oneTask(8), { tier: 'spot' }));
    settle(world);
    world.submit(job(3, oneTask(8)));
    world.submit(job(4, oneTask(3)));
    expect(world.cycle().units).toMatchObject([{ kind: 'start', job: jobId(4) }]);
    expect(preempts(world).flatMap(victimsOf)).toEqual([jobId(2)]);
  });

  test('waits for a run that is being cancelled, and stops nobody', () => {
    const world = fullOfSpot();
    const [run] = world.runs.keys();
    world.stop(run!, jobId(1), null);
    world.submit(job(9, oneTask(1)));
    expect(world.cycle().units).toEqual([]);
    world.submit(job(10, demand(group([gpus(1)], { cpuMilli: 1000 }), {})));
    world.finish(run!);
    expect(starts(world.cycle()).map(({ job: id }) => id)).toEqual([jobId(9)]);
  });

  test('that failed a moment ago stops nobody', () => {
    const world = fullOfSpot();
    world.submit(job(9, oneTask(1)));
    world.cycle();
    const [victim] = [...world.runs.values()].filter((run) => run.stopping);
    world.preempted(victim!.run);
    world.cycle();
    const own = [...world.runs.values()].find((run) => run.job === jobId(9))!;
    // The preempted one takes its place back meanwhile.
    world.requeue(own.run);
    settle(world);
    expect(preempts(world)).toHaveLength(0);
  });
});

describe('a claim', () => {
  test('is given up when its job is cancelled, and others start there', () => {
    const world = fullOfSpot();
    world.submit(job(9, oneTask(1)));
    world.submit(job(10, oneTask(1), { tier: 'spot' }));
    world.cycle();
    world.cancel(jobId(9));
    const [victim] = [...world.runs.values()].filter((run) => run.stopping);
    world.preempted(victim!.run);
    expect(starts(world.cycle())).toHaveLength(1);
  });

  test('is given up when its node drains, and the job is considered anew', () => {
    const world = new World(loadEngine, node('a'), node('b', { devices: devices(4, 'A100') }));
    world.submit(job(1, oneTask(8), { tier: 'spot' }));
    settle(world);
    world.submit(job(2, oneTask(4, 'H100')));
    world.cycle();
    world.drain(node('a').node, true);
    expect(world.decide().units).toMatchObject([{ kind: 'release', reason: { code: 'claim-lost' } }]);
    world.cycle();
    expect(world.rebuilt().stateHash()).toBe(world.engine.stateHash());
    expect(world.decide().units).toEqual([]);
  });

  test('is given up when its node comes back without what the job asks for', () => {
    const world = new World(loadEngine, node('a', { labels: { disk: 'ssd' } }));
    world.submit(job(1, oneTask(8), { tier: 'spot' }));
    settle(world);
    const constraints = [{ label: 'disk', op: 'in', values: ['ssd'] } as const];
    world.submit(job(2, { ...oneTask(4), constraints }));
    expect(preempts(world)).toHaveLength(1);
    world.cycle();
    world.join(node('a', { labels: { disk: 'hdd' } }));
    expect(world.decide().units).toMatchObject([{ kind: 'release', reason: { code: 'claim-lost' } }]);
    expect(world.rebuilt().decide(world.nowMs).units).toEqual(world.decide().units);
  });
});

describe('a claim on a node that does not answer', () => {
  test('is kept while there is no room elsewhere, and given up once there is', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    world.submit(job(1, oneTask(8), { tier: 'spot' }));
    world.submit(job(2, oneTask(8)));
    settle(world);
    world.submit(job(3, oneTask(8)));
    world.cycle();
    world.setNode([...world.runs.values()].find((run) => run.stopping)!.tasks[0]!.node, 'silent');
    expect(world.cycle().units).toEqual([]);
    world.finish([...world.runs.values()].find((run) => !run.stopping)!.run);
    expect(world.cycle().units).toMatchObject([{ kind: 'release', job: jobId(3) }]);
    expect(starts(world.cycle()).map((unit) => unit.job)).toEqual([jobId(3)]);
  });
});

describe('quota', () => {
  function withQuotas(quotas: readonly Quota[], policy: Partial<Policy> = {}): World {
    const world = new World(loadEngine, node('a'));
    world.setPolicy({ ...defaultPolicy, quotas, ...policy });
    return world;
  }

  test('a project takes back its guarantee from who borrows, and nothing beyond it', () => {
    const world = withQuotas([guarantee('red', 4), guarantee('blue', 4)]);
    for (let n = 1; n <= 8; n++) world.submit(job(n, oneTask(1), { project: 'blue' }));
    settle(world);
    for (let n = 9; n <= 16; n++) world.submit(job(n, oneTask(1), { project: 'red' }));
    const units = preempts(world);
    expect(units).toHaveLength(4);
    expect(units.every((unit) => unit.claim.victims.every(({ right }) => right === 'reclaim'))).toBe(true);
    world.commit(world.decide());
    // What is on its way out is not taken twice.
    expect(preempts(world)).toHaveLength(0);
  });

  test('a guaranteed run within its guarantee is safe from the tier of another project', () => {
    const world = withQuotas([guarantee('blue', 8)]);
    for (let n = 1; n <= 8; n++) world.submit(job(n, oneTask(1), { project: 'blue' }));
    settle(world);
    world.submit(job(9, oneTask(1), { project: 'red', tier: 'critical' }));
    expect(preempts(world)).toHaveLength(0);
    world.submit(job(10, oneTask(1), { project: 'blue', tier: 'critical' }));
    expect(preempts(world)).toHaveLength(1);
  });

  test('reclaims through three levels', () => {
    const world = withQuotas([
      guarantee('top', 8),
      guarantee('top/left', 4),
      guarantee('top/right', 4),
      guarantee('top/left/a', 2),
      guarantee('top/left/b', 2),
    ]);
    for (let n = 1; n <= 4; n++) world.submit(job(n, oneTask(1), { project: 'top/left/b' }));
    for (let n = 5; n <= 8; n++) world.submit(job(n, oneTask(1), { project: 'top/right' }));
    settle(world);
    for (let n = 9; n <= 12; n++) world.submit(job(n, oneTask(1), { project: 'top/left/a' }));
    const units = preempts(world);
    // Its sister gives back the two it borrowed; the other side of the tree is within what it has.
    expect(units.flatMap((unit) => victimsOf(unit)!).every((id) => id <= jobId(4))).toBe(true);
    expect(units).toHaveLength(2);
  });

  test('reclaims below a ceiling that is full, through three levels and without deadlock', () => {
    const ceiling = { gpu: 4000 };
    const world = withQuotas([
      guarantee('top', 8),
      guarantee('top/left', 4, { ceiling }),
      guarantee('top/left/a', 2),
      guarantee('top/left/b', 2),
    ]);
    // Half of the node is free, and `top/left` may not use it.
    for (let n = 1; n <= 4; n++) world.submit(job(n, oneTask(1), { project: 'top/left/b' }));
    settle(world);
    for (let n = 9; n <= 12; n++) world.submit(job(n, oneTask(1), { project: 'top/left/a' }));
    const started: string[] = [];
    let stopped = 0;
    for (let cycle = 0; cycle < 10; cycle++) {
      const { units } = world.cycle();
      for (const unit of units) {
        if (unit.kind === 'start') {
          world.running(unit.run);
          started.push(unit.job);
        }
        if (unit.kind !== 'preempt') continue;
        for (const { run } of unit.claim.victims) world.preempted(run);
        stopped += unit.claim.victims.length;
      }
      const used = [...world.runs.values()].length;
      expect(used).toBeLessThanOrEqual(4);
      world.nowMs += minute;
    }
    // One victim for each of the two that are guaranteed, and no more.
    expect(started).toEqual([jobId(9), jobId(10)]);
    expect(stopped).toBe(2);
  });

  test('a ceiling in the way is told, and so is that victims ease it', () => {
    const ceiling = { gpu: 2000 };
    const quotas = [guarantee('blue', 8, { ceiling, preemptWithin: 'lower-priority' })];
    const world = withQuotas(quotas);
    world.submit(job(1, oneTask(2), { project: 'blue' }));
    settle(world);
    world.submit(job(2, oneTask(1), { project: 'blue' }));
    expect(world.cycle().units).toEqual([]);
    expect(world.engine.verdict(jobId(2), world.nowMs)).toMatchObject({
      reasons: [{ code: 'over-ceiling' }],
    });
    world.submit(job(3, oneTask(1), { project: 'blue', priority: 1 }));
    expect(world.engine.verdict(jobId(3), world.nowMs)).toMatchObject({ reasons: [{ code: 'preempting' }] });
    const [unit] = preempts(world);
    expect(victimsOf(unit)).toEqual([jobId(1)]);
  });

  test('a lane whose claim was not committed looks for victims below its ceiling again', () => {
    const world = new World(loadEngine, node('a'));
    const ceiling = { gpu: 2000 };
    world.setPolicy({ ...defaultPolicy, quotas: [guarantee('blue', 0, { ceiling })] });
    for (const n of [1, 2]) world.submit(job(n, oneTask(1), { project: 'blue', tier: 'spot' }));
    settle(world);
    world.submit(job(3, oneTask(1), { project: 'blue', tier: 'critical' }));
    const [unit] = preempts(world);
    expect(victimsOf(unit)).toHaveLength(1);
    // Deciding again is what happens when the plan was refused.
    expect(preempts(world)).toEqual([unit]);
  });

  test('a job over a new ceiling looks for victims again when its claim was not committed', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(2), { project: 'blue' }));
    settle(world);
    world.submit(job(2, oneTask(1), { project: 'blue', priority: 1 }));
    const ceiling = { gpu: 2000 };
    const quotas = [guarantee('blue', 8, { ceiling, preemptWithin: 'lower-priority' })];
    world.setPolicy({ ...defaultPolicy, quotas });
    for (let cycle = 0; cycle < 3; cycle++) {
      const plan = world.decide();
      expect(plan.units).toMatchObject([{ kind: 'preempt', job: jobId(2) }]);
      world.commit(plan, () => false);
    }
  });

  test('a job behind a ceiling looks for victims when a policy gives it a right to them', () => {
    const world = new World(loadEngine, node('a'));
    const quota = guarantee('blue', 8, { ceiling: { gpu: 2000 } });
    world.setPolicy({ ...defaultPolicy, quotas: [quota] });
    world.submit(job(1, oneTask(2), { project: 'blue' }));
    settle(world);
    world.submit(job(2, oneTask(2), { project: 'blue', priority: 5 }));
    expect(world.cycle().units).toEqual([]);
    // The ceiling is the same.
    world.setPolicy({ ...defaultPolicy, quotas: [{ ...quota, preemptWithin: 'lower-priority' }] });
    expect(preempts(world).map(victimsOf)).toEqual([[jobId(1)]]);
  });

  test('the ceiling of a user is never a reason to stop a run', () => {
    const quotas = [guarantee('blue', 8, { userCeiling: { gpu: 2000 }, preemptWithin: 'lower-priority' })];
    const world = withQuotas(quotas);
    world.submit(job(1, oneTask(2), { project: 'blue' }));
    settle(world);
    world.submit(job(2, oneTask(1), { project: 'blue', priority: 1 }));
    expect(world.cycle().units).toEqual([]);
  });

  test('a higher priority of the same project and tier preempts where the project says so', () => {
    const quotas = [guarantee('blue', 8, { preemptWithin: 'lower-priority' })];
    const world = withQuotas(quotas);
    for (let n = 1; n <= 8; n++) world.submit(job(n, oneTask(1), { project: 'blue' }));
    settle(world);
    world.submit(job(9, oneTask(1), { project: 'blue', priority: 1 }));
    expect(preempts(world)[0]?.claim.victims).toMatchObject([{ right: 'priority' }]);
  });
});
