import { defaultPolicy, type JobDemand, type NodeFacts, type Prices } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { loadEngine, loadState } from './load.ts';
import { scoreTable } from './score.ts';
import { demand, devices, gpus, group, job, node, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

const money = 1_000_000;
const h100 = node('h', { devices: devices(8, 'H100'), pool: 'new' });
const a100 = node('a', { devices: devices(16, 'A100'), pool: 'old' });

function worldOf(nodes: readonly NodeFacts[], prices: Partial<Prices> = {}): World {
  const world = new World(loadEngine, ...nodes);
  world.setPolicy({ ...defaultPolicy, prices: { ...defaultPolicy.prices, ...prices } });
  return world;
}

/** The node of the first task of each job, placed one by one. */
function nodesOf(world: World, ...asked: JobDemand[]): string[] {
  return asked.flatMap((one, i) => {
    world.submit(job(i + 1, one));
    return starts(world.cycle()).map((unit) => unit.tasks[0]!.node.slice(5));
  });
}

describe('alternatives', () => {
  const either = (speed: number, count: number): JobDemand =>
    demand(group([gpus(8, 'H100'), { ...gpus(count, 'A100'), speedMilli: speed }]));

  test('are compared by what the work costs on them: price of the devices by their speed', () => {
    expect(nodesOf(worldOf([h100, a100]), either(450, 16))).toEqual(['h']);
    const cheap = { rows: [{ match: { pool: 'old' }, deviceHourMicro: money / 5, coreHourMicro: null }] };
    expect(nodesOf(worldOf([h100, a100], cheap), either(450, 16))).toEqual(['a']);
    expect(nodesOf(worldOf([h100, a100], cheap), either(390, 16))).toEqual(['h']);
  });

  test('of equal cost are taken as written, and a dearer one when nothing else fits', () => {
    expect(nodesOf(worldOf([h100, a100]), either(1000, 8), either(450, 16))).toEqual(['h', 'a']);
    const other = demand(group([gpus(8, 'A100'), gpus(8, 'H100')]));
    expect(nodesOf(worldOf([h100, a100]), other)).toEqual(['a']);
  });
});

describe('prices', () => {
  test('of clusters, pools and kinds of capacity decide before tightness', () => {
    const spot = node('s', { labels: { capacity: 'spot' } });
    const dear = node('d', { devices: devices(1) });
    const rows = [{ match: { capacity: 'spot' }, deviceHourMicro: money / 2, coreHourMicro: null }];
    expect(nodesOf(worldOf([dear, spot]), oneTask(1))).toEqual(['d']);
    expect(nodesOf(worldOf([dear, spot], { rows }), oneTask(1))).toEqual(['s']);
  });

  test('give a gang the cheap nodes first, and rank 0 a node with a port', () => {
    const ports = { first: 1, count: 0 };
    const nodes = [node('x', { pool: 'cheap', ports }), node('y', { pool: 'cheap', ports }), node('z')];
    const rows = [{ match: { pool: 'cheap' }, deviceHourMicro: 1, coreHourMicro: null }];
    const world = worldOf(nodes, { rows });
    world.submit(job(1, demand(group([gpus(8)], { tasks: 3 }))));
    const [unit] = starts(world.cycle());
    expect(unit!.tasks.map((task) => task.node.slice(5))).toEqual(['z', 'x', 'y']);
  });
});

describe('preferences', () => {
  const prefer = (label: string, value: string, weight: number): JobDemand =>
    demand(group([gpus(1)]), { preferences: [{ label, op: 'in', values: [value], weight }] });

  test('decide while a node meets them, and are done without when none does', () => {
    const [x, y] = [
      node('x', { labels: { disk: 'slow' } }),
      node('y', { labels: { disk: 'fast', rack: 'r2' } }),
    ];
    expect(nodesOf(worldOf([x, y]), prefer('disk', 'fast', 1))).toEqual(['y']);
    expect(nodesOf(worldOf([x, y]), prefer('rack', 'r2', 1))).toEqual(['y']);
    expect(nodesOf(worldOf([x, y]), prefer('node', 'y', 1), prefer('node', 'q', 1))).toEqual(['y', 'y']);
  });

  test('are weighed against prices', () => {
    const [x, y] = [node('x', { pool: 'cheap' }), node('y', { labels: { disk: 'fast' } })];
    const rows = [{ match: { pool: 'cheap' }, deviceHourMicro: money - 20_000, coreHourMicro: null }];
    expect(nodesOf(worldOf([x, y], { rows }), prefer('disk', 'fast', 1))).toEqual(['x']);
    expect(nodesOf(worldOf([x, y], { rows }), prefer('disk', 'fast', 3))).toEqual(['y']);
  });
});

test('a node that is trusted less costs more', () => {
  expect(nodesOf(worldOf([{ ...node('a'), trustMilli: 900 }, node('b')]), oneTask(1))).toEqual(['b']);
});

test('the table shows every kind of place with its terms, best first', () => {
  const asked = demand(group([gpus(8, 'H100'), { ...gpus(16, 'A100'), speedMilli: 450 }]), {
    preferences: [{ label: 'pool', op: 'in', values: ['old'], weight: 10 }],
  });
  const world = worldOf([h100, a100, { ...node('g', { pool: 'new' }), trustMilli: 900 }]);
  world.submit(job(1, oneTask(1, 'H100')));
  world.cycle();
  const rows = scoreTable(loadState(world.rows()), asked);
  expect(
    rows.map(({ pool, alternative, price, preference, trust, total, tasksFit }) =>
      [pool, alternative, price, preference, trust, total, tasksFit].join(' '),
    ),
  ).toEqual([
    `new 0 ${8 * money} ${money / 10} 0 ${8.1 * money} 0`,
    `new 0 ${8 * money} ${money / 10} ${0.8 * money} ${8.9 * money} 1`,
    `old 1 35555555 0 0 35555555 1`,
  ]);
});

describe('fragmentation', () => {
  const asks = (count: number, cores: number): JobDemand =>
    demand(group(count === 0 ? [] : [gpus(count)], { cpuMilli: cores * 1000, memoryMib: 1 }));

  test('keeps cores beside free devices when jobs of several kinds are known', () => {
    // Eight devices each; x has few cores for them, y many.
    const [x, y] = [node('x', { cpuMilli: 32_000 }), node('y', { cpuMilli: 128_000 })];
    // Of one kind alone the tightest node would be x.
    expect(nodesOf(worldOf([x, y]), asks(1, 12))).toEqual(['x']);
    const world = worldOf([x, y]);
    world.submit(job(8, asks(1, 4)), true);
    world.submit(job(9, asks(1, 6)), true);
    expect(nodesOf(world, asks(1, 12), asks(1, 1), asks(0, 20))).toEqual(['y', 'x', 'y']);
  });

  test('is shown in the table', () => {
    const world = worldOf([node('x', { cpuMilli: 32_000, pool: 'x' })]);
    for (const [i, cores] of [4, 4, 8].entries()) world.submit(job(i + 1, asks(1, cores)), true);
    const [row] = scoreTable(loadState(world.rows()), asks(1, 12));
    // 8 devices and 32 cores, 16/3 cores a device: 2 devices are stranded, and with 12 cores gone 3.25 of the 7 left.
    expect(row).toMatchObject({ price: 1.12 * money, fragmentation: 1.25 * money, total: 2.37 * money });
  });
});
