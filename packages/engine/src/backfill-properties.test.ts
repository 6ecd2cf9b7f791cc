// Of crowds behind gangs that choose greedily, which is where planned starts are looked for again and again: more jobs than that may be done
// for, ends between, and gangs for which less room may be better. In the worlds of backfill.test.ts that is rare.
import { defaultPolicy, type JobDemand, type TopologyDemand } from '@muster/model';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, type GroupOptions, gpus, group, job, node, oneTask } from './testing/builders.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { starts } from './testing/plan-text.ts';
import { referencePlanned, referenceUnits } from './testing/reference.ts';
import { World } from './testing/world.ts';

const tried = cases(100);

const names = ['a', 'b', 'c'];

const arbitraryNodes = fc.tuple(
  ...names.map((name) =>
    fc
      .record({
        devices: fc.constantFrom(2, 4, 4, 4).map((count) => devices(count)),
        cpuMilli: fc.constantFrom(4000, 8000),
        labels: fc.constantFrom({ rack: 'r1' }, { rack: 'r2' }),
      })
      .map((options) => node(name, options)),
  ),
);

interface Crowd {
  readonly asks: JobDemand;
  readonly durationMs: number;
  readonly times: number;
}

function part(count: number, options: GroupOptions = {}) {
  return group(count === 0 ? [] : [gpus(count)], { cpuMilli: 1000, memoryMib: 1, ...options });
}

function onNode(name: string, count: number, cpuMilli: number): JobDemand {
  return demand(part(count, { cpuMilli }), { constraints: [{ label: 'node', op: 'in', values: [name] }] });
}

const arbitraryRun: fc.Arbitrary<Crowd> = fc.record({
  asks: fc
    .tuple(fc.constantFrom(...names), fc.constantFrom(0, 2, 4), fc.constantFrom(1, 1, 2000))
    .map(([name, count, cpuMilli]) => onNode(name, count, cpuMilli)),
  durationMs: fc.constantFrom(100, 100, 100, 30),
  times: fc.constant(1),
});

/** What is near some of its tasks has room by some nodes and not by others. */
const arbitraryGang: fc.Arbitrary<Crowd> = fc
  .record({
    main: fc.record({ tasks: fc.constantFrom(1, 2, 2, 2), count: fc.constantFrom(1, 2, 2) }),
    cpuMilli: fc.constantFrom(2000, 6000, 6000),
    near: fc.constantFrom(null, 'rack', 'node', 'node', 'node'),
    durationMs: fc.constantFrom(20, 200),
  })
  .map(({ main: { tasks, count }, cpuMilli, near, durationMs }) => {
    const loader = part(0, { name: 'loader', cpuMilli, near: near && { group: 'main', level: near } });
    return { asks: demand([part(count, { tasks }), loader]), durationMs, times: 1 };
  });

const spread: TopologyDemand = { level: 'rack', mode: 'spread' };

const arbitraryLarge: fc.Arbitrary<Crowd> = fc.record({
  asks: fc.constantFrom(
    demand(part(4, { tasks: 2 })),
    demand(part(2, { tasks: 3 })),
    demand(part(2, { tasks: 2 }), { topology: spread }),
    oneTask(4),
  ),
  durationMs: fc.constantFrom(10, 200),
  times: fc.constant(1),
});

/** Some end when the first of those that wait can start, or before, and some would be in their way. */
const arbitraryCrowd: fc.Arbitrary<Crowd> = fc.record({
  asks: fc.constantFrom(0, 1, 1, 2).map((count) => demand(part(count, { cpuMilli: count === 0 ? 10 : 0 }))),
  durationMs: fc.constantFrom(50, 50, 100, 200),
  times: fc.constantFrom(1, 1, 20),
});

const arbitraryHistory = fc.record({
  nodes: arbitraryNodes,
  depth: fc.constantFrom(2, 4),
  runs: fc.array(arbitraryRun, { minLength: 3, maxLength: 4 }),
  gang: arbitraryGang,
  waiting: fc.array(fc.oneof(arbitraryGang, arbitraryLarge, arbitraryLarge), { minLength: 1, maxLength: 3 }),
  crowds: fc.array(arbitraryCrowd, { minLength: 1, maxLength: 4 }),
});

/** Something small ends before all else, so that there is a moment at which a gang is looked at again. */
const early: Crowd = { asks: onNode('c', 0, 1), durationMs: 30, times: 1 };

test('behind gangs the fast engine lets pass whom the naive one lets pass, however many come', {
  timeout: timeoutOf(tried),
}, () => {
  fc.assert(
    fc.property(arbitraryHistory, ({ nodes, depth, runs, gang, waiting, crowds }) => {
      const world = new World(loadEngine, ...nodes);
      const tier = {
        ...defaultPolicy.tiers[0]!,
        name: 'standard',
        rank: 1,
        preempts: [],
        starvesAfterMs: null,
      };
      world.setPolicy({ ...defaultPolicy, tiers: [tier], backfill: { mode: 'conservative', depth } });
      for (const some of [[early, ...runs], [gang, ...waiting], crowds, []]) {
        for (const { asks, durationMs, times } of some)
          for (let i = 0; i < times; i++)
            world.submit(job(world.log.length, asks, { durationMs, submittedMs: world.nowMs }));
        look(world);
        for (const { run } of starts(world.cycle())) world.running(run);
      }
    }),
    tried,
  );
});

function look(world: World): void {
  const { engine, nowMs } = world;
  const planned = engine.planned(nowMs).map(({ job: id, startMs }) => ({ job: id, startMs }));
  expect(planned).toEqual(referencePlanned(world.rows(), nowMs));
  const plan = engine.fork().decide(nowMs);
  const units = starts(plan).map(({ nodeGenerations: _, ...unit }) => unit);
  expect(units).toEqual(referenceUnits(world.rows(), nowMs));
  expect(world.rebuilt().decide(nowMs).units).toEqual(plan.units);
}
