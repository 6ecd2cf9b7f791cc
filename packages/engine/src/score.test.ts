import { defaultPolicy, type JobDemand, type NodeFacts, type Prices, type Score } from '@muster/model';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { demand, devices, gpus, group, job, node, nodeId, oneTask } from './testing/builders.ts';
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

  test('of regions and instance types decide too, also where the region is a level of the topology', () => {
    const east = node('e', { labels: { region: 'east', 'instance-type': 'p5' } });
    const west = node('w', { labels: { region: 'west', 'instance-type': 'p5' } });
    const old = node('o', { labels: { region: 'east', 'instance-type': 'p4' } });
    const nodes = [east, west, old];
    const row = (match: object, price: number) => ({ match, deviceHourMicro: price, coreHourMicro: null });
    const oneOf = (...rows: Prices['rows']) => nodesOf(worldOf(nodes, { rows }), oneTask(8));
    expect(oneOf(row({ region: 'west' }, money / 2))).toEqual(['w']);
    expect(oneOf(row({ instanceType: 'p4' }, money / 5), row({ region: 'west' }, money / 2))).toEqual(['o']);
    expect(oneOf(row({ region: 'east', instanceType: 'p5' }, money / 4))).toEqual(['e']);
    const world = worldOf(nodes, { rows: [row({ region: 'west', instanceType: 'p5' }, money / 2)] });
    expect(
      tableOf(world, oneTask(8)).rows.map(({ region, instanceType, price }) => [
        region,
        instanceType,
        price / money,
      ]),
    ).toEqual([
      ['west', 'p5', 4],
      ['east', 'p4', 8],
      ['east', 'p5', 8],
    ]);
  });

  test('of bringing data count once, spread over the work, and not where the data is', () => {
    const nodes = [
      node('e', { labels: { region: 'east' } }),
      node('w', { labels: { region: 'west' }, pool: 'cheap' }),
    ];
    const rows = [{ match: { pool: 'cheap' }, deviceHourMicro: 0.75 * money, coreHourMicro: null }];
    const transfers = [{ from: 'east', to: 'west', gibMicro: 0.02 * money, gibPerHour: null }];
    // Eight devices are 2 an hour cheaper in the west; 100 GiB cost 2 to bring there.
    const asked = (gib: number, hours: number): JobDemand => ({
      ...oneTask(8),
      data: { parts: [{ region: 'east', sizeMib: gib * 1024 }], overMs: hours * hour },
    });
    const where = (one: JobDemand, more: Partial<Prices> = {}) =>
      nodesOf(worldOf(nodes, { rows, transfers, ...more }), one)[0];
    expect(where(oneTask(8))).toBe('w');
    expect(where(asked(99, 1))).toBe('w');
    expect(where(asked(101, 1))).toBe('e');
    // Twice the work saves twice as much.
    expect(where(asked(199, 2))).toBe('w');
    // Nobody said what it costs.
    expect(where(asked(1000, 1), { transfers: [] })).toBe('w');
    // Time costs too: what the devices cost while they wait for the data.
    const slow = [{ gibMicro: 0, gibPerHour: 100 }];
    expect(where(asked(33, 1), { transfers: slow })).toBe('w');
    expect(where(asked(34, 1), { transfers: slow })).toBe('e');
    const { workMs, rows: table } = tableOf(worldOf(nodes, { rows, transfers }), asked(150, 2));
    expect(workMs).toBe(2 * hour);
    expect(table).toMatchObject([
      { region: 'west', price: 6 * money, preference: 0, transfer: 3 * money, total: 15 * money, chosen: 1 },
      { region: 'east', price: 8 * money, preference: 0, transfer: 0, total: 16 * money, chosen: 0 },
    ]);
  });

  test('of bringing data are shared by the tasks of a gang, and known by the cluster of the data as well', () => {
    const [here, there] = [node('h', { pool: 'dear' }), { ...node('t'), cluster: 'there' }];
    const rows = [{ match: { pool: 'dear' }, deviceHourMicro: 2 * money, coreHourMicro: null }];
    const transfers = [{ to: 'there', gibMicro: money, gibPerHour: null }];
    const asked = (tasks: number): JobDemand => ({
      ...demand(group([gpus(1)], { tasks })),
      data: { parts: [{ cluster: 'main', sizeMib: 4 * 1024 }], overMs: hour },
    });
    const where = (tasks: number) => nodesOf(worldOf([here, there], { rows, transfers }), asked(tasks))[0];
    expect(here.cluster).toBe('main');
    // A device is 1 dearer where the data is; bringing it costs 4, for all tasks together.
    expect(where(3)).toBe('h');
    expect(where(5)).toBe('t');
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

const hour = 3_600_000;

/** What an hour of the job's work costs in every kind of place. */
function tableOf(world: World, asked: JobDemand, tier = 'spot', known = false): Score {
  const request = { ...job(99, asked, { tier, durationMs: hour }) };
  const hash = world.engine.stateHash();
  const score = world.engine.score(request, known, world.nowMs);
  expect(world.engine.stateHash(), 'asking changes nothing').toBe(hash);
  return score;
}

describe('the table', () => {
  test('shows every kind of place with its terms, what starts now first, then the cheapest', () => {
    const asked = demand(group([gpus(8, 'H100'), { ...gpus(16, 'A100'), speedMilli: 450 }]), {
      preferences: [{ label: 'pool', op: 'in', values: ['old'], weight: 10 }],
    });
    const world = worldOf([h100, a100, { ...node('g', { pool: 'new' }), trustMilli: 900 }]);
    world.submit(job(1, oneTask(1, 'H100')));
    world.cycle();
    const { rows } = tableOf(world, asked);
    expect(
      rows.map(({ pool, alternative, price, speed, preference, trust, total, how, chosen }) =>
        [pool, alternative, price, speed, preference, trust, total, how, chosen].join(' '),
      ),
    ).toEqual([
      `new 0 ${8 * money} 0 ${money / 10} ${0.8 * money} ${8.9 * money} now 1`,
      `old 1 ${16 * money} 19555555 0 0 35555555 now 0`,
      // Its run has not started, so that nobody knows when it ends.
      `new 0 ${8 * money} 0 ${money / 10} 0 ${8.1 * money} unknown 0`,
    ]);
  });

  test('says of a full place how long it is waited for, or whose lost work it would cost, in money', () => {
    const [cheap, dear] = [node('c', { pool: 'cheap' }), node('d', { pool: 'dear' })];
    const rows = [{ match: { pool: 'dear' }, deviceHourMicro: 3 * money, coreHourMicro: null }];
    const world = worldOf([cheap, dear], { rows });
    const on = (pool: string) => [{ label: 'pool', op: 'in' as const, values: [pool] }];
    // One that ends in two hours, and one that may be stopped and has half an hour to lose.
    const first = demand(group([gpus(8)]), { constraints: on('cheap') });
    const second = demand(group([gpus(8)]), { constraints: on('dear') });
    world.submit(job(1, first, { durationMs: 2.5 * hour }));
    world.submit(job(2, second, { tier: 'spot' }));
    for (const { run } of world.cycle().units) world.running(run);
    world.nowMs += hour / 2;
    const table = tableOf(world, oneTask(4), 'standard');
    expect(table).toMatchObject({ nowMs: world.nowMs, workMs: hour });
    expect(table.rows).toMatchObject([
      // Eight devices and 64 cores for half an hour, at the plain price (work is worth no more in a dear place) and its tier's.
      {
        pool: 'dear',
        how: 'preempts',
        victims: 1,
        preemption: 1.728 * money,
        waiting: 0,
        total: 13.728 * money,
      },
      { pool: 'cheap', how: 'waits', waitMs: 2 * hour, waiting: 8 * money, preemption: 0, total: 12 * money },
    ]);
    expect(table.rows.every(({ chosen, transfer }) => chosen === 0 && transfer === 0)).toBe(true);
  });

  test('tells nodes of one pool apart by trust', () => {
    const world = worldOf([node('a'), { ...node('b'), trustMilli: 500 }]);
    world.submit(job(1, oneTask(8)));
    for (const { run } of world.cycle().units) world.running(run);
    expect(tableOf(world, oneTask(8)).rows).toMatchObject([
      { trustMilli: 500, how: 'now', trust: 4 * money, chosen: 1, nodes: 1 },
      { trustMilli: 1000, how: 'waits', trust: 0, chosen: 0, nodes: 1 },
    ]);
    world.trust(nodeId('b'), 1000);
    expect(tableOf(world, oneTask(8)).rows).toMatchObject([{ trustMilli: 1000, how: 'now', nodes: 2 }]);
    expect(world.rebuilt().stateHash()).toBe(world.engine.stateHash());
  });

  test('says where only a part of a gang would go', () => {
    const world = worldOf([node('a', { pool: 'x' }), node('b', { pool: 'y' }), node('c', { pool: 'y' })]);
    const gang = (tasks: number): JobDemand => demand(group([gpus(8)], { tasks }));
    const told = (tasks: number) =>
      tableOf(world, gang(tasks)).rows.map(({ pool, how, chosen }) => [pool, how, chosen]);
    expect(told(2)).toEqual([
      ['x', 'now', 1],
      ['y', 'now', 1],
    ]);
    world.submit(job(1, gang(1)));
    for (const { run } of world.cycle().units) world.running(run);
    expect(told(2)).toEqual([
      ['y', 'now', 2],
      ['x', 'part', 0],
    ]);
  });

  test('counts as fitting only what racks have power for, together and not node by node', () => {
    const world = worldOf([
      node('a', { pool: 'x', labels: { rack: 'r1' } }),
      node('b', { pool: 'x', labels: { rack: 'r1' } }),
      node('c', { pool: 'y', labels: { rack: 'r2' } }),
    ]);
    const power = { name: 'power', level: 'rack', unit: 'W', perDevice: { H100: 700 }, perTask: 0 };
    const resources = [{ ...power, capacity: { r1: 2500, r2: 100 } }];
    world.setPolicy({ ...defaultPolicy, topology: { ...defaultPolicy.topology, resources } });
    const fitting = (): unknown[] =>
      tableOf(world, oneTask(1)).rows.map(({ pool, nodes, tasksFit }) => [pool, nodes, tasksFit]);
    expect(fitting()).toEqual([
      ['x', 2, 3],
      ['y', 1, 0],
    ]);
    world.submit(job(1, oneTask(2)));
    world.cycle();
    expect(fitting()).toEqual([
      ['x', 2, 1],
      ['y', 1, 0],
    ]);
  });

  test('has no row for nodes that a constraint keeps the job from, and counts none of them', () => {
    const world = worldOf([
      node('a', { pool: 'x', labels: { rack: 'r1' } }),
      node('b', { pool: 'x', labels: { rack: 'r2' } }),
      node('c', { pool: 'y', labels: { rack: 'r2' } }),
    ]);
    const constraints = [{ label: 'rack', op: 'in' as const, values: ['r1'] }];
    const { rows } = tableOf(world, demand(group([gpus(8)]), { constraints }));
    expect(rows).toMatchObject([{ pool: 'x', how: 'now', chosen: 1, nodes: 1, tasksFit: 1 }]);
    expect(rows).toHaveLength(1);
  });

  test('puts each group by itself, and says where all of them would go', () => {
    const world = worldOf([h100, a100]);
    const asked = demand([
      group([gpus(8, 'H100')], { name: 'one' }),
      group([gpus(1), gpus(1, 'A100')], { name: 'two', tasks: 2 }),
    ]);
    const { rows } = tableOf(world, asked);
    expect(
      rows.map(({ group: name, pool, alternative, chosen }) => [name, pool, alternative, chosen]),
    ).toEqual([
      ['one', 'new', 0, 1],
      ['two', 'old', 0, 2],
      ['two', 'new', 0, 0],
      ['two', 'old', 1, 0],
    ]);
  });
});

test('the first row that starts now is where a single task is put, whatever it costs and prefers', () => {
  const place = fc.record({
    pool: fc.constantFrom('x', 'y', 'z'),
    capacity: fc.constantFrom('spot', 'reserved'),
    devices: fc.constantFrom(1, 2, 4),
    model: fc.constantFrom('H100', 'A100'),
    trustMilli: fc.constantFrom(1000, 900, 500),
    region: fc.constantFrom('u', 'v'),
  });
  const data = fc.record({ region: fc.constantFrom('u', 'v'), sizeMib: fc.constantFrom(1, 1000, 5 * 1024) });
  const transfer = fc.record({
    from: fc.constantFrom('u', 'v'),
    gibMicro: fc.nat(money),
    gibPerHour: fc.constantFrom(null, 1, 7),
  });
  const price = fc.record({ pool: fc.constantFrom('x', 'y', 'z'), micro: fc.nat(3 * money) });
  const alternative = fc.record({
    model: fc.constantFrom('H100', 'A100', null),
    count: fc.integer({ min: 1, max: 4 }),
    speedMilli: fc.constantFrom(1000, 450, 2000),
  });
  fc.assert(
    fc.property(
      fc.array(place, { minLength: 1, maxLength: 5 }),
      fc.array(price, { maxLength: 3 }),
      fc.array(alternative, { minLength: 1, maxLength: 2 }),
      fc.array(data, { maxLength: 2 }),
      fc.array(transfer, { maxLength: 2 }),
      (places, prices, alternatives, parts, transfers) => {
        const nodes = places.map(({ pool, capacity, region, devices: n, model, trustMilli }, i) => ({
          ...node(`n${i}`, { pool, labels: { capacity, region }, devices: devices(n, model) }),
          trustMilli,
        }));
        const rows = prices.map(({ pool, micro }) => ({
          match: { pool },
          deviceHourMicro: micro,
          coreHourMicro: null,
        }));
        const world = worldOf(nodes, { rows, transfers });
        const asked: JobDemand = {
          ...demand(
            group(
              alternatives.map(({ model, count, speedMilli }) => ({
                ...gpus(count, model ?? undefined),
                speedMilli,
              })),
            ),
          ),
          ...(parts.length > 0 && { data: { parts, overMs: hour } }),
        };
        const [best] = tableOf(world, asked).rows;
        world.submit(job(1, asked));
        const [unit] = starts(world.cycle());
        expect(unit === undefined).toBe(best === undefined || best.how !== 'now');
        if (!unit) return;
        const found = nodes.find(({ node: id }) => id === unit.tasks[0]!.node)!;
        expect(best).toMatchObject({ pool: found.pool, trustMilli: found.trustMilli, chosen: 1 });
        if (transfers.length > 0) expect(best?.region).toBe(found.inventory.labels.region);
      },
    ),
  );
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
    world.submit(job(9, asks(1, 12)), true);
    const [row] = tableOf(world, asks(1, 12), 'spot', true).rows;
    // 8 devices and 32 cores, 7 cores a device: 3.429 devices are stranded, and with 12 cores gone 4.143 of the 7 left.
    expect(row).toMatchObject({ price: 1.12 * money, fragmentation: 714_000, total: 1_834_000 });
  });
});
