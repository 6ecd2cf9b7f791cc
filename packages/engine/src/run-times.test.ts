// What learned run times do, in small worlds and exact numbers (docs/decisions/0012-learned-run-times.md).
import { defaultPolicy, type JobId, type Policy, plainQuota, type RunEstimate } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { devices, job, node, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

const minute = 60_000;
const hour = 60 * minute;
const nine = (expectedMs: number): RunEstimate => ({ expectedMs, p90Ms: 2 * expectedMs });

function worldWith(runTimes: Policy['runTimes'], more: Partial<Policy> = {}): World {
  const world = new World(loadEngine, node('a', { devices: devices(4) }));
  world.setPolicy({ ...defaultPolicy, runTimes, ...more });
  return world;
}

const learned = { use: 'learned', first: 'shares', stop: 'nobody' } as const;
const expectedFirst = { use: 'learned', first: 'expected', stop: 'nobody' } as const;

let n = 0;
function submit(world: World, options: Parameters<typeof job>[2], gpus = 4): JobId {
  const facts = job(++n, oneTask(gpus), { submittedMs: world.nowMs, ...options });
  world.submit(facts);
  return facts.job;
}

function cycle(world: World): JobId[] {
  const plan = world.cycle();
  for (const { run } of starts(plan)) world.running(run);
  return starts(plan).map((unit) => unit.job);
}

const aheadOf = (world: World, id: JobId) => world.engine.explain(id, world.nowMs)!.ahead!.jobs;

describe('in one project', () => {
  test('who is expected to be short goes before the long who came earlier, and the long are told so', () => {
    const world = worldWith(learned);
    const long = submit(world, { estimate: nine(5 * hour) });
    world.nowMs += hour;
    const short = submit(world, { estimate: nine(minute) });
    expect(aheadOf(world, long)).toEqual([
      {
        job: short,
        project: 'research',
        because: { rule: 'expected', theirMs: minute, yourMs: 5 * hour },
      },
    ]);
    expect(cycle(world)).toEqual([short]);
  });

  test('who comes two days later passes nobody, however short', () => {
    const world = worldWith(learned);
    const long = submit(world, { estimate: nine(100 * hour) });
    world.nowMs += 48 * hour;
    const short = submit(world, { estimate: nine(1) });
    expect(aheadOf(world, short)[0]).toMatchObject({ job: long, because: { rule: 'submitted' } });
    expect(cycle(world)).toEqual([long]);
  });

  test('priority counts beside it, and the greater of the two is told', () => {
    const world = worldWith(learned);
    const long = submit(world, { estimate: nine(hour), priority: 100 });
    const short = submit(world, { estimate: nine(minute) });
    expect(aheadOf(world, short)[0]).toMatchObject({ job: long, because: { rule: 'priority' } });
  });

  test('a policy that uses asked times does not look at it', () => {
    const world = worldWith(defaultPolicy.runTimes);
    const long = submit(world, { estimate: nine(5 * hour) });
    world.nowMs += 1;
    submit(world, { estimate: nine(1) });
    expect(cycle(world)).toEqual([long]);
  });
});

describe('between projects', () => {
  const twoProjects = (world: World): { greedy: JobId; modest: JobId } => {
    submit(world, { project: 'greedy' });
    cycle(world);
    world.nowMs += 24 * hour;
    const modest = submit(world, { project: 'modest', estimate: nine(2 * hour) });
    const greedy = submit(world, { project: 'greedy', estimate: nine(minute) });
    world.finish([...world.runs.keys()][0]!);
    return { greedy, modest };
  };

  test('shares come first where the policy says so', () => {
    const world = worldWith(learned);
    const { modest } = twoProjects(world);
    expect(cycle(world)).toEqual([modest]);
  });

  test('or the expected do; then neither share, name nor the priority of another project counts', () => {
    const world = worldWith(expectedFirst);
    const { modest, greedy } = twoProjects(world);
    const loud = submit(world, { project: 'loud', priority: 1000, estimate: nine(3 * hour) });
    expect(aheadOf(world, loud).map(({ job: id, because }) => [id, because.rule])).toEqual([
      [greedy, 'expected'],
      [modest, 'expected'],
    ]);
    expect(cycle(world)).toEqual([greedy]);
  });

  test('a guarantee comes before it all the same', () => {
    const quotas = [{ ...plainQuota('sure'), guaranteed: { gpu: 4000 } }];
    const world = worldWith(expectedFirst, { quotas });
    submit(world, { project: 'other', estimate: nine(minute) });
    const sure = submit(world, { project: 'sure', estimate: nine(5 * hour) });
    expect(cycle(world)).toEqual([sure]);
  });

  test('of two beside a guarantee, who waits for the other is counted and not the other way round', () => {
    const quotas = [{ ...plainQuota('green'), guaranteed: { gpu: 4000 } }];
    const world = worldWith(expectedFirst, { quotas });
    const [blue, red] = ['blue', 'red'].map((project) => submit(world, { project }));
    const green = submit(world, { project: 'green', estimate: nine(hour) });
    const counts = [green, blue!, red!].map((id) => world.engine.explain(id, world.nowMs)!.ahead!.count);
    expect(counts).toEqual([0, 1, 2]);
  });

  test('a job behind one of its own project is told what goes before that one', () => {
    const world = worldWith(expectedFirst);
    const first = submit(world, { project: 'p', priority: 1000, estimate: nine(3 * hour) });
    const behind = submit(world, { project: 'p', estimate: nine(minute) });
    const other = submit(world, { project: 'q', estimate: nine(hour) });
    expect(aheadOf(world, behind).map(({ job: id, because }) => [id, because.rule])).toEqual([
      [other, 'own-project'],
      [first, 'priority'],
    ]);
  });
});

describe('passing a planned start', () => {
  function waiting(runTimes: Policy['runTimes']) {
    const world = worldWith(runTimes);
    submit(world, { durationMs: 2 * hour }, 2);
    cycle(world);
    const large = submit(world, { durationMs: hour, estimate: nine(minute) });
    const passing = submit(world, { durationMs: 10 * hour, estimate: nine(50 * minute) }, 2);
    return { world, large, passing };
  }

  test('nine in ten such jobs end before it: that is enough', () => {
    const { world, passing } = waiting(learned);
    expect(cycle(world)).toEqual([passing]);
  });

  test('with asked times it would be too long', () => {
    const { world } = waiting(defaultPolicy.runTimes);
    expect(cycle(world)).toEqual([]);
  });

  test('once it runs, the planned start rests on what it asked for', () => {
    const { world, large } = waiting(learned);
    const atMs = (): number | undefined => world.engine.planned(world.nowMs)[0]?.startMs;
    expect(atMs()).toBe(world.nowMs + 2 * hour);
    cycle(world);
    expect(world.engine.planned(world.nowMs)[0]?.job).toBe(large);
    expect(atMs()).toBe(world.nowMs + 10 * hour);
  });

  test('a time limit bounds what was learned', () => {
    const world = worldWith(learned);
    submit(world, { durationMs: 2 * hour }, 2);
    cycle(world);
    submit(world, { durationMs: hour });
    const passing = submit(world, { durationMs: hour, estimate: nine(30 * hour) }, 2);
    world.nowMs += 1;
    expect(cycle(world)).toEqual([passing]);
  });
});
