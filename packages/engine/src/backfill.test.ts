import {
  defaultPolicy,
  entryKey,
  type JobDemand,
  type JobId,
  type Policy,
  plainQuota,
  type Quota,
} from '@muster/model';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, node, oneTask } from './testing/builders.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { starts } from './testing/plan-text.ts';
import { playOn } from './testing/play.ts';
import { referencePlanned, referenceUnits } from './testing/reference.ts';
import { World } from './testing/world.ts';

const tried = cases(100);
const timeout = timeoutOf(tried);
const minute = 60_000;

type Backfill = Policy['backfill'];

function policyWith(backfill: Backfill, quotas: readonly Quota[] = []): Policy {
  const tier = { ...defaultPolicy.tiers[0]!, name: 'standard', rank: 1, preempts: [], starvesAfterMs: null };
  return { ...defaultPolicy, tiers: [{ ...tier, durationMs: 50 }], quotas, backfill };
}

function worldWith(backfill: Backfill, ...names: string[]): World {
  const world = new World(loadEngine, ...names.map((name) => node(name)));
  world.setPolicy(policyWith(backfill));
  return world;
}

const easy: Backfill = { mode: 'easy', depth: 1 };
const conservative: Backfill = { mode: 'conservative', depth: 8 };

/** Commits what is decided and says that it runs. */
function cycle(world: World): JobId[] {
  const plan = world.cycle();
  for (const { run } of starts(plan)) world.running(run);
  return starts(plan).map((unit) => unit.job);
}

let next = 0;
function submit(world: World, asks: JobDemand, durationMs: number | null): JobId {
  const facts = job(++next, asks, { durationMs, submittedMs: world.nowMs });
  world.submit(facts);
  return facts.job;
}

function startOf(world: World, id: JobId): number | undefined {
  const verdict = world.engine.verdict(id, world.nowMs);
  return verdict?.kind === 'waits' ? verdict.planned?.startMs : undefined;
}

function reasonOf(world: World, id: JobId) {
  const verdict = world.engine.verdict(id, world.nowMs);
  return verdict?.kind === 'waits' ? verdict.reasons[0] : undefined;
}

describe('easy', () => {
  test('the first job that waits for room starts when enough has ended, and says on what that rests', () => {
    const world = worldWith(easy, 'a');
    submit(world, oneTask(4), 10 * minute);
    submit(world, oneTask(4), null);
    cycle(world);
    const large = submit(world, oneTask(8), minute);
    expect(cycle(world)).toEqual([]);
    expect(world.engine.verdict(large, world.nowMs)).toMatchObject({
      kind: 'waits',
      planned: { startMs: world.nowMs + 10 * minute, runs: 2, assumed: 1, overdue: 0 },
    });
    expect(world.engine.planned(world.nowMs).map((planned) => planned.job)).toEqual([large]);
  });

  test('what ends in time passes, what does not waits for the job that room is kept for', () => {
    const world = worldWith(easy, 'a');
    submit(world, oneTask(4), 10 * minute);
    cycle(world);
    submit(world, oneTask(8), minute);
    const long = submit(world, oneTask(1), 11 * minute);
    const short = submit(world, oneTask(1), 10 * minute);
    expect(cycle(world)).toEqual([short]);
    expect(reasonOf(world, long)).toEqual({
      code: 'reserved',
      startMs: world.nowMs + 10 * minute,
    });
  });

  test('what is beside the reservation may run for ever', () => {
    const world = worldWith(easy, 'a', 'b');
    for (const asks of [6, 4]) submit(world, oneTask(asks), 10 * minute);
    cycle(world);
    submit(world, oneTask(8), minute);
    const long = submit(world, oneTask(2), 1000 * minute);
    const [beside] = [submit(world, oneTask(4), 1000 * minute)];
    // Six of one node and four of the other are taken: one of them will be reserved, the other stays free.
    const started = cycle(world);
    expect(started).toHaveLength(1);
    expect([long, beside]).toContain(started[0]);
  });

  test('what a ceiling leaves is kept for it too, because over its ceiling it would lose its planned start', () => {
    const world = new World(loadEngine, node('a'), node('b', { devices: devices(8, 'A100', 40_960) }));
    world.setPolicy(policyWith(easy, [{ ...plainQuota('research'), ceiling: { gpu: 16_000 } }]));
    submit(world, oneTask(8, 'H100'), 10 * minute);
    cycle(world);
    const waits = submit(world, oneTask(8, 'H100'), minute);
    const long = submit(world, oneTask(8, 'A100'), 60 * minute);
    expect(cycle(world)).toEqual([]);
    const startMs = world.nowMs + 10 * minute;
    expect([startOf(world, waits), reasonOf(world, long)]).toEqual([startMs, { code: 'reserved', startMs }]);
    expect(cycle(world)).toEqual([]);
    const short = submit(world, oneTask(8, 'A100'), 10 * minute);
    expect(cycle(world)).toEqual([short]);
  });

  test('room is free for all again when the job it was kept for is cancelled', () => {
    const world = worldWith(easy, 'a');
    submit(world, oneTask(4), 10 * minute);
    cycle(world);
    const large = submit(world, oneTask(8), minute);
    const long = submit(world, oneTask(4), 11 * minute);
    expect(cycle(world)).toEqual([]);
    world.cancel(large);
    expect(cycle(world)).toEqual([long]);
  });

  test('a run that outlives its duration is expected to need a tenth of its age more, and is waited for', () => {
    const world = worldWith(easy, 'a');
    submit(world, oneTask(4), 100 * minute);
    cycle(world);
    const begunMs = world.nowMs;
    const large = submit(world, oneTask(8), minute);
    const short = submit(world, oneTask(4), 5 * minute);
    world.nowMs += 98 * minute;
    expect(cycle(world)).toEqual([]);
    expect(world.decide().wakeAtMs).toBe(begunMs + 100 * minute);
    world.nowMs += 2 * minute;
    expect(startOf(world, large)).toBe(begunMs + 110 * minute);
    expect(cycle(world)).toEqual([short]);
  });

  test('what was kept for a job is kept no longer when a claim moves its start', () => {
    const world = new World(loadEngine, node('a'));
    world.setPolicy({ ...defaultPolicy, backfill: easy });
    const add = (asks: number, tier: string, minutes: number, model: string | null = null): JobId => {
      const facts = job(++next, oneTask(asks, model), {
        tier,
        durationMs: minutes * minute,
        submittedMs: world.nowMs,
      });
      world.submit(facts);
      return facts.job;
    };
    add(3, 'critical', 70);
    add(2, 'spot', 65);
    cycle(world);
    world.nowMs += 60 * minute;
    add(8, 'critical', 10);
    // Kept from it until the large job has run.
    const long = add(1, 'critical', 60);
    // Stops the spot job, and runs where the large job would have in ten minutes.
    const preemptor = add(4, 'guaranteed', 120);
    // By now its start is looked for again.
    const other = add(0.5, 'standard', 60, 'H100');
    const same = add(1, 'spot', 60);
    const plan = world.decide();
    expect(plan.units.map((unit) => [unit.kind, unit.job])).toEqual([
      ['start', other],
      ['preempt', preemptor],
    ]);
    for (const id of [long, same]) expect(world.engine.verdict(id, world.nowMs)?.kind).toBe('waits');
  });

  test('a gang that could not start though all ended keeps no room', () => {
    const world = worldWith(easy, 'a', 'b');
    submit(world, oneTask(8), 10 * minute);
    cycle(world);
    world.drain(node('b').node, true);
    const gang = submit(world, demand(group([gpus(8)], { tasks: 2 })), minute);
    world.drain(node('b').node, false);
    expect(startOf(world, gang)).toBe(world.nowMs + 10 * minute);
    world.drain(node('b').node, true);
    expect(startOf(world, gang)).toBeUndefined();
  });
});

describe('other modes', () => {
  test('a gang that finds its place only beside what is kept starts no sooner for being the only one that is new', () => {
    const world = worldWith(easy);
    world.join(node('a'));
    world.join(node('b', { labels: { rack: 'r1' }, ports: { first: 30_000, count: 1 } }));
    const onB = { constraints: [{ label: 'node', op: 'in', values: ['b'] }] } as const;
    submit(world, demand(group([gpus(4)]), onB), 10 * minute);
    cycle(world);
    submit(world, demand(group([gpus(8)]), onB), minute);
    cycle(world);
    // Its turn is at the rack, which has room and no port; with the rest of b kept for the other there is no room to begin with.
    submit(world, demand(group([gpus(1)]), { topology: { level: 'rack', mode: 'spread' } }), 20 * minute);
    const { units } = world.rebuilt().decide(world.nowMs);
    expect(world.decide().units).toEqual(units);
  });

  test('strict: nobody passes a job that waits for room', () => {
    const world = worldWith({ mode: 'strict', depth: 1 }, 'a');
    submit(world, oneTask(4), 10 * minute);
    cycle(world);
    const large = submit(world, oneTask(8), minute);
    const short = submit(world, oneTask(1), 1);
    expect(cycle(world)).toEqual([]);
    expect(reasonOf(world, short)).toEqual({ code: 'reserved', startMs: null });
    expect(startOf(world, large)).toBe(world.nowMs + 10 * minute);
  });

  test('strict: a job that no node fits is told so, and not that it waits behind another', () => {
    const world = worldWith({ mode: 'strict', depth: 1 }, 'a');
    submit(world, oneTask(4), 10 * minute);
    cycle(world);
    submit(world, oneTask(8), minute);
    cycle(world);
    const never = job(++next, oneTask(16), { submittedMs: world.nowMs });
    world.submit(never);
    cycle(world);
    const told = world.told.get(entryKey(never, never.demand));
    expect(told).toMatchObject({ kind: 'impossible', reasons: [{ code: 'no-node-fits' }] });
  });

  test('strict: a project does not stand by what a job asks for that cannot start', () => {
    const world = worldWith({ mode: 'strict', depth: 1 }, 'a');
    const quota = { ceiling: {}, userCeiling: {}, weightMilli: 1000, preemptWithin: 'never' } as const;
    const quotas: Quota[] = [{ project: 'q', guaranteed: { gpu: 4000 }, ...quota }];
    world.setPolicy(policyWith({ mode: 'strict', depth: 1 }, quotas));
    submit(world, oneTask(4), 10 * minute);
    cycle(world);
    world.submit(job(++next, oneTask(16), { project: 'q' }));
    world.submit(job(++next, oneTask(8), { project: 'p' }));
    const within = job(++next, oneTask(1), { project: 'q' });
    world.submit(within);
    expect(cycle(world)).toEqual([within.job]);
  });

  test('strict: who starves stands before the job that nobody may pass, and takes what it has a right to', () => {
    const world = worldWith({ mode: 'strict', depth: 1 }, 'a');
    const base = policyWith({ mode: 'strict', depth: 1 });
    const standard = { ...base.tiers[0]!, minRunMs: 0, starvesAfterMs: 100 };
    const tiers = [standard, { ...standard, name: 'critical', rank: 2, starvesAfterMs: null }];
    const rest = { ceiling: {}, userCeiling: {}, weightMilli: 1000, preemptWithin: 'never' } as const;
    const quotas: Quota[] = [{ project: 'q', guaranteed: { gpu: 4000 }, ...rest }];
    world.setPolicy({ ...base, tiers, quotas });
    const { nowMs: submittedMs } = world;
    world.submit(job(++next, oneTask(8), { project: 'p', submittedMs }));
    cycle(world);
    world.submit(job(++next, oneTask(8), { project: 'p', tier: 'critical', submittedMs }));
    const entitled = job(++next, oneTask(4), { project: 'q', submittedMs });
    world.submit(entitled);
    expect(world.cycle().units).toEqual([]);
    world.nowMs += 100;
    expect(world.cycle().units).toMatchObject([{ kind: 'preempt', job: entitled.job }]);
  });

  test('skip: everything that fits starts', () => {
    const world = worldWith({ mode: 'skip', depth: 1 }, 'a');
    submit(world, oneTask(4), 10 * minute);
    cycle(world);
    const large = submit(world, oneTask(8), minute);
    const long = submit(world, oneTask(4), 100 * minute);
    expect(cycle(world)).toEqual([long]);
    expect(startOf(world, large)).toBeUndefined();
  });

  test('conservative: every planned job has its time, one after the other', () => {
    const world = worldWith(conservative, 'a');
    submit(world, oneTask(4), 10 * minute);
    cycle(world);
    const first = submit(world, oneTask(8), 5 * minute);
    const second = submit(world, oneTask(6), 5 * minute);
    const third = submit(world, oneTask(2), 20 * minute);
    cycle(world);
    const at = (id: JobId): number => startOf(world, id)! - world.nowMs;
    expect([first, second, third].map(at)).toEqual([10, 15, 15].map((minutes) => minutes * minute));
  });
});

test('conservative: a job that passes on a part of a device changes no device that another is planned on', () => {
  const world = new World(loadEngine, node('a', { devices: devices(4), cpuMilli: 8000 }));
  world.setPolicy(policyWith(conservative));
  const asks = (count: number, cpuMilli: number) =>
    demand(group(count === 0 ? [] : [gpus(count)], { cpuMilli, memoryMib: 100 }));
  submit(world, asks(0, 3000), 200 * minute);
  submit(world, asks(2, 4000), 10 * minute);
  expect(cycle(world)).toHaveLength(2);
  const planned = [asks(1, 2000), asks(2, 4000), asks(1, 2000)].map((each) =>
    submit(world, each, 200 * minute),
  );
  cycle(world);
  const starts = [10, 200, 10].map((minutes) => world.nowMs + minutes * minute);
  expect(planned.map((id) => startOf(world, id))).toEqual(starts);
  world.nowMs += 3 * minute;
  const part = submit(world, asks(0.5, 1000), 10 * minute);
  expect(cycle(world)).toEqual([part]);
  expect(planned.map((id) => startOf(world, id))).toEqual(starts);
});

/** Its groups are placed one after the other, each where it is best for itself, so that less room may happen to help it. */
const greedy = demand([group([gpus(2)]), group([], { name: 'loader', cpuMilli: 1000, memoryMib: 1 })]);

/** A gang that chooses greedily waits for the end of the runs in ten minutes, and so many others behind it. */
function worldBehindGang(others: number): World {
  const world = worldWith(conservative);
  for (const name of ['a', 'b'])
    world.join(node(name, { devices: devices(4), ports: { first: 30_000, count: 10_000 } }));
  for (const asks of [3, 3]) submit(world, oneTask(asks), 10 * minute);
  cycle(world);
  submit(world, greedy, minute);
  for (let i = 0; i < others; i++) submit(world, oneTask(4), minute);
  expect(cycle(world)).toEqual([]);
  const startMs = world.nowMs + 10 * minute;
  expect(world.engine.planned(world.nowMs)).toHaveLength(1 + others);
  expect(world.engine.planned(world.nowMs)[0]).toMatchObject({ startMs });
  return world;
}

const core = (cpuMilli: number): JobDemand => demand(group([], { cpuMilli, memoryMib: 1 }));

test('conservative: however many pass a gang in one plan, who has ended when it starts does, and who has not waits', () => {
  const world = worldBehindGang(1);
  const short = Array.from({ length: 20 }, () => submit(world, core(1), 10 * minute));
  const long = submit(world, core(1), 11 * minute);
  expect(cycle(world)).toEqual(short);
  // In the next plan the gang is looked for again beside it.
  expect(cycle(world)).toEqual([long]);
});

test('conservative: who has ended when a gang starts passes it where more ends than may be looked at', () => {
  const world = worldBehindGang(7);
  for (let i = 0; i < 2000; i++) submit(world, core(1), 5 * minute + i);
  while (cycle(world).length > 0);
  // Eight starts behind two thousand ends: all of them can be planned six times.
  const short = Array.from({ length: 10 }, () => submit(world, core(1), 10 * minute));
  expect(cycle(world)).toEqual(short);
});

test('conservative: a job waits where less room lets a gang start sooner and in the way of the next, though it would have ended by then', () => {
  const world = worldWith(conservative);
  for (const [name, cpuMilli] of [
    ['a', 4000],
    ['b', 8000],
    ['c', 8000],
  ] as const)
    world.join(node(name, { devices: devices(4), cpuMilli }));
  const part = (count: number, options: Parameters<typeof group>[1] = {}) =>
    group(count === 0 ? [] : [gpus(count)], { cpuMilli: 1, memoryMib: 1, ...options });
  const onNode = (name: string, count: number) =>
    demand(part(count), { constraints: [{ label: 'node', op: 'in', values: [name] }] });
  submit(world, onNode('b', 2), 10 * minute);
  submit(world, onNode('c', 4), 10 * minute);
  submit(world, onNode('c', 0), 3 * minute);
  cycle(world);
  const loader = part(0, { name: 'loader', cpuMilli: 6000, near: { group: 'main', level: 'node' } });
  // Both of its tasks go to a, where the loader has no room, unless a holds only one of them.
  const gang = submit(world, demand([part(2, { tasks: 2 }), loader]), 20 * minute);
  const next = submit(world, demand(part(4, { tasks: 2 })), minute);
  cycle(world);
  const startMs = world.nowMs + 10 * minute;
  expect([gang, next].map((id) => startOf(world, id))).toEqual([startMs, startMs]);
  const short = submit(world, demand(part(1)), 5 * minute);
  expect(cycle(world)).toEqual([]);
  expect(reasonOf(world, short)).toEqual({ code: 'reserved', startMs });
  expect([gang, next].map((id) => startOf(world, id))).toEqual([startMs, startMs]);
  // By the time of the first end it has ended too.
  const shorter = submit(world, demand(part(1)), 3 * minute);
  expect(cycle(world)).toEqual([shorter]);
});

const arbitraryDurationMs = fc.constantFrom(null, 10, 30, 70, 200);

const arbitraryAsk: fc.Arbitrary<JobDemand> = fc.oneof(
  fc.constantFrom(1, 2, 3, 4).map((count) => oneTask(count)),
  fc.constantFrom(0.5, 0.3).map((part) => demand(group([gpus(part)]))),
  fc.constantFrom(2, 3).map((tasks) => demand(group([gpus(2)], { tasks }))),
  fc.constant(demand(group([gpus(1)]), { exclusive: true })),
  fc.constant(demand(group([], { cpuMilli: 3000, memoryMib: 100 }))),
  fc.constant(demand([group([gpus(2)]), group([gpus(1, 'A100')], { name: 'second' })])),
);

type Step =
  | {
      readonly do: 'submit';
      readonly asks: JobDemand;
      readonly durationMs: number | null;
      readonly project: string;
    }
  | { readonly do: 'cycle' }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'finish' | 'cancel' | 'start'; readonly at: number };

const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      asks: arbitraryAsk,
      durationMs: arbitraryDurationMs,
      project: fc.constantFrom('p', 'p', 'q'),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'cycle' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(5, 25, 60_000) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('finish' as const, 'cancel', 'start'), at: fc.nat(9) }),
  },
);

const quota: Quota = {
  project: 'p',
  guaranteed: {},
  ceiling: { gpu: 5000 },
  userCeiling: {},
  weightMilli: 1000,
  preemptWithin: 'never',
};

const arbitraryPolicy: fc.Arbitrary<Policy> = fc
  .record({
    mode: fc.constantFrom('easy' as const, 'easy', 'conservative', 'conservative', 'strict', 'skip'),
    depth: fc.constantFrom(2, 4),
    limited: fc.boolean(),
  })
  .map(({ mode, depth, limited }) => policyWith({ mode, depth }, limited ? [quota] : []));

/** Two or three nodes of four devices each. */
const arbitraryWorld = fc
  .record({
    models: fc.array(fc.constantFrom('A100', 'H100'), { minLength: 2, maxLength: 3 }),
    policy: arbitraryPolicy,
  })
  .map(({ models, policy }) => ({
    policy,
    nodes: models.map((model, i) =>
      node(`n${i}`, { devices: devices(4, model), cpuMilli: 8000, memoryMib: 8192 }),
    ),
  }));

function take(world: World, step: Step): void {
  const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];
  switch (step.do) {
    case 'submit': {
      const { asks, durationMs, project } = step;
      world.submit(job(world.log.length, asks, { durationMs, project, submittedMs: world.nowMs }));
      break;
    }
    case 'cycle':
      world.cycle();
      break;
    case 'wait':
      world.nowMs += step.ms;
      break;
    case 'start':
    case 'finish': {
      const run = pick([...world.runs.keys()], step.at);
      if (run && step.do === 'start') world.running(run);
      else if (run) world.finish(run);
      break;
    }
    case 'cancel': {
      const row = pick(
        [...world.jobs.values()].filter(({ state }) => state.state === 'queued'),
        step.at,
      );
      if (row) world.cancel(row.job);
    }
  }
}

describe('for any history', { timeout }, () => {
  test('the fast engine starts and plans what the naive one does, and so does a rebuilt one', () => {
    fc.assert(
      fc.property(
        arbitraryWorld,
        fc.array(arbitraryStep, { minLength: 5, maxLength: 25, size: 'max' }),
        ({ nodes, policy }, steps) => {
          const world = new World(loadEngine, ...nodes);
          world.setPolicy(policy);
          playOn(world, steps, take, ({ nowMs }) => {
            const fork = world.engine.fork();
            const planned = fork.planned(nowMs).map(({ job: id, startMs }) => ({ job: id, startMs }));
            expect(planned).toEqual(referencePlanned(world.rows(), nowMs));
            const plan = fork.decide(nowMs);
            const units = starts(plan).map(({ nodeGenerations: _, ...unit }) => unit);
            expect(units).toEqual(referenceUnits(world.rows(), nowMs));
            expect(world.rebuilt().decide(nowMs).units).toEqual(plan.units);
            expect(fork.stateHash()).toBe(world.engine.stateHash());
          });
        },
      ),
      tried,
    );
  });
});

interface Arrival {
  readonly afterMs: number;
  readonly asks: JobDemand;
  readonly durationMs: number;
}

const arbitraryArrival: fc.Arbitrary<Arrival> = fc.record({
  afterMs: fc.constantFrom(0, 0, 3, 11),
  asks: arbitraryAsk.filter(({ groups }) => groups.length === 1),
  durationMs: fc.constantFrom(10, 30, 70, 200),
});

/**
 * Plays arrivals, first come first served, with runs that last exactly as long as they say. No start that was planned for a
 * job may move later by jobs that came after it.
 */
function playExactly(world: World, arrivals: readonly Arrival[]): void {
  const promised = new Map<JobId, number>();
  const endsMs = new Map<string, number>();
  const waiting = [...arrivals];
  let dueMs = world.nowMs + (waiting[0]?.afterMs ?? 0);
  for (let count = 0; waiting.length > 0 || world.jobs.size > 0; count++) {
    while (waiting.length > 0 && dueMs <= world.nowMs) {
      const { asks, durationMs } = waiting.shift()!;
      world.submit(job(world.log.length, asks, { durationMs, submittedMs: world.nowMs }));
      dueMs += waiting[0]?.afterMs ?? 0;
    }
    for (;;) {
      const plan = world.cycle();
      if (plan.units.length === 0) break;
      for (const { run, job: id } of starts(plan)) {
        expect(world.nowMs, `${id} starts as planned`).toBeLessThanOrEqual(promised.get(id) ?? world.nowMs);
        promised.delete(id);
        endsMs.set(run, world.nowMs + world.jobs.get(id)!.durationMs!);
        world.running(run);
      }
    }
    const planned = world.engine.planned(world.nowMs);
    for (const { job: id, startMs } of planned)
      expect(startMs).toBeLessThanOrEqual(promised.get(id) ?? startMs);
    for (const { job: id, startMs } of planned) promised.set(id, startMs);
    const nextMs = Math.min(...endsMs.values(), ...(waiting.length > 0 ? [dueMs] : []));
    if (nextMs === Number.POSITIVE_INFINITY) return;
    world.nowMs = nextMs;
    for (const [run, endMs] of endsMs) {
      if (endMs > nextMs) continue;
      endsMs.delete(run);
      world.finish(run as Parameters<World['finish']>[0]);
    }
    expect(count).toBeLessThan(1000);
  }
}

describe('with exact durations', { timeout }, () => {
  for (const backfill of [easy, conservative]) {
    test(`${backfill.mode} to ${backfill.depth}: no later job delays a planned start`, () => {
      fc.assert(
        fc.property(
          arbitraryWorld,
          fc.array(arbitraryArrival, { minLength: 5, maxLength: 25, size: 'max' }),
          ({ nodes }, arrivals) => {
            const world = new World(loadEngine, ...nodes);
            world.setPolicy(policyWith(backfill));
            playExactly(world, arrivals);
          },
        ),
        tried,
      );
    });
  }
});
