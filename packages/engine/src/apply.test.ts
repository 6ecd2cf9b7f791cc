import { InvariantError } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { devices, job, jobId, node, nodeId, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

const a = node('a');
const served = (world: World) => world.decide().units.map((unit) => unit.job);

describe('the log', () => {
  test('is taken in order; what was applied is ignored and a gap is refused', () => {
    const world = new World(loadEngine, a);
    const hash = world.engine.stateHash();
    for (const event of world.log) world.engine.apply(event);
    expect(world.engine.stateHash()).toBe(hash);
    expect(world.engine.sequence).toBe(1);
    const body = { kind: 'leader.changed', epoch: 1, server: 's' } as const;
    expect(() => world.engine.apply({ sequence: 3, atMs: 0, body })).toThrow('gap');
    world.engine.apply({ sequence: 2, atMs: 0, body });
    expect(world.engine.sequence).toBe(2);
  });
});

test('what is done to a machine that has enrolled and never spoken is no contradiction', () => {
  const world = new World(loadEngine, a);
  const { nodes } = world.engine.rows();
  const drain = { by: 'ada', reason: 'fan', sinceMs: 1 };
  const reason = { code: 'declared-lost', message: 'gone' };
  world.tell({ kind: 'node.drained', node: nodeId('q'), name: 'q', drain });
  world.tell({ kind: 'node.undrained', node: nodeId('q'), name: 'q', by: 'ada' });
  world.tell({ kind: 'node.lost', node: nodeId('q'), name: 'q', reason });
  world.tell({ kind: 'node.removed', node: nodeId('q'), name: 'q', by: 'ada' });
  expect(world.engine.rows().nodes).toEqual(nodes);
});

describe('events that contradict the state', () => {
  function planned(): World {
    const world = new World(loadEngine, a);
    world.submit(job(1, oneTask(1)));
    world.submit(job(2, oneTask(1)));
    world.cycle();
    return world;
  }

  const runOf = (n: number) => `run_${jobId(n).slice(4)}_1` as never;
  const start = {
    kind: 'run.planned',
    epoch: 1,
    version: 2,
    attempt: 1,
    exclusive: false,
    port: 31_000,
    plannedMs: 0,
    uses: {},
  } as const;
  const task = {
    rank: 0,
    group: 0,
    node: nodeId('a'),
    cpuMilli: 1,
    memoryMib: 1,
    devices: [7],
    deviceMilli: 1000,
  };

  test.each<[string, (world: World) => void]>([
    [
      'a device sold twice',
      (world) => world.tell({ ...start, job: jobId(3), run: runOf(3), tasks: [{ ...task, devices: [0] }] }),
    ],
    [
      'a port taken twice',
      (world) => world.tell({ ...start, job: jobId(3), run: runOf(3), port: 30_000, tasks: [task] }),
    ],
    [
      'more cores than are free',
      (world) =>
        world.tell({ ...start, job: jobId(3), run: runOf(3), tasks: [{ ...task, cpuMilli: 60_000 }] }),
    ],
    [
      'a device the node does not have',
      (world) => world.tell({ ...start, job: jobId(3), run: runOf(3), tasks: [{ ...task, devices: [8] }] }),
    ],
    [
      'an exclusive run beside others',
      (world) => world.tell({ ...start, exclusive: true, job: jobId(3), run: runOf(3), tasks: [task] }),
    ],
    ['a run without rank 0', (world) => world.tell({ ...start, job: jobId(3), run: runOf(3), tasks: [] })],
    [
      'a job planned while placed',
      (world) => world.tell({ ...start, job: jobId(1), run: runOf(1), tasks: [task] }),
    ],
    ['an unknown node', (world) => world.tell({ kind: 'node.ready', node: nodeId('q'), name: 'q' })],
    ['an unknown job', (world) => world.tell({ kind: 'job.held', job: jobId(9), version: 1, by: 'x' })],
    ['a job submitted twice', (world) => world.submit(job(1, oneTask(1)))],
    ['a placed job held', (world) => world.tell({ kind: 'job.held', job: jobId(1), version: 9, by: 'x' })],
    [
      'a queued job released',
      (world) => world.tell({ kind: 'job.released', job: jobId(3), version: 9, by: 'x', sinceMs: 0 }),
    ],
    [
      'an unknown run ended',
      (world) =>
        world.tell({
          kind: 'run.ended',
          job: jobId(3),
          run: runOf(3),
          result: { outcome: 'succeeded' },
          endedMs: 0,
        }),
    ],
  ])('stop the engine: %s', (_, tell) => {
    const world = planned();
    world.submit(job(3, oneTask(1)));
    expect(() => tell(world)).toThrow(InvariantError);
  });
});

describe('nodes', () => {
  test('that drain, fall silent or are lost take no new work until they are back', () => {
    const world = new World(loadEngine, a);
    world.submit(job(1, oneTask(1)));
    world.drain(nodeId('a'), true);
    expect(served(world)).toEqual([]);
    world.drain(nodeId('a'), false);
    expect(served(world)).toEqual([jobId(1)]);
    world.setNode(nodeId('a'), 'silent');
    expect(served(world)).toEqual([]);
    world.setNode(nodeId('a'), 'ready');
    expect(served(world)).toEqual([jobId(1)]);
    world.setNode(nodeId('a'), 'lost');
    expect(served(world)).toEqual([]);
    world.setNode(nodeId('a'), 'removed');
    expect(served(world)).toEqual([]);
    world.join(a);
    expect(served(world)).toEqual([jobId(1)]);
  });

  test('keep what runs on them until its end is proven, lost or not', () => {
    const world = new World(loadEngine, a);
    world.submit(job(1, oneTask(8)));
    const [unit] = world.cycle().units;
    world.setNode(nodeId('a'), 'lost');
    world.setNode(nodeId('a'), 'ready');
    world.submit(job(2, oneTask(1)));
    expect(served(world)).toEqual([]);
    world.finish(unit!.run);
    expect(served(world)).toEqual([jobId(2)]);
  });

  test('may shrink below what is used, and grow again', () => {
    const world = new World(loadEngine, a);
    world.submit(job(1, oneTask(6)));
    const [unit] = world.cycle().units;
    world.join(node('a', { devices: devices(4), cpuMilli: 1000, memoryMib: 1000, generation: 2 }));
    world.submit(job(2, oneTask(1)));
    expect(served(world)).toEqual([]);
    expect(world.rebuilt().stateHash()).toBe(world.engine.stateHash());
    world.join(node('a', { generation: 3 }));
    expect(world.decide().units).toMatchObject([
      { tasks: [{ devices: [6] }], nodeGenerations: [[nodeId('a'), 3]] },
    ]);
    world.join(node('a', { devices: devices(4), generation: 4 }));
    world.finish(unit!.run);
    expect(world.decide().units).toMatchObject([{ tasks: [{ devices: [0] }] }]);
  });

  test('may have more devices than one word of a mask has bits', () => {
    const world = new World(loadEngine, a, node('w', { devices: devices(70) }));
    world.submit(job(1, oneTask(8)));
    world.submit(job(2, oneTask(66)));
    const plan = world.cycle();
    expect(starts(plan).map((unit) => unit.tasks[0]!.devices.length)).toEqual([8, 66]);
    expect(world.rebuilt().stateHash()).toBe(world.engine.stateHash());
  });

  test('are ordered by id, whenever they joined', () => {
    const world = new World(loadEngine, node('c'), node('a'), node('b'));
    for (const n of [1, 2, 3]) world.submit(job(n, oneTask(8)));
    expect(starts(world.decide()).map((unit) => unit.tasks[0]!.node)).toEqual(['a', 'b', 'c'].map(nodeId));
  });

  test('are decided on with the generation that was known', () => {
    const world = new World(loadEngine, node('a', { generation: 7 }));
    world.submit(job(1, oneTask(1)));
    expect(starts(world.decide())[0]!.nodeGenerations).toEqual([[nodeId('a'), 7]]);
  });
});
