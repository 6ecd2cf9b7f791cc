import type { JobDemand, NodeFacts, Plan } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, jobId, node, nodeId, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

/** `node:devices` of each task of the last job, after the ones before it were placed one by one. */
function placeOn(nodes: readonly NodeFacts[], ...asked: JobDemand[]): string[] {
  const world = new World(loadEngine, ...nodes);
  let plan: Plan | null = null;
  for (const [i, one] of asked.entries()) {
    world.submit(job(i + 1, one));
    plan = world.cycle();
  }
  return layout(plan!);
}

function layout(plan: Plan): string[] {
  return starts(plan).flatMap((unit) =>
    unit.tasks.map((task) => `${task.node.slice(5)}:${task.devices.join(',')}`),
  );
}

const gang = (tasks: number, count: number): JobDemand => demand(group([gpus(count)], { tasks }));
const [a, b, c] = [node('a'), node('b'), node('c')];

describe('a single task', () => {
  test('goes to the node with the fewest devices left over', () => {
    expect(placeOn([a, b], oneTask(6), oneTask(2))).toEqual(['a:6,7']);
    expect(placeOn([a, node('b', { devices: devices(2) })], oneTask(2))).toEqual(['b:0,1']);
  });

  test('of equal devices left over, to the one with fewer cores, then less memory, then the lower id', () => {
    const small = node('z', { cpuMilli: 32_000 });
    const lean = node('y', { memoryMib: 1000 });
    const fixed = demand(group([gpus(1)], { cpuMilli: 1, memoryMib: 1 }));
    expect(placeOn([a, b, small], fixed)).toEqual(['z:0']);
    expect(placeOn([a, b, lean], fixed)).toEqual(['y:0']);
    expect(placeOn([b, a], fixed)).toEqual(['a:0']);
  });

  test('without devices keeps away from free devices', () => {
    expect(placeOn([a, node('z', { devices: [] })], oneTask(0))).toEqual(['z:']);
    expect(placeOn([a, b], oneTask(6), oneTask(0))).toEqual(['a:']);
  });

  test('of parts of devices, one that would open a device goes where fewest stay untouched, beside its like or not', () => {
    const world = new World(
      loadEngine,
      node('a', { devices: devices(4, 'A100') }),
      node('b', { devices: devices(1) }),
    );
    world.submit(job(1, demand(group([gpus(0.5, 'A100')]))));
    world.cycle();
    for (const n of [2, 3]) world.submit(job(n, demand(group([gpus(0.3)]))));
    expect(layout(world.cycle())).toEqual(['a:0', 'b:0']);
  });

  test('gets only devices that match on a mixed node', () => {
    const mixed = node('m', { devices: [...devices(2, 'A100'), ...devices(2, 'H100', 81_920, 'gpu', 2)] });
    expect(placeOn([mixed], oneTask(2, 'H100'))).toEqual(['m:2,3']);
    expect(placeOn([mixed], oneTask(1, 'H100'), oneTask(2, 'A100'))).toEqual(['m:0,1']);
    expect(placeOn([mixed], oneTask(1, 'H100'), oneTask(2, 'H100'))).toEqual([]);
  });

  test('waits for cores even where devices are free', () => {
    const greedy = demand(group([gpus(1)], { cpuMilli: 60_000 }));
    expect(placeOn([a], greedy, greedy)).toEqual([]);
    expect(placeOn([a, b], greedy, greedy)).toEqual(['b:0']);
  });
});

describe('a part of a device', () => {
  test('shares the fullest device with room, and opens an untouched one only when it must', () => {
    expect(placeOn([a], oneTask(0.5), oneTask(0.3))).toEqual(['a:0']);
    expect(placeOn([a], oneTask(0.5), oneTask(0.6))).toEqual(['a:1']);
    expect(placeOn([a, node('b', { devices: devices(1) })], oneTask(4), oneTask(0.5, 'H100'))).toEqual([
      'b:0',
    ]);
    expect(placeOn([a], oneTask(0.5), oneTask(0.6), oneTask(0.4))).toEqual(['a:1']);
  });

  test('goes to a device in use on a wider node before an untouched one on a tighter', () => {
    const tight = node('b', { devices: devices(1, 'A100') });
    const half = demand(group([gpus(0.5, 'H100')], { cpuMilli: 1, memoryMib: 1 }));
    const any = demand(group([gpus(0.5)], { cpuMilli: 1, memoryMib: 1 }));
    expect(placeOn([a, tight], half, any)).toEqual(['a:0']);
    expect(placeOn([a, tight], any)).toEqual(['b:0']);
  });

  test('keeps whole devices away from the device it is on', () => {
    expect(placeOn([a], oneTask(0.1), oneTask(7))).toEqual(['a:1,2,3,4,5,6,7']);
    expect(placeOn([a], oneTask(0.1), oneTask(8))).toEqual([]);
  });

  test('may be one of many in a gang', () => {
    const small = node('a', { devices: devices(2) });
    expect(placeOn([small], gang(6, 0.3))).toEqual(['a:0', 'a:0', 'a:0', 'a:1', 'a:1', 'a:1']);
    expect(placeOn([small], gang(7, 0.3))).toEqual([]);
  });
});

describe('a gang', () => {
  test('takes one node when one node holds it, and the tightest such', () => {
    expect(placeOn([a, b], oneTask(4), gang(2, 2))).toEqual(['a:4,5', 'a:6,7']);
    expect(placeOn([a, b], oneTask(5), gang(2, 2))).toEqual(['b:0,1', 'b:2,3']);
  });

  test('takes the nodes that hold most, and puts the remainder where it fits best', () => {
    expect(placeOn([a, b, c], oneTask(6), gang(5, 2))).toEqual(['b:0,1', 'b:2,3', 'b:4,5', 'b:6,7', 'a:6,7']);
  });

  test('is placed whole or not at all', () => {
    expect(placeOn([a, b], oneTask(1), gang(4, 4))).toEqual([]);
    expect(placeOn([a, b], gang(4, 4))).toHaveLength(4);
  });

  test('numbers its ranks by the written order of groups, though larger tasks choose first', () => {
    const groups = [
      group([], { name: 'loader', cpuMilli: 1000, memoryMib: 1 }),
      group([gpus(8)], { name: 'trainer', cpuMilli: 1, memoryMib: 1 }),
    ];
    const world = new World(loadEngine, a, b);
    world.submit(job(1, demand(groups)));
    const [unit] = starts(world.decide());
    expect(unit!.tasks.map(({ rank, group: g, node: n }) => [rank, g, n])).toEqual([
      [0, 0, nodeId('a')],
      [1, 1, nodeId('a')],
    ]);
    expect(unit!.nodeGenerations).toEqual([[nodeId('a'), 1]]);
  });

  test('lets a group that found no place choose first', () => {
    const nodes = [node('x', { devices: devices(2, 'A100') }), node('y', { devices: devices(3, 'H100') })];
    const picky = demand([group([gpus(2)], { name: 'any' }), group([gpus(1, 'A100')], { name: 'picky' })]);
    expect(placeOn(nodes, picky)).toEqual(['y:0,1', 'x:0']);
  });

  test('keeps the ranks of one node together', () => {
    expect(placeOn([a, b], gang(3, 4))).toEqual(['a:0,1,2,3', 'a:4,5,6,7', 'b:0,1,2,3']);
  });

  test('of very many small tasks needs no more steps than there are nodes and sizes', () => {
    const tiny = demand(group([], { tasks: 90_000, cpuMilli: 1, memoryMib: 1 }));
    expect(placeOn([a, b], oneTask(1), tiny)).toHaveLength(90_000);
  });
});

describe('alternatives', () => {
  const a100 = node('a', { devices: devices(4, 'A100') });
  const h100 = node('b', { devices: devices(4, 'H100') });

  test('are tried in the written order', () => {
    expect(placeOn([a100, h100], demand(group([gpus(1, 'H100'), gpus(1, 'A100')])))).toEqual(['b:0']);
    expect(
      placeOn([a100, h100], oneTask(4, 'H100'), demand(group([gpus(1, 'H100'), gpus(2, 'A100')]))),
    ).toEqual(['a:0,1']);
  });

  test('are one for all tasks of a group', () => {
    const either = demand(group([gpus(2, 'H100'), gpus(2, 'A100')], { tasks: 3 }));
    expect(placeOn([a100, h100], either)).toEqual([]);
    expect(placeOn([a100, h100, node('c', { devices: devices(4, 'A100') })], either)).toEqual([
      'a:0,1',
      'a:2,3',
      'c:0,1',
    ]);
  });

  test('of earlier groups keep their preference longest', () => {
    const both = demand([
      group([gpus(4, 'H100'), gpus(4, 'A100')], { name: 'one', cpuMilli: 1, memoryMib: 1 }),
      group([gpus(4, 'H100'), gpus(4, 'A100')], { name: 'two', cpuMilli: 1, memoryMib: 1 }),
    ]);
    expect(placeOn([a100, h100], both)).toEqual(['b:0,1,2,3', 'a:0,1,2,3']);
  });
});

describe('exclusive jobs', () => {
  const alone = demand(group([gpus(1)]), { exclusive: true });

  test('need an empty node and let nobody else in', () => {
    expect(placeOn([a, b], oneTask(1), alone)).toEqual(['b:0']);
    expect(placeOn([a], oneTask(1), alone)).toEqual([]);
    expect(placeOn([a], alone, oneTask(1))).toEqual([]);
  });

  test('may have several tasks and groups on their node', () => {
    const two = demand([group([gpus(2)], { tasks: 2, name: 'x' }), group([gpus(1)], { name: 'y' })], {
      exclusive: true,
    });
    expect(placeOn([a], two)).toEqual(['a:0,1', 'a:2,3', 'a:4']);
  });

  test('free their node when they end', () => {
    const world = new World(loadEngine, a);
    world.submit(job(1, alone));
    world.submit(job(2, oneTask(1)));
    const [unit] = world.cycle().units;
    expect(world.cycle().units).toEqual([]);
    world.finish(unit!.run);
    expect(world.cycle().units.map((next) => next.job)).toEqual([jobId(2)]);
  });
});

describe('ports', () => {
  const few = node('a', { ports: { first: 7000, count: 1 } });

  test('are the lowest free one of the node of rank 0', () => {
    const world = new World(loadEngine, a);
    for (const n of [1, 2, 3]) world.submit(job(n, oneTask(1)));
    const units = starts(world.cycle());
    expect(units.map((unit) => unit.port)).toEqual([30_000, 30_001, 30_002]);
    world.finish(units[1]!.run);
    world.submit(job(4, oneTask(1)));
    expect(starts(world.decide()).map((unit) => unit.port)).toEqual([30_001]);
  });

  test('are asked of the node of rank 0 only', () => {
    expect(placeOn([few], oneTask(1), oneTask(1))).toEqual([]);
    expect(placeOn([few, b], oneTask(1), gang(3, 4))).toEqual(['b:0,1,2,3', 'b:4,5,6,7', 'a:1,2,3,4']);
  });
});

describe('nodes without a port', () => {
  test('may hold more of a gang than the node of rank 0 did', () => {
    const ports = { first: 1, count: 0 };
    const nodes = [
      node('p', { ports }),
      node('q', { ports, devices: devices(5) }),
      node('r', { devices: devices(4) }),
    ];
    expect(placeOn(nodes, gang(3, 4))).toEqual(['r:0,1,2,3', 'p:0,1,2,3', 'p:4,5,6,7']);
  });
});

describe('nodes to avoid', () => {
  test('are left alone while another fits, and used when none does', () => {
    const world = new World(loadEngine, a, b);
    world.submit(job(1, oneTask(8)));
    const [first] = starts(world.cycle());
    expect(first!.tasks[0]!.node).toBe(nodeId('a'));
    world.requeue(first!.run, 0, [nodeId('a')]);
    const [second] = starts(world.cycle());
    expect(second!.tasks[0]!.node).toBe(nodeId('b'));
    world.requeue(second!.run, 0, [nodeId('a'), nodeId('b')]);
    expect(starts(world.cycle())[0]!.tasks[0]!.node).toBe(nodeId('a'));
  });
});

describe('constraints on the node itself', () => {
  test('hold for nodes of one class', () => {
    const only = demand(group([gpus(1)]), { constraints: [{ label: 'node', op: 'in', values: ['b'] }] });
    const not = demand(group([gpus(1)]), { constraints: [{ label: 'node', op: 'not-in', values: ['a'] }] });
    expect(placeOn([a, b], only)).toEqual(['b:0']);
    expect(placeOn([a, b], not)).toEqual(['b:0']);
  });
});
