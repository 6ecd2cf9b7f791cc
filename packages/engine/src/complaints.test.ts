// Complaints that users of other schedulers have made in public (product.md names their threads), each as a scenario with exact
// counts. One place for all of them, whatever part of the engine answers.
import {
  defaultPolicy,
  type Explanation,
  type JobId,
  type NodeFacts,
  plainQuota,
  type Quota,
  type RunId,
  roomText,
  verdictText,
} from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, jobId, node, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

/** So many nodes of 8 with 7 devices each in use by one job, which therefore leaves one device free. */
function scattered(nodes: number): World {
  const names = Array.from({ length: nodes }, (_, i) => `n${String(i).padStart(2, '0')}`);
  const world = new World(loadEngine, ...names.map((name) => node(name)));
  for (let n = 1; n <= nodes; n++) world.submit(job(n, oneTask(7)));
  for (const { run } of world.cycle().units) world.running(run);
  return world;
}

function why(world: World, n: number): Explanation {
  return world.engine.explain(jobId(n), world.nowMs)!;
}

describe('a gang of 16 devices with 16 scattered free ones', () => {
  const world = scattered(16);
  world.submit(job(100, demand(group([gpus(8)], { tasks: 2 }))));
  world.cycle();

  test('is told precisely what is fragmented', () => {
    const { room } = why(world, 100);
    expect(room).toEqual({
      group: 'main',
      key: 'gpu',
      tasks: 2,
      taskMilli: 8000,
      freeMilli: 16_000,
      freeNodes: 16,
      taskNodes: 0,
      tasksFit: 0,
      spread: [{ freeMilli: 1000, nodes: 16 }],
      place: null,
    });
    expect(roomText(room!)).toBe(
      '16 gpu are free on 16 nodes, 1 on each; a task needs 8 on one node: 0 nodes have room for that now, and the largest gang that fits is 0 tasks of 2',
    );
  });

  test('is told what would help: one device a task, and no single end', () => {
    const { changes, ends, complete } = why(world, 100);
    expect(changes).toEqual([{ kind: 'devices', group: 'main', alternative: 0, from: 8, to: 1, victims: 0 }]);
    expect(ends).toEqual({ count: 0, runs: [] });
    expect(complete).toBe(true);
  });

  test('is told whose end would help once one task less is missing', () => {
    world.finish(world.engine.rows().runs[0]!.run);
    const { room, changes, ends } = why(world, 100);
    expect(room).toMatchObject({ freeMilli: 23_000, taskNodes: 1, tasksFit: 1 });
    expect(room?.spread).toEqual([
      { freeMilli: 8000, nodes: 1 },
      { freeMilli: 1000, nodes: 15 },
    ]);
    expect(changes[0]).toMatchObject({ kind: 'tasks', from: 2, to: 1 });
    expect(ends.count).toBe(15);
    expect(ends.runs).toHaveLength(5);
    // What is told is what then happens.
    world.finish(ends.runs[0]!.run);
    expect(starts(world.decide()).map((unit) => unit.job)).toEqual([jobId(100)]);
  });

  test('is told the best rack when it must be in one', () => {
    const racks = new World(
      loadEngine,
      ...['a', 'b', 'c'].map((name, i) => node(name, { labels: { rack: i < 2 ? 'r1' : 'r2' } })),
    );
    racks.submit(job(1, oneTask(8)));
    racks.cycle();
    const topology = { level: 'rack', mode: 'required' } as const;
    racks.submit(job(2, demand(group([gpus(8)], { tasks: 2 }), { topology })));
    const { room, changes, ends } = why(racks, 2);
    expect(room).toMatchObject({ freeMilli: 16_000, taskNodes: 2, tasksFit: 1 });
    expect(room?.place).toEqual({ level: 'rack', name: 'r1', freeMilli: 8000, tasksFit: 1 });
    expect(changes).toContainEqual({ kind: 'topology', group: null, from: 'rack', to: 'block', victims: 0 });
    expect(ends.runs.map(({ job: id }) => id)).toEqual([jobId(1)]);
  });
});

describe('10,000 jobs in one queue', () => {
  test('the only one that can start, at the back, starts in the first cycle', () => {
    const world = new World(loadEngine, node('a'));
    for (let n = 1; n < 10_000; n++) world.submit(job(n, demand(group([gpus(8)], { tasks: 2 }))));
    world.submit(job(10_000, oneTask(1)));
    expect(world.decide().units.map((unit) => unit.job)).toEqual([jobId(10_000)]);
  });
});

describe('pending reasons are complete (kueue 4580, volcano 1094)', () => {
  const world = new World(loadEngine, node('a'));
  world.setPolicy({
    ...world.rows().policy,
    quotas: [
      {
        project: 'research',
        guaranteed: {},
        ceiling: { gpu: 6000 },
        userCeiling: {},
        weightMilli: 1000,
        preemptWithin: 'never',
      },
    ],
  });
  world.submit(job(1, oneTask(4)));
  world.submit(job(2, oneTask(2), { project: 'other' }));
  for (const { run } of world.cycle().units) world.running(run);
  world.submit(job(3, oneTask(4)));
  world.submit(job(4, oneTask(4), { priority: 5 }));
  world.cycle();

  test('no room and a ceiling are told together, with every number', () => {
    const { verdict } = why(world, 3);
    expect(verdict.kind === 'waits' && verdict.reasons.map(({ code }) => code)).toEqual([
      'over-ceiling',
      'no-room',
    ]);
    expect(verdictText(verdict)).toContain('project research has 4 gpu in use and may have 6 gpu');
    expect(verdictText(verdict)).toContain('devices in use');
  });

  test('and so are those ahead, with the rule that puts them there', () => {
    const { ahead } = why(world, 3);
    expect(ahead).toEqual({
      count: 1,
      jobs: [{ job: jobId(4), project: 'research', because: { rule: 'priority', theirs: 5, yours: 0 } }],
    });
  });

  test('what would help is what lifts both: less of it, or the end of the run that holds room and quota', () => {
    const { changes, ends } = why(world, 4);
    expect(changes).toEqual([{ kind: 'devices', group: 'main', alternative: 0, from: 4, to: 2, victims: 0 }]);
    expect(ends.runs.map(({ job: id }) => id)).toEqual([jobId(1)]);
  });
});

describe('another tier', () => {
  test('is told with the runs that it would stop, and stops as many', () => {
    const world = new World(loadEngine, node('a'));
    for (const n of [1, 2]) world.submit(job(n, oneTask(4), { tier: 'spot' }));
    for (const { run } of world.cycle().units) world.running(run);
    world.nowMs += 3_600_000;
    world.submit(job(3, oneTask(8), { tier: 'spot', submittedMs: world.nowMs }));
    const { changes } = why(world, 3);
    expect(changes.filter(({ kind }) => kind === 'tier')).toEqual(
      ['critical', 'guaranteed', 'standard'].map((to) => ({ kind: 'tier', from: 'spot', to, victims: 2 })),
    );
    const paying = job(4, oneTask(8), { tier: 'standard', submittedMs: world.nowMs });
    world.submit(paying);
    const [unit] = world.decide().units;
    expect(unit).toMatchObject({ kind: 'preempt', job: paying.job, claim: { victims: [{}, {}] } });
  });
});

describe('a dry run', () => {
  test('says what then happens, with the same reasons and the same help', () => {
    const world = scattered(4);
    const facts = job(50, demand(group([gpus(2)], { tasks: 2 })), { submittedMs: world.nowMs });
    const considered = world.engine.consider(facts, world.nowMs);
    expect(considered.verdict.kind).toBe('waits');
    world.submit(facts);
    expect(why(world, 50)).toEqual(considered);
    expect(world.decide().units).toEqual([]);
    const { changes } = considered;
    expect(changes).toEqual([{ kind: 'devices', group: 'main', alternative: 0, from: 2, to: 1, victims: 0 }]);
    const smaller = job(51, demand(group([gpus(1)], { tasks: 2 })), { submittedMs: world.nowMs });
    expect(world.engine.consider(smaller, world.nowMs).verdict.kind).toBe('placed');
    world.submit(smaller);
    expect(starts(world.decide()).map((unit) => unit.job)).toEqual([smaller.job]);
  });
});

const minute = 60_000;

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

  test('whom a job has stopped never stops it in turn (armada 5073)', () => {
    const quotas = [{ ...plainQuota('blue'), preemptWithin: 'lower-priority' as const }];
    const world = withQuotas(quotas, node('a'));
    world.submit(job(1, oneTask(8), { project: 'blue', priority: 1 }));
    settle(world);
    world.submit(job(2, oneTask(8), { project: 'blue', priority: 2 }));
    expect(play(world, 1000)).toBe(1);
    expect(running(world)).toEqual([jobId(2)]);
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

describe('stuck at scale (kueue 9715, KAI 315)', () => {
  test('with 10,000 of 100 kinds waiting, the end of one run starts one job, and tells nobody else anything', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    for (const n of [1, 2]) world.submit(job(n, oneTask(8)));
    settle(world);
    for (let n = 3; n <= 10_002; n++)
      world.submit(job(n, demand(group([gpus(8)], { cpuMilli: 1000 + (n % 100) }))));
    expect(world.cycle().verdicts.length).toBeGreaterThan(0);
    for (let cycle = 0; cycle < 10; cycle++)
      expect(world.cycle(), 'nothing to do').toMatchObject({ units: [], verdicts: [] });
    world.finish([...world.runs.keys()][0]!);
    const { units, verdicts } = world.cycle();
    expect(units.map((unit) => unit.job)).toEqual([jobId(3)]);
    expect(verdicts).toEqual([]);
  });
});

describe('a large gang and a stream of small jobs, under easy backfill', () => {
  /** Every minute a job of one device and ten minutes comes to eight devices; the gang of eight is the 20th to come. */
  function stream(mode: 'easy' | 'skip'): { readonly waitedMs: number | null; readonly passed: number } {
    const world = new World(loadEngine, node('a'));
    world.setPolicy({ ...defaultPolicy, backfill: { mode, depth: 1 } });
    const endsMs = new Map<RunId, number>();
    let passed = 0;
    for (let n = 1; n <= 120; n++) {
      world.nowMs += minute;
      for (const [run, endMs] of endsMs) {
        if (endMs > world.nowMs) continue;
        endsMs.delete(run);
        world.finish(run);
      }
      const gang = n === 20;
      world.submit(job(n, oneTask(gang ? 8 : 1), { durationMs: 10 * minute, submittedMs: world.nowMs }));
      for (const { run, job: id } of starts(world.cycle())) {
        world.running(run);
        endsMs.set(run, world.nowMs + 10 * minute);
        if (id === jobId(20)) return { waitedMs: (n - 20) * minute, passed };
        if (id > jobId(20)) passed++;
      }
    }
    return { waitedMs: null, passed };
  }

  test('the gang is not starved: it starts when the three still ahead of it have run, and nobody passes it', () => {
    expect(stream('easy')).toEqual({ waitedMs: 13 * minute, passed: 0 });
  });

  test('without a reservation it waits for ever', () => {
    expect(stream('skip').waitedMs).toBeNull();
  });
});
