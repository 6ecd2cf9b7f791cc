// Nobody takes more of a project than it borrows, however many jobs and tasks take from it in one plan.
import { defaultPolicy, type JobDemand, type PreemptUnit, plainQuota, type Quota } from '@muster/model';
import { expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, jobId, node, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

const guarantee = (project: string, gpu: number): Quota => ({
  ...plainQuota(project),
  guaranteed: { gpu: gpu * 1000 },
});

/**
 * Two nodes full of one-device runs. `much` borrows three devices, and has two runs or more on each node; `little` borrows one.
 * The younger a run, the less it would lose: those of the second node are taken first, and on each node those of `much`.
 */
function lentOut(): World {
  const world = new World(loadEngine, ...['a', 'b'].map((name) => node(name, { devices: devices(4) })));
  world.setPolicy({
    ...defaultPolicy,
    quotas: [guarantee('owner', 4), guarantee('much', 2), guarantee('little', 2)],
  });
  const projects = ['little', 'much', 'much', 'much', 'little', 'little', 'much', 'much'];
  for (const [i, project] of projects.entries()) {
    world.submit(job(i + 1, oneTask(1), { project }));
    for (const { run } of starts(world.cycle())) world.running(run);
    world.nowMs += 600_000;
  }
  world.nowMs += 3_600_000;
  return world;
}

/** How many runs of each project the owner's jobs stop, claim by claim. */
function taken(...demands: readonly JobDemand[]): readonly Readonly<Record<string, number>>[] {
  const world = lentOut();
  for (const [i, asks] of demands.entries()) world.submit(job(20 + i, asks, { project: 'owner' }));
  const { jobs } = world.rows();
  const projectOf = (id: string): string => jobs.find((row) => row.job === id)!.project;
  return world
    .decide()
    .units.filter((unit): unit is PreemptUnit => unit.kind === 'preempt')
    .map(({ claim }) => {
      const counts: Record<string, number> = {};
      for (const { job: id } of claim.victims) counts[projectOf(id)] = (counts[projectOf(id)] ?? 0) + 1;
      return counts;
    });
}

/** Claims of a plan: whose, and for how many runs. */
function claims(world: World): readonly [string, number][] {
  return world
    .decide()
    .units.filter((unit): unit is PreemptUnit => unit.kind === 'preempt')
    .map((unit) => [unit.job, unit.claim.victims.length]);
}

function running(world: World, number: number, asks: JobDemand, project: string): void {
  world.submit(job(number, asks, { project }));
  for (const { run } of starts(world.cycle())) world.running(run);
}

test('who found too little lent looks again when a project that borrowed already borrows more', () => {
  const world = new World(loadEngine, ...['a', 'b'].map((name) => node(name, { devices: devices(4) })));
  world.setPolicy({
    ...defaultPolicy,
    quotas: [guarantee('owner', 3), guarantee('much', 2), guarantee('other', 3)],
  });
  running(world, 1, oneTask(1), 'owner');
  running(world, 2, oneTask(1), 'much');
  running(world, 3, oneTask(2), 'much');
  running(world, 4, oneTask(3), 'other');
  world.nowMs += 3_600_000;
  // Of the three that it uses, `much` borrows one: after its small run there is no right to the large one beside it.
  world.submit(job(5, oneTask(2), { project: 'owner' }));
  expect(claims(world)).toEqual([]);
  running(world, 6, oneTask(1), 'much');
  expect(claims(world)).toEqual([[jobId(5), 1]]);
});

test('a second of two gangs need not wait for the next plan, once a project has borrowed more in this one', () => {
  const lent = ['a', 'b'].map((name) => node(name, { devices: devices(4) }));
  const others = ['c', 'd'].map((name) => node(name, { devices: devices(2, 'A100') }));
  const world = new World(loadEngine, ...lent, ...others);
  const tier = { ...defaultPolicy.tiers.find(({ name }) => name === 'standard')!, preempts: [] };
  const tiers = ['low', 'standard', 'high'].map((name, rank) => ({ ...tier, name, rank }));
  world.setPolicy({ ...defaultPolicy, tiers, quotas: [guarantee('owner', 6), guarantee('much', 5)] });
  for (const number of [1, 2, 3, 4]) running(world, number, oneTask(2, 'H100'), 'much');
  world.nowMs += 3_600_000;
  const gang = demand(group([gpus(2, 'H100')], { tasks: 2 }));
  const owner = { project: 'owner' };
  world.submit(job(5, oneTask(2, 'H100'), { ...owner, tier: 'high' }));
  world.submit(job(6, gang, { ...owner, tier: 'high', user: 'ada' }));
  world.submit(job(7, oneTask(2, 'A100'), { project: 'much' }));
  world.submit(job(8, gang, { ...owner, tier: 'low', user: 'bob' }));
  // It borrows three: the first job leaves one of them, and two more come before the last job looks.
  expect(claims(world)).toEqual([
    [jobId(5), 1],
    [jobId(8), 2],
  ]);
});

test('a second job takes no more of a project than it still borrows', () => {
  expect(taken(oneTask(2), oneTask(2))).toEqual([{ much: 2 }, { much: 1, little: 1 }]);
});

test('nor does a second task of one job', () => {
  expect(taken(demand(group([gpus(2)], { tasks: 2 })))).toEqual([{ much: 3, little: 1 }]);
});

test('nor do many jobs of one device', () => {
  const one = { much: 1 };
  expect(taken(...Array.from({ length: 6 }, () => oneTask(1)))).toEqual([one, one, { little: 1 }, one]);
});
