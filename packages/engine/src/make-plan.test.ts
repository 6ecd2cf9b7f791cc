import { describe, expect, test } from 'vitest';
import { apply } from './apply.ts';
import { bringUp } from './bring-up.ts';
import { loadEngine, loadState } from './load.ts';
import { decide } from './make-plan.ts';
import { demand, gpus, group, job, node, oneTask } from './testing/builders.ts';
import { World } from './testing/world.ts';
import { engineVersion } from './version.ts';

describe('what is looked at again', () => {
  const two = demand([group([gpus(8)], { name: 'x', tasks: 2 }), group([gpus(1)], { name: 'y' })]);

  /** A full fleet with jobs waiting for it. */
  function full(...asked: (typeof two)[]) {
    const world = new World(loadEngine, node('a'), node('b'), node('c'));
    for (const n of [1, 2, 3]) world.submit(job(n, oneTask(8)));
    world.cycle();
    for (const [i, one] of asked.entries()) world.submit(job(4 + i, one));
    const state = loadState(world.rows());
    decide(state, 0);
    expect(state.queue.open.size).toBe(0);
    return { world, state };
  }

  test('is nothing when nothing happened', () => {
    const { state } = full(two);
    bringUp(state, 1);
    expect(state.queue.open.size).toBe(0);
  });

  test('is a shape of one group only when capacity it can use was given back', () => {
    const { world, state } = full(oneTask(4));
    const before = world.log.length;
    world.submit(job(5, oneTask(2)));
    for (const event of world.log.slice(before)) apply(state, event);
    bringUp(state, 1);
    expect([...state.queue.open].map((shape) => shape.demand)).toEqual([oneTask(2)]);
  });

  test('is a shape of several groups whenever anything is, because it is placed greedily', () => {
    const { world, state } = full(two);
    const before = world.log.length;
    world.submit(job(5, oneTask(2)));
    for (const event of world.log.slice(before)) apply(state, event);
    bringUp(state, 1);
    expect(state.queue.open.size).toBe(2);
  });

  test('is a shape when a node changes that it could use, or when it is impossible, whatever the change', () => {
    const { world, state } = full(oneTask(4), oneTask(99));
    const open = (change: () => void): number => {
      const before = world.log.length;
      change();
      for (const event of world.log.slice(before)) apply(state, event);
      bringUp(state, 1);
      return state.queue.open.size;
    };
    expect(open(() => world.drain(node('a').node, true))).toBe(2);
    decide(state, 1);
    expect(open(() => world.join(node('z', { devices: [] })))).toBe(1);
    decide(state, 1);
    expect(open(() => world.join(node('z')))).toBe(2);
  });
});

test('a plan names the state it was made on, and its hash covers what it says', () => {
  const world = new World(loadEngine, node('a'));
  const empty = world.decide();
  expect(empty).toMatchObject({
    sequence: 1,
    nowMs: 1000,
    policyVersion: 1,
    engineVersion,
    wakeAtMs: null,
  });
  world.submit(job(1, oneTask(1)));
  const plan = world.decide();
  expect(plan.sequence).toBe(2);
  expect(plan.hash).toMatch(/^[0-9a-f]{16}$/);
  expect(plan.hash).not.toBe(empty.hash);
  expect(world.decide().hash).toBe(plan.hash);
});
