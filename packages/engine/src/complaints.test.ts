// Complaints that users of other schedulers have made in public (product.md names their threads), each as a scenario with exact
// counts: what a job that waits is told, and being stuck. Those about preemption are in preempt-complaints.test.ts.
import { defaultPolicy, type Explanation, type RunId, roomText, verdictText } from '@muster/model';
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

  test('is told of the alternative that its constraints leave', () => {
    const a100 = { devices: devices(8, 'A100', 40_960), labels: { rack: 'r2' } };
    const racks = new World(loadEngine, node('a', { labels: { rack: 'r1' } }), node('b', a100));
    racks.submit(job(1, demand(group([gpus(5, 'A100')]))));
    racks.cycle();
    const constraints = [{ label: 'rack', op: 'in' as const, values: ['r2'] }];
    racks.submit(job(2, demand(group([gpus(8, 'H100'), gpus(4, 'A100')]), { constraints })));
    expect(roomText(why(racks, 2).room!)).toBe(
      '3 gpu/A100 are free on 1 node; it needs 4 gpu/A100 in all; a task needs 4 on one node: 0 nodes have room for that now, and the largest gang that fits is 0 tasks of 1',
    );
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

describe('pending reasons are complete (kueue 2833, 4157, 4580; volcano 1094; KAI 44, 2058; armada 703)', () => {
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

describe('when it starts (kueue 13159)', () => {
  test('is told with what it rests on, and is when it starts', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(8), { durationMs: 60_000 }));
    for (const { run } of starts(world.cycle())) world.running(run);
    const startMs = world.nowMs + 60_000;
    world.nowMs += 20_000;
    world.submit(job(2, oneTask(8), { submittedMs: world.nowMs }));
    const { verdict } = why(world, 2);
    expect(verdict).toMatchObject({ planned: { startMs, runs: 1, assumed: 0, overdue: 0 } });
    world.nowMs = startMs - 1;
    expect(world.cycle().units).toEqual([]);
    world.nowMs = startMs;
    world.finish([...world.runs.keys()][0]!);
    expect(starts(world.cycle()).map((unit) => unit.job)).toEqual([jobId(2)]);
  });
});

describe('a dry run (kueue 4580)', () => {
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

describe('stuck at scale (kueue 9715, KAI 315)', () => {
  test('with 10,000 of 100 kinds waiting, the end of one run starts one job, and tells nobody else anything', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    for (const n of [1, 2]) world.submit(job(n, oneTask(8)));
    for (const { run } of starts(world.cycle())) world.running(run);
    world.nowMs += 60 * minute;
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
