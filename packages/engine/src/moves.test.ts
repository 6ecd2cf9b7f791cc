// Small runs that move together so that a job which needs whole nodes fits (docs/decisions/0012-learned-run-times.md).
import { defaultPolicy, type JobDemand, type JobId, type NodeId, type PreemptUnit } from '@muster/model';
import { expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, node, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { bare, referenceUnits } from './testing/reference.ts';
import { World } from './testing/world.ts';

const minute = 60_000;
const hour = 60 * minute;

function worldOf(...names: readonly string[]): World {
  const world = new World(loadEngine, ...names.map((name) => node(name, { devices: devices(4) })));
  world.setPolicy({ ...defaultPolicy, runTimes: { use: 'learned', first: 'expected', stop: 'longer' } });
  return world;
}

let n = 0;
/** All are expected to be as long, unless told otherwise, so that nobody is stopped for being longer. */
function submit(world: World, asks: number | JobDemand, expectedMs = 9 * hour): JobId {
  const estimate = { expectedMs, p90Ms: expectedMs };
  const asked = typeof asks === 'number' ? oneTask(asks) : asks;
  const facts = job(++n, asked, { submittedMs: world.nowMs, estimate });
  world.submit(facts);
  return facts.job;
}

const onNodes = (count: number, ...values: readonly string[]): JobDemand =>
  demand(group([gpus(count)]), { constraints: [{ label: 'node', op: 'in', values }] });

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
  return sizes.map((size) => {
    const id = submit(world, size);
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

test('one that a job may not move in turn does not hide from it another that it may', () => {
  const world = worldOf();
  world.join(node('a', { devices: devices(2) }));
  const robbed = submit(world, 2, 200 * hour);
  cycle(world);
  save(world, [robbed]);
  const robber = submit(world, onNodes(1, 'a', 'c'));
  const [first] = cycle(world);
  expect(first).toMatchObject({ job: robber, claim: { victims: [{ job: robbed, right: 'shorter' }] } });
  world.preempted(first!.claim.victims[0]!.run);
  world.hold(robbed);
  cycle(world);
  const [gone] = running(world, 1) as [JobId];
  world.join(node('b', { devices: devices(2) }));
  const [movable] = running(world, 1) as [JobId];
  world.finish(runOf(world, gone).run);
  save(world, [movable]);
  save(world, [robber]);
  world.join(node('c', { devices: devices(1) }));
  expect([robber, movable].map((id) => nodeOf(world, id))).toEqual(['node_a', 'node_b']);
  // Once the short one has the last node, the robber would have no place elsewhere, and it is the first that any other would move.
  submit(world, onNodes(1, 'c'), minute);
  submit(world, 2, 100 * hour);
  world.release(robbed);
  const { units } = world.decide();
  expect(units.map(bare)).toEqual(referenceUnits(world.rows(), world.nowMs).map(bare));
  expect(units).toMatchObject([
    { kind: 'start' },
    { kind: 'preempt', job: robbed, claim: { victims: [{ job: movable, right: 'move' }] } },
  ]);
});

test('only smaller runs move', () => {
  const world = worldOf('a', 'b');
  const [first, second] = running(world, 4, 2) as [JobId, JobId];
  save(world, [first, second]);
  submit(world, 4);
  expect(cycle(world)).toEqual([]);
});
