// Complaints that users of other schedulers have made in public about preemption (product.md names their threads), each as a
// scenario with exact counts: victims that nobody needed, thrash, lost work, lost jobs. The others are in complaints.test.ts.
import { defaultPolicy, type JobId, type NodeFacts, plainQuota, type Quota } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, jobId, node, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { bare, referenceUnits } from './testing/reference.ts';
import { World } from './testing/world.ts';

const minute = 60_000;
const eachNode = { level: 'node', mode: 'spread' } as const;

/** Runs everything that starts, and lets an hour pass, so that nothing is shielded. */
function settle(world: World, ms = 60 * minute): void {
  for (const unit of starts(world.cycle())) world.running(unit.run);
  world.nowMs += ms;
}

/** Cycles in which everything that starts runs and every victim ends at once; counts the runs that were stopped. */
function play(world: World, cycles: number): number {
  let stopped = 0;
  for (let cycle = 0; cycle < cycles; cycle++) {
    for (const unit of world.cycle().units) {
      if (unit.kind === 'start') world.running(unit.run);
      if (unit.kind !== 'preempt') continue;
      stopped += unit.claim.victims.length;
      for (const { run } of unit.claim.victims) world.preempted(run);
    }
    world.nowMs += minute;
  }
  return stopped;
}

const running = (world: World): JobId[] => [...world.runs.values()].map((run) => run.job).sort();
const jobIds = (...numbers: number[]): JobId[] => numbers.map(jobId).sort();

const guarantee = (project: string, gpu: number): Quota => ({
  ...plainQuota(project),
  guaranteed: { gpu: gpu * 1000 },
});

function withQuotas(quotas: readonly Quota[], ...nodes: NodeFacts[]): World {
  const world = new World(loadEngine, ...nodes);
  world.setPolicy({ ...defaultPolicy, quotas });
  return world;
}

/** One node of 8 devices full of one-device spot jobs 1 to 8, an hour old. */
function fullOfSpot(): World {
  const world = new World(loadEngine, node('a'));
  for (let n = 1; n <= 8; n++) world.submit(job(n, oneTask(1), { tier: 'spot' }));
  settle(world);
  return world;
}

describe('too many victims (volcano 5994, 561, 377)', () => {
  test('needed 1, evicted 1', () => {
    const world = new World(loadEngine, node('a'), node('b'), node('c'));
    for (let n = 1; n <= 24; n++) world.submit(job(n, oneTask(1), { tier: 'spot' }));
    settle(world);
    world.submit(job(25, oneTask(1)));
    // Long before the victim has ended nobody else is stopped either.
    const [unit] = world.cycle().units;
    expect(unit).toMatchObject({ kind: 'preempt', job: jobId(25), claim: { victims: [{}] } });
    for (let cycle = 0; cycle < 20; cycle++) {
      world.nowMs += 1000;
      expect(world.cycle().units).toEqual([]);
    }
    world.preempted([...world.runs.values()].find((run) => run.stopping)!.run);
    expect(play(world, 20)).toBe(0);
    expect(running(world)).toContain(jobId(25));
    expect(world.runs.size).toBe(24);
  });

  test('a gang that needs 8 devices stops the one gang that has them, and none of the 16 small runs', () => {
    const world = new World(loadEngine, node('a'), node('b'), node('c'));
    for (let n = 1; n <= 16; n++) world.submit(job(n, oneTask(1), { tier: 'spot' }));
    world.submit(job(17, oneTask(8), { tier: 'spot' }));
    settle(world);
    world.checkpoint([...world.runs.values()].find((run) => run.job === jobId(17))!.run);
    world.nowMs += minute;
    world.submit(job(18, oneTask(8)));
    expect(play(world, 20)).toBe(1);
    expect(running(world)).toEqual(jobIds(...Array.from({ length: 16 }, (_, i) => i + 1), 18));
  });

  test('who was needed only until a gang had to go as well is spared', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    const spot = { tier: 'spot' };
    world.submit(job(1, demand(group([gpus(4)], { tasks: 2 }), { topology: eachNode }), spot));
    settle(world);
    world.submit(job(2, oneTask(4), spot));
    world.submit(job(3, oneTask(4)));
    settle(world);
    world.checkpoint([...world.runs.values()].find((run) => run.job === jobId(2))!.run);
    world.nowMs += minute;
    // The small run would lose least and its room is taken first; but the second task needs the gang to end, which leaves
    // room for both.
    world.submit(job(4, demand(group([gpus(4)], { tasks: 2 }))));
    expect(play(world, 20)).toBe(1);
    expect(running(world)).toEqual(jobIds(2, 3, 4));
  });
});

describe('thrash (kueue 6143, 6861, 7101, 13662; armada 5073)', () => {
  test('no ping-pong in 1,000 cycles: what was borrowed is given back once', () => {
    const world = withQuotas([guarantee('red', 4), guarantee('blue', 4)], node('a'));
    for (let n = 1; n <= 8; n++) world.submit(job(n, oneTask(1), { project: 'blue' }));
    settle(world);
    for (let n = 9; n <= 16; n++) world.submit(job(n, oneTask(1), { project: 'red' }));
    for (let n = 17; n <= 24; n++) world.submit(job(n, oneTask(1), { project: 'blue', priority: 9 }));
    expect(play(world, 1000)).toBe(4);
    const red = running(world).filter((id) => id >= jobId(9) && id <= jobId(16));
    expect([red.length, world.runs.size]).toEqual([4, 8]);
  });

  test('jobs that nobody guarantees do not chase each other round, though each is within the guarantee of its project', () => {
    const nodes = ['a', 'b', 'c'].map((name) => node(name, { devices: devices(4) }));
    const world = withQuotas([guarantee('red', 6), guarantee('blue', 6)], ...nodes);
    const alone = demand(group([gpus(1)]), { exclusive: true });
    for (const [i, project] of ['blue', 'red', 'blue'].entries())
      world.submit(job(i + 1, alone, { project, tier: 'spot' }));
    settle(world);
    world.submit(job(4, alone, { project: 'red', tier: 'spot' }));
    expect(play(world, 1000)).toBe(0);
    // One that is guaranteed takes what it needs, once.
    world.submit(job(5, alone, { project: 'red', tier: 'standard' }));
    expect(play(world, 1000)).toBe(1);
    expect(running(world)).toContain(jobId(5));
  });

  test.each([
    ['nobody', 'spot', 'standard', 0],
    ['every spot run of the other project', 'standard', 'spot', 8],
  ])(
    'what a guarantee would give back and a tier would take again is left where it is: %s is stopped, once',
    (_, mine, theirs, stopped) => {
      const world = withQuotas([guarantee('red', 4), guarantee('blue', 4)], node('a'));
      for (let n = 1; n <= 16; n++) world.submit(job(n, oneTask(1), { project: 'blue', tier: theirs }));
      settle(world);
      for (let n = 17; n <= 24; n++) world.submit(job(n, oneTask(1), { project: 'red', tier: mine }));
      expect(play(world, 1000)).toBe(stopped);
    },
  );

  test('victims that end one after the other do not take their room back (kueue 13662)', () => {
    const world = withQuotas([guarantee('red', 8), guarantee('blue', 0)], node('a'));
    for (const n of [1, 2]) world.submit(job(n, oneTask(4), { project: 'blue', priority: 9 }));
    settle(world);
    world.submit(job(3, oneTask(8), { project: 'red' }));
    const [unit] = world.cycle().units;
    expect(unit).toMatchObject({ kind: 'preempt', job: jobId(3), claim: { victims: [{}, {}] } });
    const [first, second] = [...world.runs.keys()];
    world.preempted(first!);
    for (let cycle = 0; cycle < 50; cycle++) {
      expect(world.cycle().units, 'the first waits for the second, and nobody takes its room').toEqual([]);
      world.nowMs += 1000;
    }
    world.preempted(second!);
    expect(play(world, 1000)).toBe(0);
    expect(running(world)).toEqual([jobId(3)]);
  });

  test('of gangs of 6, 5, 4 and 3 the first that stays within the guarantee reclaims, once (kueue 7101)', () => {
    const world = withQuotas([guarantee('one', 4), guarantee('two', 4)], node('a'));
    for (let n = 1; n <= 4; n++)
      world.submit(job(n, demand(group([gpus(1)], { tasks: 2 })), { project: 'one' }));
    settle(world);
    for (const [i, tasks] of [6, 5, 4, 3].entries())
      world.submit(job(5 + i, demand(group([gpus(1)], { tasks })), { project: 'two' }));
    expect(play(world, 1000)).toBe(2);
    expect(running(world)).toEqual(expect.arrayContaining(jobIds(7)));
    expect(world.runs.size).toBe(3);
  });

  test('a job that can never start costs nobody their work, and the one behind it reclaims', () => {
    const world = withQuotas([guarantee('red', 3), guarantee('blue', 0)], node('a', { devices: devices(3) }));
    world.submit(job(1, oneTask(1), { project: 'blue' }));
    settle(world);
    world.submit(job(2, oneTask(4), { project: 'red' }));
    world.submit(job(3, oneTask(3), { project: 'red' }));
    expect(play(world, 1000)).toBe(1);
    expect(running(world)).toEqual([jobId(3)]);
  });

  test('whom a job has stopped never stops it in turn, though each has a right to the other (armada 5073)', () => {
    // Red may stop spot runs by its tier; blue may take back from red, which is guaranteed nothing.
    const world = withQuotas([guarantee('blue', 8)], node('a'));
    world.submit(job(1, oneTask(8), { project: 'blue', tier: 'spot' }));
    settle(world);
    world.submit(job(2, oneTask(8), { project: 'red' }));
    expect(play(world, 1000)).toBe(1);
    expect(running(world)).toEqual([jobId(2)]);
    // Only these two are kept apart: another job of blue takes the room back, by right of the guarantee.
    world.submit(job(3, oneTask(8), { project: 'blue' }));
    expect(play(world, 1000)).toBe(1);
    expect(running(world)).toEqual([jobId(3)]);
  });

  test('one whom a job may not stop in turn does not hide from it another whom it may', () => {
    const world = withQuotas(
      [guarantee('blue', 2), guarantee('green', 1)],
      node('a', { devices: devices(3) }),
    );
    const runOf = (n: number) => [...world.runs.values()].find((run) => run.job === jobId(n))!.run;
    world.submit(job(1, oneTask(2), { project: 'red', tier: 'critical' }));
    world.submit(job(2, oneTask(1), { project: 'green', tier: 'critical' }));
    settle(world);
    world.submit(job(3, oneTask(1), { project: 'blue' }));
    expect(play(world, 2)).toBe(1);
    expect(running(world)).toEqual(jobIds(2, 3));
    // Blue fills what red lost, and another node: it has 4 devices, 2 of them borrowed.
    world.hold(jobId(1));
    world.finish(runOf(2));
    world.submit(job(4, oneTask(2), { project: 'blue' }));
    settle(world);
    world.join(node('b', { devices: devices(1) }));
    world.submit(job(5, oneTask(1), { project: 'blue' }));
    settle(world);
    // Of what is borrowed job 6 leaves one device. Who may stop job 3 stops it first, and has no right to job 4 after that.
    world.submit(job(6, oneTask(1), { project: 'red', tier: 'critical', priority: 10 }));
    world.release(jobId(1));
    const plan = world.decide();
    expect(plan.units).toMatchObject([
      { kind: 'preempt', job: jobId(6), claim: { victims: [{ job: jobId(5), right: 'tier' }] } },
      { kind: 'preempt', job: jobId(1), claim: { victims: [{ job: jobId(4), right: 'tier' }] } },
    ]);
    expect(plan.units.map(bare)).toEqual(referenceUnits(world.rows(), world.nowMs).map(bare));
  });

  test('a job is stopped as often as its tier allows in a window, and then left alone until that is over', () => {
    const world = new World(loadEngine, node('a'));
    const tiers = defaultPolicy.tiers.map((tier) =>
      tier.name === 'spot' ? { ...tier, preemptionsMax: 2 } : tier,
    );
    world.setPolicy({ ...defaultPolicy, tiers });
    world.submit(job(1, oneTask(8), { tier: 'spot' }));
    const comes = (n: number): number => {
      settle(world);
      world.submit(job(n, oneTask(8)));
      const stopped = play(world, 10);
      for (const run of [...world.runs.values()]) if (run.job === jobId(n)) world.finish(run.run);
      return stopped;
    };
    expect([comes(2), comes(3), comes(4), comes(5)]).toEqual([1, 1, 0, 0]);
    expect(running(world)).toEqual([jobId(1)]);
    world.nowMs += defaultPolicy.preemption.windowMs;
    expect(play(world, 1)).toBe(1);
  });
});

describe('reclaim through three levels of hierarchy', () => {
  test('every leaf comes to its guarantee without deadlock, and exactly what was borrowed is stopped', () => {
    const leaves = ['top/left/a', 'top/left/b', 'top/right/a', 'top/right/b'];
    const quotas = [
      guarantee('top', 16),
      guarantee('top/left', 8),
      guarantee('top/right', 8),
      ...leaves.map((leaf) => guarantee(leaf, 4)),
    ];
    const world = withQuotas(quotas, node('a'), node('b'));
    // One leaf has everything; then each of the others wants more than it is guaranteed.
    for (let n = 1; n <= 16; n++) world.submit(job(n, oneTask(1), { project: leaves[0]! }));
    settle(world);
    for (let n = 17; n <= 40; n++) world.submit(job(n, oneTask(1), { project: leaves[1 + (n % 3)]! }));
    expect(play(world, 1000)).toBe(12);
    const held = Map.groupBy(world.runs.values(), (run) => world.jobs.get(run.job)!.project);
    expect(leaves.map((leaf) => held.get(leaf)?.length)).toEqual([4, 4, 4, 4]);
  });
});

describe('checkpoint-aware victims (kueue 477, 7990)', () => {
  test('whoever saved their work last is stopped first, exactly as many as are needed', () => {
    const world = fullOfSpot();
    const runs = [...world.runs.keys()];
    // Saved 40, 30, 20 and 10 minutes ago; the other four never said anything.
    for (const run of runs.slice(2, 6)) {
      world.checkpoint(run);
      world.nowMs += 10 * minute;
    }
    world.submit(job(9, demand(group([gpus(1)], { tasks: 3 }))));
    const [unit] = world.decide().units;
    expect(unit).toMatchObject({ kind: 'preempt' });
    const victims = unit?.kind === 'preempt' ? unit.claim.victims.map(({ run }) => run) : [];
    expect(victims).toEqual(runs.slice(3, 6));
  });

  test('a job that never reports gains nothing: it counts from its start', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(4), { tier: 'spot' }));
    settle(world, 50 * minute);
    world.submit(job(2, oneTask(4), { tier: 'spot' }));
    settle(world, 20 * minute);
    // The older one saved its work 5 minutes ago, the younger and silent one has 25 to lose.
    world.checkpoint([...world.runs.keys()][0]!);
    world.nowMs += 5 * minute;
    world.submit(job(3, oneTask(4)));
    expect(play(world, 100)).toBe(1);
    expect(running(world)).toEqual(jobIds(2, 3));
  });
});

describe('preempted jobs are lost (armada 4340)', () => {
  test('all 8 are queued again, charged nothing, and run again in the end', () => {
    const world = fullOfSpot();
    for (let n = 9; n <= 16; n++) world.submit(job(n, oneTask(1)));
    expect(play(world, 10)).toBe(8);
    expect(running(world)).toEqual(jobIds(...Array.from({ length: 8 }, (_, i) => i + 9)));
    for (const { run } of [...world.runs.values()]) world.finish(run);
    expect(play(world, 10)).toBe(0);
    for (let n = 1; n <= 8; n++)
      expect(world.jobs.get(jobId(n))?.state).toMatchObject({
        state: 'running',
        attempt: 2,
        failures: { user: 0, outOfMemory: 0, infrastructure: 0 },
        preempted: [{}],
      });
    expect(world.runs.size).toBe(8);
  });
});
