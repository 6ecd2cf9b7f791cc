import type { JobFacts, Policy, Quota } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { job, jobId, node, nodeId, oneTask } from './testing/builders.ts';
import { World } from './testing/world.ts';

describe('explain', () => {
  test('knows nothing of jobs that ended or never were', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(1)));
    world.finish(world.cycle().units[0]!.run);
    expect(world.engine.verdict(jobId(1), 0)).toBeNull();
    expect(world.engine.verdict(jobId(2), 0)).toBeNull();
  });

  test('says who holds a job, until when one is delayed, and where one runs', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(1)));
    world.submit(job(2, oneTask(1)), true);
    const [unit] = world.cycle().units;
    world.running(unit!.run);
    const why = (n: number) => world.engine.verdict(jobId(n), world.nowMs);
    expect(why(1)).toEqual({ kind: 'placed', nodes: [nodeId('a')] });
    expect(why(2)).toEqual({ kind: 'waits', reasons: [{ code: 'held', by: 'ada' }] });
    world.requeue(unit!.run, 250);
    expect(why(1)).toEqual({ kind: 'waits', reasons: [{ code: 'not-before', untilMs: 1250, failures: 1 }] });
    world.nowMs = 1250;
    expect(why(1)).toEqual({ kind: 'placed', nodes: [nodeId('a')] });
  });

  test('counts who is ahead when jobs ahead take the room, in this entry and in others', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(8)));
    world.submit(job(2, oneTask(4)));
    world.submit(job(3, oneTask(4)));
    world.submit(job(4, oneTask(1), { tier: 'spot' }));
    const why = (n: number) => world.engine.verdict(jobId(n), 0);
    expect(why(1)).toEqual({ kind: 'placed', nodes: [nodeId('a')] });
    expect(why(2)).toEqual({ kind: 'waits', reasons: [{ code: 'behind', ahead: 1 }] });
    expect(why(3)).toEqual({ kind: 'waits', reasons: [{ code: 'behind', ahead: 2 }] });
    expect(why(4)).toEqual({ kind: 'waits', reasons: [{ code: 'behind', ahead: 3 }] });
  });

  test('computes counts now, where the told verdict may be older', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    for (const n of [1, 2, 3]) world.submit(job(n, oneTask(8)));
    world.cycle();
    world.cycle();
    world.drain(nodeId('b'), true);
    expect(world.engine.verdict(jobId(3), 0)).toMatchObject({
      reasons: [
        {
          nodes: 2,
          lacks: [
            { lack: 'draining', nodes: 1 },
            { lack: 'devices-busy', nodes: 1 },
          ],
        },
      ],
    });
  });
});

const quota = (project: string, more: Partial<Quota>): Quota => ({
  project,
  guaranteed: {},
  ceiling: {},
  userCeiling: {},
  weightMilli: 1000,
  preemptWithin: 'never',
  ...more,
});

describe('who is ahead', () => {
  /** The rule that puts each of the others before the job `n`, on a full fleet. */
  function rules(n: number, jobs: readonly JobFacts[], quotas: readonly Quota[] = [], nowMs = 1000) {
    const world = new World(loadEngine, node('a'));
    world.setPolicy({ ...world.rows().policy, quotas });
    world.submit(job(100, oneTask(8), { project: 'blue' }));
    world.cycle();
    for (const facts of jobs) world.submit(facts);
    const { ahead } = world.engine.explain(jobId(n), nowMs)!;
    expect(ahead!.count).toBe(ahead!.jobs.length);
    return ahead!.jobs.map(({ job: id, because }) => [Number(id.slice(4)), because]);
  }

  const day = 86_400_000;

  test('by waiting too long, tier, deadline, priority and time of submit', () => {
    const at = (submittedMs: number, more: object = {}) => ({ submittedMs, ...more });
    const jobs = [
      job(1, oneTask(8), at(10 * day)),
      job(2, oneTask(8), at(10 * day - 5)),
      job(3, oneTask(8), at(10 * day, { priority: 5 })),
      job(4, oneTask(8), at(10 * day, { deadlineMs: 10 * day + 60_000, durationMs: 30_000 })),
      job(5, oneTask(8), at(10 * day, { tier: 'critical' })),
      job(6, oneTask(8), at(0)),
    ];
    expect(rules(1, jobs, [], 10 * day)).toEqual([
      [6, { rule: 'starved', sinceMs: 0 }],
      [5, { rule: 'tier', theirs: 'critical', yours: 'standard' }],
      [4, { rule: 'deadline', latestStartMs: 10 * day + 30_000 - 15 * 60_000 }],
      [3, { rule: 'priority', theirs: 5, yours: 0 }],
      [2, { rule: 'submitted', submittedMs: 10 * day - 5 }],
    ]);
  });

  test('is nobody who could never start, whatever its place in the order, and nobody of an impossible job', () => {
    const jobs = [
      job(1, oneTask(8), { project: 'blue' }),
      job(2, oneTask(9), { project: 'blue', tier: 'critical' }),
      job(3, oneTask(9), { project: 'blue', priority: 5 }),
      job(4, oneTask(4), { project: 'red', priority: 5 }),
      job(5, oneTask(8), { project: 'blue', priority: 1 }),
    ];
    const quotas = [quota('red', { ceiling: { gpu: 2000 } })];
    expect(rules(1, jobs, quotas)).toEqual([[5, { rule: 'priority', theirs: 1, yours: 0 }]]);
    const world = new World(loadEngine, node('a'));
    for (const facts of jobs) world.submit(facts);
    expect(world.engine.explain(jobId(3), 1000)).toMatchObject({
      verdict: { kind: 'impossible' },
      ahead: null,
    });
  });

  test('is nobody who could never start in what is told after a plan either', () => {
    const world = new World(loadEngine, node('a'));
    world.setPolicy({ ...world.rows().policy, quotas: [quota('red', { ceiling: { gpu: 2000 } })] });
    world.submit(job(1, oneTask(8), { tier: 'critical' }));
    world.submit(job(2, oneTask(9), { tier: 'critical' }));
    world.submit(job(3, oneTask(9), { priority: 5 }));
    world.submit(job(4, oneTask(4), { tier: 'critical', project: 'red' }));
    world.submit(job(5, oneTask(4)));
    const behind = { kind: 'waits', reasons: [{ code: 'behind', ahead: 1 }] };
    expect(world.engine.verdict(jobId(5), 1000)).toEqual(behind);
    const told = world.cycle().verdicts.map(({ verdict }) => verdict);
    expect(told.filter(({ kind }) => kind === 'waits')).toEqual([behind]);
    expect(told.filter(({ kind }) => kind === 'impossible')).toHaveLength(3);
  });

  test('is no project that only a job that could never start would keep within its guarantee', () => {
    const world = new World(loadEngine, node('a'));
    world.setPolicy({ ...world.rows().policy, quotas: [quota('blue', { guaranteed: { gpu: 5000 } })] });
    for (const [i, project] of ['blue', 'green'].entries())
      world.submit(job(100 + i, oneTask(4), { project }));
    world.cycle();
    world.submit(job(1, oneTask(8), { project: 'blue' }));
    world.submit(job(2, oneTask(1, 'B200'), { project: 'blue', priority: 5 }));
    world.submit(job(3, oneTask(8), { project: 'red' }));
    expect(world.engine.explain(jobId(3), 1000)!.ahead).toEqual({ count: 0, jobs: [] });
  });

  test('by guarantee, share with both numbers, and name, of the projects in which the two differ', () => {
    const jobs = [
      job(1, oneTask(8), { project: 'blue/lab' }),
      job(2, oneTask(8), { project: 'green' }),
      job(3, oneTask(8), { project: 'red/x' }),
      job(4, oneTask(8), { project: 'red/y' }),
    ];
    expect(rules(1, jobs, [quota('red', { guaranteed: { gpu: 8000 } })])).toEqual([
      [3, { rule: 'guarantee', theirs: 'red', yours: 'blue' }],
      [4, { rule: 'guarantee', theirs: 'red', yours: 'blue' }],
      [2, { rule: 'share', theirs: 'green', theirShare: 0, yours: 'blue', yourShare: 1_000_000 }],
    ]);
    expect(rules(4, jobs)).toEqual([
      [2, { rule: 'project-name', theirs: 'green', yours: 'red' }],
      [3, { rule: 'project-name', theirs: 'red/x', yours: 'red/y' }],
    ]);
  });
});

describe('what would help', () => {
  const full = (mode: Policy['backfill']['mode']): World => {
    const world = new World(loadEngine, node('a'));
    world.setPolicy({ ...world.rows().policy, backfill: { mode, depth: 3 } });
    world.submit(job(1, oneTask(8), { tier: 'spot', submittedMs: 1000 }));
    world.running(world.cycle().units[0]!.run);
    world.nowMs += 3_600_000;
    return world;
  };
  const tiers = (world: World, n: number): string[] =>
    world.engine
      .explain(jobId(n), world.nowMs)!
      .changes.flatMap((change) => (change.kind === 'tier' ? [change.to] : []));

  test('another tier, unless nobody may pass the job before it', () => {
    for (const [mode, expected] of [
      ['strict', []],
      ['easy', ['critical', 'guaranteed', 'standard']],
    ] as const) {
      const world = full(mode);
      // It has waited so long that no tier is before it.
      world.submit(job(2, oneTask(8), { tier: 'spot', submittedMs: world.nowMs - 100 * 86_400_000 }));
      world.submit(job(3, oneTask(8), { tier: 'spot', submittedMs: world.nowMs, project: 'other' }));
      world.cycle();
      expect(tiers(world, 3)).toEqual(expected);
    }
  });

  test('another tier, where the first of its kind finds nobody and speaks for no other', () => {
    for (const [stop, expected] of [
      ['nobody', []],
      ['longer', ['critical', 'guaranteed', 'standard']],
    ] as const) {
      const world = full('skip');
      const { policy } = world.rows();
      world.setPolicy({ ...policy, runTimes: { use: 'learned', first: 'expected', stop } });
      world.submit(job(2, oneTask(8), { tier: 'spot', submittedMs: world.nowMs - 100 * 86_400_000 }));
      world.submit(job(3, oneTask(8), { tier: 'spot', submittedMs: world.nowMs }));
      world.cycle();
      expect(tiers(world, 3)).toEqual(expected);
    }
  });

  test('another tier, where the first of its kind has a planned start and stops nobody', () => {
    const world = full('conservative');
    world.submit(job(2, oneTask(8), { tier: 'spot', submittedMs: world.nowMs - 100 * 86_400_000 }));
    world.submit(job(3, oneTask(8), { tier: 'spot', submittedMs: world.nowMs }));
    world.cycle();
    expect(tiers(world, 3)).toEqual(['critical', 'guaranteed', 'standard']);
  });

  test.each(['before a plan', 'after one'])(
    'a ceiling as high as who comes first will need it too, when that may then stop somebody: %s',
    (when) => {
      const world = new World(loadEngine, node('a'), node('b'), node('c'));
      const shared = { project: 'red', user: 'ada' };
      const whole = { ...oneTask(1), exclusive: true };
      world.submit(job(1, whole, { ...shared, tier: 'spot' }));
      for (const n of [10, 11])
        world.submit(job(n, oneTask(5), { project: 'red', user: 'bob', tier: 'spot' }));
      for (const { run } of world.cycle().units) world.running(run);
      world.nowMs += 3_600_000;
      const quotas = [quota('red', { userCeiling: { gpu: 1500 } })];
      world.setPolicy({ ...world.rows().policy, quotas });
      world.submit(job(3, whole, { ...shared, tier: 'critical' }));
      world.submit(job(4, oneTask(3), shared));
      if (when === 'after one') world.cycle();
      // Job 3 would stop somebody and have its device; with 4 for both job 4 would be over the ceiling behind it.
      expect(world.engine.explain(jobId(4), world.nowMs)!.changes).toContainEqual(
        expect.objectContaining({ kind: 'ceiling', user: 'ada', key: 'gpu', from: 1500, to: 5000 }),
      );
    },
  );

  test('a time limit, where only room is free that is kept for a job ahead', () => {
    const world = new World(loadEngine, node('a'));
    const hour = 3_600_000;
    world.submit(job(1, oneTask(4), { durationMs: 2 * hour }));
    world.running(world.cycle().units[0]!.run);
    world.submit(job(2, oneTask(8)));
    world.nowMs += hour + 500;
    world.submit(job(3, oneTask(4)));
    world.submit(job(4, oneTask(4), { durationMs: 4 * hour }));
    world.cycle();
    const limits = [2, 3, 4].map((n) =>
      world.engine.explain(jobId(n), world.nowMs)!.changes.filter(({ kind }) => kind === 'time-limit'),
    );
    const told = { kind: 'time-limit', toMs: hour - 1000, victims: 0 };
    expect(limits).toEqual([[], [{ ...told, fromMs: null }], [{ ...told, fromMs: 4 * hour }]]);
  });

  test('the end of a member, where as many of its array are out as may be', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(1), { array: { count: 3, parallel: 2 } }));
    world.submit(job(2, oneTask(1)));
    world.cycle();
    const { verdict, ends } = world.engine.explain(jobId(1), world.nowMs)!;
    expect(verdict).toMatchObject({ reasons: [{ code: 'parallel' }] });
    expect(ends.runs.map((end) => end.job)).toEqual([`${jobId(1)}[0]`, `${jobId(1)}[1]`]);
  });
});

describe('consider', () => {
  const request = job(0, oneTask(8));

  test('says where a job would start, or who is ahead of it', () => {
    const world = new World(loadEngine, node('a'));
    expect(world.engine.consider(request, 0).verdict).toEqual({ kind: 'placed', nodes: [nodeId('a')] });
    world.submit(job(1, oneTask(1)));
    expect(world.engine.consider(request, 0).verdict).toEqual({
      kind: 'waits',
      reasons: [{ code: 'behind', ahead: 1 }],
    });
    expect(world.engine.consider({ ...request, tier: 'critical' }, 0).verdict.kind).toBe('placed');
  });

  test('leaves no trace', () => {
    const world = new World(loadEngine, node('a'));
    const before = world.engine.stateHash();
    world.engine.consider(request, 0);
    expect(world.engine.stateHash()).toBe(before);
    expect(world.decide()).toMatchObject({ units: [], verdicts: [] });
  });
});
