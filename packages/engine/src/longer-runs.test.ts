// Runs that are stopped for jobs expected to be shorter, in small worlds and exact numbers (docs/decisions/0012-learned-run-times.md).
import {
  defaultPolicy,
  type JobId,
  type Policy,
  type PreemptUnit,
  plainQuota,
  type RunId,
} from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { devices, job, node, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

const minute = 60_000;
const hour = 60 * minute;

function worldWith(more: Partial<Policy> = {}): World {
  const world = new World(loadEngine, node('a', { devices: devices(4) }));
  const runTimes = { use: 'learned', first: 'expected', stop: 'longer' } as const;
  world.setPolicy({ ...defaultPolicy, runTimes, ...more });
  return world;
}

let n = 0;
function submit(world: World, expectedMs: number | null, options: Parameters<typeof job>[2] = {}): JobId {
  const estimate = expectedMs === null ? undefined : { expectedMs, p90Ms: 2 * expectedMs };
  const facts = job(++n, oneTask(4), { submittedMs: world.nowMs, estimate, ...options });
  world.submit(facts);
  return facts.job;
}

/** Decides once, and what starts runs at once. */
function cycle(world: World): { readonly started: JobId[]; readonly stops: readonly PreemptUnit[] } {
  const plan = world.cycle();
  for (const { run } of starts(plan)) world.running(run);
  const stops = plan.units.filter((unit): unit is PreemptUnit => unit.kind === 'preempt');
  return { started: starts(plan).map((unit) => unit.job), stops };
}

function runOf(world: World, id: JobId): RunId {
  return [...world.runs.values()].find((run) => run.job === id)!.run;
}

/** A job that has all of the node, has run for an hour and has just saved its work. */
function running(world: World, expectedMs: number | null, options: Parameters<typeof job>[2] = {}): JobId {
  const id = submit(world, expectedMs, options);
  expect(cycle(world).started).toEqual([id]);
  world.nowMs += hour;
  world.checkpoint(runOf(world, id));
  return id;
}

describe('who is stopped', () => {
  test('a run that has saved its work, for a job that is expected to need half as long', () => {
    const world = worldWith();
    const long = running(world, 4 * hour);
    const short = submit(world, 2 * hour);
    const [unit] = cycle(world).stops;
    expect(unit).toMatchObject({ job: short, claim: { victims: [{ job: long, right: 'shorter' }] } });
  });

  test('nobody for a job that is expected to need more than half as long', () => {
    const world = worldWith();
    running(world, 4 * hour);
    submit(world, 2 * hour + 1);
    expect(cycle(world).stops).toEqual([]);
  });

  test('a run that was expected to be short, once it has done more than that; and the engine wakes for it', () => {
    const world = worldWith();
    const long = running(world, 90 * minute);
    const startedMs = world.nowMs - hour;
    submit(world, 50 * minute);
    const plan = world.cycle();
    expect(plan.units).toEqual([]);
    expect(plan.wakeAtMs).toBe(startedMs + 90 * minute);
    world.nowMs = startedMs + 90 * minute;
    expect(cycle(world).stops[0]?.claim.victims).toMatchObject([{ job: long }]);
  });

  test.each([
    ['first', [50, 45]],
    ['last', [45, 50]],
  ])(
    'a run is looked at again when its least time is over and not when it is long enough before that, also where who waits for it to be long asks %s',
    (_, expected) => {
      const minRunMs = 3 * hour;
      const world = worldWith({ tiers: defaultPolicy.tiers.map((tier) => ({ ...tier, minRunMs })) });
      running(world, 90 * minute);
      const startedMs = world.nowMs - hour;
      // One has a right to it now, the other from 90 minutes on.
      for (const minutes of expected)
        world.submit(
          job(++n, oneTask(minutes === 50 ? 4 : 3), {
            submittedMs: world.nowMs,
            estimate: { expectedMs: minutes * minute, p90Ms: minutes * minute },
          }),
        );
      expect(world.decide()).toMatchObject({ units: [], wakeAtMs: startedMs + minRunMs });
    },
  );

  test.each<[string, (world: World) => void]>([
    [
      'a run that never said that its work is saved',
      (world) => void cycleFor(world, submit(world, 9 * hour)),
    ],
    ['a run of another tier', (world) => void running(world, 9 * hour, { tier: 'guaranteed' })],
  ])('not %s', (_, make) => {
    const world = worldWith();
    make(world);
    submit(world, minute);
    expect(cycle(world).stops).toEqual([]);
  });

  test('a run of which nothing was said, by its time limit; and one for a job that says itself that it is short', () => {
    const world = worldWith();
    const long = running(world, null, { durationMs: 4 * hour });
    submit(world, 2 * hour + 1);
    expect(cycle(world).stops).toEqual([]);
    const short = submit(world, null, { durationMs: 2 * hour });
    const [unit] = cycle(world).stops;
    expect(unit).toMatchObject({ job: short, claim: { victims: [{ job: long, right: 'shorter' }] } });
  });

  test('not where the policy does not say so', () => {
    const world = worldWith({ runTimes: { use: 'learned', first: 'expected', stop: 'nobody' } });
    running(world, 9 * hour);
    submit(world, minute);
    expect(cycle(world).stops).toEqual([]);
  });

  test("not a run within another project's guarantee", () => {
    const world = worldWith({ quotas: [{ ...plainQuota('safe'), guaranteed: { gpu: 4000 } }] });
    running(world, 9 * hour, { project: 'safe' });
    submit(world, minute);
    expect(cycle(world).stops).toEqual([]);
  });

  test('a first checkpoint is looked at as soon as it is told', () => {
    const world = worldWith();
    const long = submit(world, 9 * hour);
    cycle(world);
    world.nowMs += hour;
    submit(world, minute);
    expect(cycle(world).stops).toEqual([]);
    world.checkpoint(runOf(world, long));
    expect(cycle(world).stops[0]?.claim.victims).toMatchObject([{ job: long }]);
  });

  test('the shorter of a lane is served, though a longer one of it stands before it and finds nobody', () => {
    const world = worldWith();
    running(world, 4 * hour);
    submit(world, 4 * hour, { priority: 1000 });
    const short = submit(world, hour);
    expect(cycle(world).stops.map((unit) => unit.job)).toEqual([short]);
  });
});

describe('what becomes of it', () => {
  test('it stands back by what it has done, goes on after the shorter one, and stops nobody in its turn', () => {
    const world = worldWith();
    const long = running(world, 10 * minute);
    const short = submit(world, minute);
    expect(cycle(world).stops).toHaveLength(1);
    world.preempted(runOf(world, long));
    expect(world.jobs.get(long)!.state).toMatchObject({ state: 'queued', savedMs: hour });
    expect(cycle(world).started).toEqual([short]);
    world.nowMs += 11 * minute;
    world.checkpoint(runOf(world, short));
    expect(cycle(world).stops).toEqual([]);
    // Expected to be 10, 20, 40, now 80 minutes long, it stands back by 800: one that comes 700 minutes later goes before it.
    const later = submit(world, 9 * minute, { submittedMs: world.nowMs });
    const { ahead } = world.engine.explain(long, world.nowMs)!;
    expect(ahead?.jobs[0]).toMatchObject({ job: later, because: { rule: 'expected', yourMs: 80 * minute } });
  });

  test('it is stopped for every shorter one, also more often in a day than its tier says, because its work is saved each time', () => {
    const world = worldWith();
    const { preemptionsMax } = defaultPolicy.tiers.find(({ name }) => name === 'standard')!;
    const long = running(world, 900 * hour);
    for (let times = 0; times <= preemptionsMax; times++) {
      const short = submit(world, minute);
      expect(cycle(world).stops[0]).toMatchObject({ job: short, claim: { victims: [{ job: long }] } });
      world.preempted(runOf(world, long));
      expect(cycle(world).started).toEqual([short]);
      world.nowMs += minute;
      world.finish(runOf(world, short));
      expect(cycle(world).started).toEqual([long]);
      world.nowMs += hour;
      world.checkpoint(runOf(world, long));
    }
    expect(world.jobs.get(long)!.state).toMatchObject({ preempted: { length: preemptionsMax + 1 } });
  });
});

function cycleFor(world: World, id: JobId): void {
  expect(cycle(world).started).toEqual([id]);
  world.nowMs += hour;
}

test('a job that comes anew looks for itself, though one just like it that has done much of its work looked in vain', () => {
  const world = worldWith();
  const worn = running(world, 10 * minute);
  const between = submit(world, minute);
  expect(cycle(world).stops).toHaveLength(1);
  world.preempted(runOf(world, worn));
  expect(cycle(world).started).toEqual([between]);
  world.finish(runOf(world, between));
  const long = running(world, 50 * minute, { priority: 1_000_000 });
  expect(cycle(world).stops).toEqual([]);
  // Expected to be 80 minutes long, the first may not stop what is expected to be 100, as a new one of 10 may.
  const fresh = submit(world, 10 * minute);
  const [unit] = cycle(world).stops;
  expect(unit).toMatchObject({ job: fresh, claim: { victims: [{ job: long, right: 'shorter' }] } });
});

test('the longest time limit that is told lets a job of which nothing was said stand before the one that room is kept for', () => {
  const world = worldWith();
  world.submit(job(++n, oneTask(2), { durationMs: 2 * hour }));
  cycle(world);
  const kept = submit(world, null, { durationMs: 10 * hour });
  world.nowMs += 10 * minute;
  const facts = job(++n, oneTask(2), { submittedMs: world.nowMs, durationMs: 20 * hour });
  world.submit(facts);
  expect(world.decide().units).toEqual([]);
  const { verdict, changes } = world.engine.explain(facts.job, world.nowMs)!;
  expect(verdict).toMatchObject({ reasons: [{ code: 'reserved' }] });
  // Each stands back by ten times its limit, and the other came ten minutes earlier.
  const toMs = 10 * hour - minute - 1000;
  expect(changes.filter(({ kind }) => kind === 'time-limit')).toEqual([
    { kind: 'time-limit', fromMs: 20 * hour, toMs, victims: 0 },
  ]);
  for (const [durationMs, started] of [
    [toMs, [facts.job]],
    [toMs + 1000, []],
  ] as const) {
    const rows = world.rows();
    const jobs = rows.jobs.map((row) => (row.job === facts.job ? { ...row, durationMs } : row));
    expect(starts(loadEngine({ ...rows, jobs }).decide(world.nowMs)).map(({ job: id }) => id)).toEqual(
      started,
    );
  }
  expect(world.engine.planned(world.nowMs)).toMatchObject([{ job: kept }]);
});
