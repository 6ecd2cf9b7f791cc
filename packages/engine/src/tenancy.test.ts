// Quota and fairness in small worlds, in exact numbers.
import { defaultPolicy, type Policy, plainQuota, type Quota } from '@muster/model';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { arbitrarySteps } from './testing/arbitrary.ts';
import { demand, devices, gpus, group, job, jobId, node, oneTask } from './testing/builders.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { starts } from './testing/plan-text.ts';
import { play } from './testing/play.ts';
import { withMembers } from './testing/reference-arrays.ts';
import { ReferenceTenancy } from './testing/reference-tenancy.ts';
import { World } from './testing/world.ts';

const tried = cases(200);
const timeout = timeoutOf(tried);

function policyOf(
  quotas: readonly (Partial<Quota> & { project: string })[],
  more: Partial<Policy> = {},
): Policy {
  return {
    ...defaultPolicy,
    ...more,
    quotas: quotas.map((quota) => ({ ...plainQuota(quota.project), ...quota })),
  };
}

const started = (world: World): string[] => world.cycle().units.map((unit) => unit.job);

test('no ceiling is ever exceeded by a plan, whatever happened before (S7)', { timeout }, () => {
  fc.assert(
    fc.property(arbitrarySteps, (steps) => {
      play(steps, (world) => {
        const rows = withMembers(world.rows());
        const tenancy = new ReferenceTenancy(rows, world.nowMs);
        for (const unit of world.engine.fork().decide(world.nowMs).units) {
          const row = rows.jobs.find(({ job: id }) => id === unit.job)!;
          // What is claimed counts as use already, and may be above a ceiling that the end of its victims eases.
          const isClaimed = row.state.state === 'queued' && row.state.claim !== null;
          if (unit.kind !== 'start' || isClaimed) continue;
          expect(tenancy.isOver(row, unit.uses)).toBe(false);
          tenancy.start(row, unit.uses);
        }
      });
    }),
    tried,
  );
});

describe('projects', () => {
  test('take turns by weight, now and over time', () => {
    const world = new World(loadEngine, node('a'));
    world.setPolicy(
      policyOf([{ project: 'heavy', weightMilli: 3000 }, { project: 'light' }], {
        share: { halfLifeMs: 256_000 },
      }),
    );
    let n = 0;
    const served = { heavy: 0, light: 0 };
    for (let round = 0; round < 200; round++) {
      for (const project of ['heavy', 'light'] as const)
        for (let i = 0; i < 8; i++) world.submit(job(++n, oneTask(1), { project, submittedMs: world.nowMs }));
      const plan = world.cycle();
      for (const { job: id } of plan.units) served[world.jobs.get(id)!.project as 'heavy' | 'light']++;
      world.nowMs += 10_000;
      for (const { run } of plan.units) world.finish(run);
    }
    expect(served.heavy + served.light).toBe(1600);
    // Three quarters, give or take a fiftieth.
    expect(Math.abs(served.heavy - 1200)).toBeLessThan(32);
  });

  test('within their guarantee come first, whatever they used before', () => {
    const world = new World(loadEngine, node('a'));
    world.setPolicy(
      policyOf([
        { project: 'poor', weightMilli: 1_000_000 },
        { project: 'sure', guaranteed: { gpu: 2000 } },
      ]),
    );
    for (const n of [1, 2, 3]) world.submit(job(n, oneTask(4), { project: 'poor' }));
    for (const n of [4, 5]) world.submit(job(n, oneTask(2), { project: 'sure' }));
    expect(started(world)).toEqual([4, 1, 5].map(jobId));
  });

  test('reach their own ceiling, that of a project above and that of a user, and are told which', () => {
    const world = new World(loadEngine, node('a'));
    world.setPolicy(
      policyOf([
        { project: 'a', ceiling: { gpu: 3000 } },
        { project: 'a/b', userCeiling: { gpu: 1000 } },
      ]),
    );
    const ask = { project: 'a/b', user: 'ada' };
    for (const n of [1, 2]) world.submit(job(n, oneTask(1), ask));
    for (const n of [3, 4]) world.submit(job(n, oneTask(1), { project: 'a', user: 'bob' }));
    world.submit(job(5, oneTask(1), { project: 'a', user: 'eve' }));
    world.submit(job(6, oneTask(4), { project: 'a', user: 'eve' }));
    while (world.cycle().units.length > 0);
    const why = (n: number) => world.engine.verdict(jobId(n), world.nowMs);
    expect(why(2)).toMatchObject({
      kind: 'waits',
      reasons: [
        {
          code: 'over-ceiling',
          project: 'a/b',
          user: 'ada',
          key: 'gpu',
          ceiling: 1000,
          use: 1000,
          asks: 1000,
        },
        { code: 'over-ceiling', project: 'a', user: null, ceiling: 3000, use: 3000 },
      ],
    });
    expect(why(5)).toMatchObject({ kind: 'waits', reasons: [{ project: 'a', user: null }] });
    expect(why(6)).toMatchObject({ kind: 'impossible', reasons: [{ code: 'over-ceiling', asks: 4000 }] });
  });

  test('that ask for more than a ceiling ever allows are told how much it does, beside what the fleet holds', () => {
    const world = new World(loadEngine, node('a'));
    world.setPolicy(policyOf([{ project: 'a', ceiling: { gpu: 5000 }, userCeiling: { gpu: 4000 } }]));
    const gang = (tasks: number, each: number) => demand(group([gpus(each)], { tasks }));
    world.submit(job(1, gang(3, 2), { project: 'a' }));
    world.submit(job(2, gang(8, 2), { project: 'a' }));
    world.submit(job(3, oneTask(6), { project: 'a' }));
    const nearest = (n: number) => {
      const verdict = world.engine.verdict(jobId(n), world.nowMs);
      return verdict?.kind === 'impossible' ? verdict.nearest : null;
    };
    expect(nearest(1)).toEqual(['at most 2 tasks within its ceilings']);
    expect(nearest(2)).toEqual(['at most 4 tasks at once', 'at most 2 tasks within its ceilings']);
    expect(nearest(3)).toEqual(['at most 4 gpu in all within its ceilings']);
    // So many are possible.
    world.submit(job(4, gang(2, 2), { project: 'a' }));
    expect(starts(world.cycle()).map((unit) => unit.job)).toEqual([jobId(4)]);
  });

  test('take the next alternative where one is over a ceiling, and are told all when all are', () => {
    const world = new World(loadEngine, node('h'), node('a', { devices: devices(8, 'A100', 40_960) }));
    const either = demand(group([gpus(2, 'H100'), gpus(2, 'A100')]));
    world.setPolicy(policyOf([{ project: 'p', ceiling: { 'gpu/H100': 1000, 'gpu/A100': 3000 } }]));
    world.submit(job(1, either, { project: 'p' }));
    world.submit(job(2, either, { project: 'p' }));
    const plan = starts(world.cycle());
    expect(plan.map((unit) => [unit.job, unit.tasks[0]!.node])).toEqual([[jobId(1), 'node_a']]);
    const verdict = world.engine.verdict(jobId(2), world.nowMs)!;
    expect(verdict).toMatchObject({
      kind: 'waits',
      reasons: [
        { code: 'over-ceiling', key: 'gpu/H100', ceiling: 1000, use: 0, asks: 2000 },
        { code: 'over-ceiling', key: 'gpu/A100', ceiling: 3000, use: 2000, asks: 2000 },
      ],
    });
    world.cycle();
    expect([...world.told.values()]).toEqual([verdict]);
  });

  test('have their guarantees scaled down to what is healthy', () => {
    const world = new World(loadEngine, node('a'), node('b'));
    world.setPolicy(
      policyOf([
        { project: 'x', guaranteed: { gpu: 12_000 } },
        { project: 'y', guaranteed: { gpu: 4000 } },
      ]),
    );
    const guaranteed = () =>
      world.engine
        .ledger(world.nowMs)
        .lines.filter(({ key }) => key === 'gpu')
        .map((line) => line.guaranteed);
    expect(guaranteed()).toEqual([12_000, 4000]);
    world.drain(node('b').node, true);
    expect(guaranteed()).toEqual([6000, 2000]);
  });

  test('lend what they do not use, and the ledger says to whom', () => {
    const world = new World(loadEngine, node('a'));
    world.setPolicy(
      policyOf([
        { project: 'idle', guaranteed: { gpu: 5000 } },
        { project: 'busy', guaranteed: { gpu: 2000 } },
      ]),
    );
    for (let n = 1; n <= 8; n++) world.submit(job(n, oneTask(1), { project: 'busy' }));
    world.cycle();
    const { lines, loans } = world.engine.ledger(world.nowMs);
    const gpu = lines.filter(({ key }) => key === 'gpu');
    expect(gpu.map(({ project, use, borrowed, lent }) => [project, use, borrowed, lent])).toEqual([
      ['busy', 8000, 6000, 0],
      ['idle', 0, 0, 5000],
    ]);
    expect(loans.filter(({ key }) => key === 'gpu')).toEqual([
      { key: 'gpu', from: null, to: 'busy', amount: 1000 },
      { key: 'gpu', from: 'idle', to: 'busy', amount: 5000 },
    ]);
  });
});

describe('waiting', () => {
  test('of a spot job ends, however many critical ones keep coming', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(8), { tier: 'spot', submittedMs: world.nowMs }));
    let n = 1;
    let hours = 0;
    for (; hours < 1000; hours++) {
      world.submit(job(++n, oneTask(8), { tier: 'critical', submittedMs: world.nowMs }));
      const { units } = world.cycle();
      if (units[0]?.job === jobId(1)) break;
      world.nowMs += 3_600_000;
      for (const { run } of units) world.finish(run);
    }
    expect(hours).toBe(14 * 24);
  });

  test('is worth priority, and an urgent deadline comes before both', () => {
    const world = new World(loadEngine, node('a'));
    const at = (submittedMs: number) => ({ submittedMs });
    const { pointMs } = defaultPolicy.ageing;
    world.nowMs = 10 * pointMs;
    world.submit(job(1, oneTask(8), { ...at(world.nowMs), priority: 5 }));
    world.submit(job(2, oneTask(8), at(world.nowMs - 6 * pointMs)));
    const late = { durationMs: 1000, deadlineMs: world.nowMs + 1000 };
    world.submit(job(3, oneTask(8), { ...at(world.nowMs), priority: -5, ...late }));
    const order: string[] = [];
    for (let units = world.cycle().units; units.length > 0; units = world.cycle().units) {
      order.push(units[0]!.job);
      world.finish(units[0]!.run);
    }
    expect(order).toEqual([3, 2, 1].map(jobId));
  });

  test('is over for a deadline by the same duration as for a planned start, also in a tier that is no more', () => {
    const world = new World(loadEngine, node('a'));
    world.submit(job(1, oneTask(8), { tier: 'gone', submittedMs: 500 }));
    const deadlineMs = world.nowMs + 23 * 3_600_000;
    world.submit(job(2, oneTask(8), { tier: 'gone', submittedMs: 600, deadlineMs }));
    expect(started(world)).toEqual([jobId(2)]);
  });

  test('says when to look again: a job starves, a deadline presses', () => {
    const world = new World(loadEngine, node('a', { devices: [] }));
    world.submit(job(1, oneTask(1), { submittedMs: 1500 }));
    expect(world.decide().wakeAtMs).toBe(7 * 86_400_000 + 2000);
    const marginMs = defaultPolicy.deadline.marginMs;
    world.submit(job(2, oneTask(1), { submittedMs: 1500, durationMs: 1000, deadlineMs: marginMs + 61_000 }));
    expect(world.decide().wakeAtMs).toBe(60_000);
  });
});

test('of 10,000 different jobs in one project, the only one that may start does in the first cycle', () => {
  const world = new World(loadEngine, node('a', { cpuMilli: 64_000, memoryMib: 1_000_000 }));
  world.setPolicy(policyOf([{ project: 'research', ceiling: { cpu: 1000 } }]));
  for (let n = 1; n < 10_000; n++)
    world.submit(job(n, { ...oneTask(0), groups: [{ ...oneTask(0).groups[0]!, cpuMilli: 1000 + n }] }));
  world.submit(job(10_000, { ...oneTask(0), groups: [{ ...oneTask(0).groups[0]!, cpuMilli: 500 }] }));
  expect(started(world)).toEqual([jobId(10_000)]);
});
