// Small runs that move together so that a job which needs whole nodes fits (docs/decisions/0012-learned-run-times.md).
import { defaultPolicy, type JobId, type NodeId, type PreemptUnit } from '@muster/model';
import { expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { devices, job, node, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

const minute = 60_000;
const hour = 60 * minute;

function worldOf(...names: readonly string[]): World {
  const world = new World(loadEngine, ...names.map((name) => node(name, { devices: devices(4) })));
  world.setPolicy({ ...defaultPolicy, runTimes: { use: 'learned', first: 'expected', stop: 'longer' } });
  return world;
}

let n = 0;
/** All are expected to be as long, so that nobody is stopped for being longer. */
function submit(world: World, gpus: number): JobId {
  const estimate = { expectedMs: 9 * hour, p90Ms: 9 * hour };
  const facts = job(++n, oneTask(gpus), { submittedMs: world.nowMs, estimate });
  world.submit(facts);
  return facts.job;
}

function cycle(world: World): readonly PreemptUnit[] {
  const plan = world.cycle();
  for (const { run } of starts(plan)) world.running(run);
  return plan.units.filter((unit): unit is PreemptUnit => unit.kind === 'preempt');
}

function runOf(world: World, id: JobId) {
  return [...world.runs.values()].find((run) => run.job === id)!;
}

/** Jobs of these sizes one after the other, each on the tightest node that holds it. */
function running(world: World, ...sizes: readonly number[]): readonly JobId[] {
  return sizes.map((gpus) => {
    const id = submit(world, gpus);
    cycle(world);
    return id;
  });
}

function save(world: World, ids: readonly JobId[]): void {
  world.nowMs += hour;
  for (const id of ids) world.checkpoint(runOf(world, id).run);
}

const nodeOf = (world: World, id: JobId): NodeId => runOf(world, id).tasks[0]!.node;

test('a small run moves to the other node, and the job has the first one whole', () => {
  const world = worldOf('a', 'b');
  const [first, second, third] = running(world, 2, 2, 2) as [JobId, JobId, JobId];
  expect([first, second, third].map((id) => nodeOf(world, id))).toEqual(['node_a', 'node_a', 'node_b']);
  world.finish(runOf(world, second).run);
  save(world, [first, third]);
  const large = submit(world, 4);
  const [unit] = cycle(world);
  expect(unit).toMatchObject({ job: large, claim: { victims: [{ right: 'move' }] } });
  const { job: moved, run } = unit!.claim.victims[0]!;
  const emptied = nodeOf(world, moved);
  world.preempted(run);
  cycle(world);
  expect(nodeOf(world, large)).toBe(emptied);
  expect(nodeOf(world, moved)).not.toBe(emptied);
});

test('nobody moves who has not saved its work', () => {
  const world = worldOf('a', 'b');
  const [, second] = running(world, 2, 2, 2) as [JobId, JobId, JobId];
  world.finish(runOf(world, second).run);
  world.nowMs += hour;
  submit(world, 4);
  expect(cycle(world)).toEqual([]);
});

test('nobody moves where it would have no place, though enough is free together', () => {
  const world = worldOf('a', 'b', 'c');
  // Two devices are free on one node, one on each of the others.
  const ids = running(world, 3, 3, 2);
  save(world, ids);
  submit(world, 4);
  expect(cycle(world)).toEqual([]);
});

test('nobody moves for a job that fits as it is', () => {
  const world = worldOf('a', 'b');
  const ids = running(world, 2);
  save(world, ids);
  const large = submit(world, 4);
  expect(cycle(world)).toEqual([]);
  expect(nodeOf(world, large)).toBe('node_b');
});

test('only smaller runs move', () => {
  const world = worldOf('a', 'b');
  const [first, second] = running(world, 4, 2) as [JobId, JobId];
  save(world, [first, second]);
  submit(world, 4);
  expect(cycle(world)).toEqual([]);
});
