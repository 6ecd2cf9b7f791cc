import { defaultPolicy, memberId, runId } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { job, jobId, node, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

const array = jobId(1);
const member = (index: number) => memberId(array, index);
const run = (index: number, attempt = 1) => runId(member(index), attempt);
const several = (count: number, parallel: number | null = null) =>
  job(1, oneTask(1), { array: { count, parallel } });
const started = (world: World) => starts(world.decide()).map((unit) => unit.job);

describe('an array', () => {
  test('of a million members is one entry, and starts the lowest indices that there is room for', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(several(1_000_000));
    expect(world.decide().verdicts).toHaveLength(1);
    expect(started(world)).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map(member));
    world.cycle();
    const [row] = world.engine.rows().arrays;
    expect(row).toMatchObject({ state: { waiting: [[8, 999_999]], live: 8 } });
    expect(world.cycle().units).toEqual([]);
  });

  test('takes its turns with jobs of the same standing, by submission', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(0, oneTask(1)));
    world.submit(several(5));
    world.submit(job(2, oneTask(1)));
    expect(started(world)).toEqual([jobId(0), ...[0, 1, 2, 3, 4].map(member), jobId(2)]);
  });

  test('starts no more than may run at once, and says so', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(several(5, 2));
    world.submit(job(2, oneTask(1)));
    expect(started(world)).toEqual([member(0), member(1), jobId(2)]);
    world.cycle();
    const full = { kind: 'waits', reasons: [{ code: 'parallel', running: 2, parallel: 2 }] };
    for (const id of [array, member(2), member(4)])
      expect(world.engine.verdict(id, world.nowMs)).toEqual(full);
    expect(world.cycle().units).toEqual([]);
    world.finish(run(0));
    expect(started(world)).toEqual([member(2)]);
  });

  test('serves those that wait again before those that never started, by index', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(several(20));
    world.cycle();
    for (const index of [5, 3]) world.requeue(run(index));
    expect(started(world)).toEqual([member(3), member(5)]);
    world.finish(run(0));
    expect(started(world)).toEqual([member(3), member(5), member(8)]);
  });

  test('goes on with an index whose unit was dropped', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(several(10));
    world.commit(world.decide(), (unit) => unit.job !== member(2));
    expect(started(world)).toEqual([member(2)]);
  });

  test('that is held starts nobody, and members that fail meanwhile wait with it', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(several(10));
    world.cycle();
    world.hold(array);
    world.finish(run(0));
    world.requeue(run(1));
    expect(started(world)).toEqual([]);
    const held = { kind: 'waits', reasons: [{ code: 'held', by: 'bob' }] };
    for (const id of [array, member(1), member(9)])
      expect(world.engine.verdict(id, world.nowMs)).toEqual(held);
    expect(world.rebuilt().stateHash()).toBe(world.engine.stateHash());
    world.release(array);
    expect(started(world)).toEqual([member(1), member(8)]);
  });

  test('ends with its last member, and nothing of it stays', () => {
    const world = new World(loadEngine, node('a'));
    const before = world.engine.rows();
    world.submit(several(3));
    world.drop(array, [1, 1]);
    expect(started(world)).toEqual([member(0), member(2)]);
    world.cycle();
    expect(world.engine.verdict(array, world.nowMs)).toMatchObject({ kind: 'placed' });
    world.finish(run(0));
    world.finish(run(2));
    expect(world.engine.rows()).toMatchObject({ arrays: [], jobs: before.jobs, runs: [] });
    expect(world.engine.verdict(array, world.nowMs)).toBeNull();
  });

  test('preempts member by member, and a claim is out like a run', () => {
    const world = new World(loadEngine, node('a'));
    const tiers = defaultPolicy.tiers.map((tier) => ({ ...tier, minRunMs: 0 }));
    world.setPolicy({ ...defaultPolicy, tiers });
    const [low, high] = [
      tiers.find(({ name }) => name === 'spot')!,
      tiers.find(({ preempts }) => preempts.includes('spot'))!,
    ];
    for (let n = 10; n < 18; n++) world.submit(job(n, oneTask(1), { tier: low.name }));
    world.cycle();
    for (const id of [...world.runs.keys()]) world.running(id);
    world.submit(job(1, oneTask(1), { tier: high.name, array: { count: 5, parallel: 2 } }));
    const plan = world.cycle();
    expect(plan.units.map(({ kind, job: id }) => [kind, id])).toEqual([
      ['preempt', member(0)],
      ['preempt', member(1)],
    ]);
    expect(world.cycle().units).toEqual([]);
    expect(world.rebuilt().stateHash()).toBe(world.engine.stateHash());
    for (const [id, { stopping }] of world.runs) if (stopping) world.preempted(id);
    expect(started(world)).toEqual([member(0), member(1)]);
  });

  test('tells a member behind others its own verdict', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(several(12));
    expect(world.engine.verdict(member(7), world.nowMs)).toMatchObject({ kind: 'placed' });
    expect(world.engine.verdict(member(8), world.nowMs)).toMatchObject({
      reasons: [{ code: 'behind', ahead: 8 }],
    });
    expect(world.engine.verdict(member(12), world.nowMs)).toBeNull();
    expect(world.engine.explain(member(8), world.nowMs)).toMatchObject({ ahead: { count: 8 }, changes: [] });
  });

  test('is asked about before it is submitted', () => {
    const world = new World(loadEngine, node('a'));
    const facts = several(12);
    const answer = world.engine.whatIf(
      [{ kind: 'job.submitted', by: 'ada', held: false, ...facts }],
      world.nowMs,
      10,
    );
    expect(answer.starts.map((start) => start.job)).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map(member));
    expect(answer.verdicts).toMatchObject([{ job: array, jobs: 4 }]);
  });
});
