import { type AcceleratorDemand, type Constraint, defaultPolicy, type JobDemand } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { ClassTable } from './classes.ts';
import { matchClass } from './match.ts';
import { demand, devices, gpus, group, type NodeOptions, node, oneTask } from './testing/builders.ts';

function match(asked: JobDemand, options: NodeOptions = {}, option = 0) {
  const classes = new ClassTable(defaultPolicy);
  return matchClass(asked, asked.groups[0]!, option, classes.enter(node('a', options)), classes);
}

describe('one task on a node of a class', () => {
  test('takes the share of cores and memory that belongs to its devices', () => {
    expect(match(oneTask(2))).toMatchObject({ cpuMilli: 16_000, memoryMib: 131_072, count: 2, tasksMax: 4 });
    expect(match(oneTask(3), { cpuMilli: 10_000, memoryMib: 100 })).toMatchObject({
      cpuMilli: 3750,
      memoryMib: 37,
    });
  });

  test('takes its share of all devices, also of kinds it does not want', () => {
    const mixed = [...devices(4), ...devices(4, 'v4', 100, 'tpu', 4)];
    expect(match(oneTask(4), { devices: mixed })).toMatchObject({ cpuMilli: 32_000, tasksMax: 1 });
  });

  test('without devices takes one core and the memory that belongs to it', () => {
    expect(match(oneTask(0))).toMatchObject({ cpuMilli: 1000, memoryMib: 8192, count: 0, tasksMax: 64 });
    expect(match(demand(group([], { cpuMilli: 2000 })))).toMatchObject({ memoryMib: 16_384 });
  });

  test('may take nothing at all of a tiny node', () => {
    expect(match(oneTask(1), { cpuMilli: 4, memoryMib: 4 })).toMatchObject({
      cpuMilli: 0,
      memoryMib: 0,
      tasksMax: 8,
    });
  });

  test('knows which devices match when not all do', () => {
    const mixed = [...devices(2, 'A100'), ...devices(2, 'H100', 81_920, 'gpu', 2)];
    expect(match(oneTask(1, 'H100'), { devices: mixed })).toMatchObject({
      mask: new Uint32Array([0b1100]),
      tasksMax: 2,
    });
    expect(match(oneTask(3), { devices: mixed })).toMatchObject({ mask: null });
  });

  test.each<[string, JobDemand, NodeOptions]>([
    ['device-model', oneTask(1, 'A100'), {}],
    ['device-model', oneTask(1), { devices: [] }],
    ['device-model', demand(group([gpus(1, 'H100', 100_000)])), {}],
    ['device-count', oneTask(9), {}],
    ['cpu-total', demand(group([], { cpuMilli: 65_000 })), {}],
    ['cpu-total', oneTask(0), { cpuMilli: 999 }],
    ['memory-total', demand(group([], { memoryMib: 600_000 })), {}],
    ['constraint', demand(group([]), { capabilities: ['containers'] }), {}],
  ])('lacks %s', (lack, asked, options) => {
    expect(match(asked, options)).toBe(lack);
  });

  test.each<[Constraint['op'], string, string[], boolean]>([
    ['in', 'disk', ['a', 'b'], true],
    ['in', 'disk', ['b'], false],
    ['in', 'shelf', ['a'], false],
    ['not-in', 'disk', ['b'], true],
    ['not-in', 'disk', ['a'], false],
    ['not-in', 'shelf', ['a'], true],
    ['exists', 'disk', [], true],
    ['exists', 'toString', [], false],
    ['absent', 'shelf', [], true],
    ['absent', 'disk', [], false],
    ['in', 'cluster', ['main'], true],
    ['in', 'pool', ['gpu'], true],
    ['in', 'node', ['no class can tell'], true],
  ])('meets %s on %s %j: %s', (op, label, values, expected) => {
    const asked = demand(group([]), { constraints: [{ label, op, values }] });
    const found = match(asked, { labels: { disk: 'a', cluster: 'a lie' } });
    expect(found !== 'constraint').toBe(expected);
  });
});

describe('properties of devices', () => {
  const asks = (wanted: Partial<AcceleratorDemand>) => demand(group([{ ...gpus(1), ...wanted }]));
  const linked = devices(8).map((device) => ({ ...device, interconnect: 'nvlink', generation: 91 }));

  test('are as the node says, else as the policy knows the model, and an unknown one meets nothing', () => {
    expect(match(asks({ interconnect: 'nvlink' }))).toBe('device-model');
    expect(match(asks({ interconnect: 'nvlink' }), { devices: linked })).toMatchObject({ tasksMax: 8 });
    expect(match(asks({ interconnect: 'nvlink' }), { devices: devices(2, 'H200') })).toMatchObject({
      count: 1,
    });
    expect(match(asks({ generation: 90 }))).toMatchObject({ tasksMax: 8 });
    expect(match(asks({ generation: 91 }))).toBe('device-model');
    expect(match(asks({ generation: 91 }), { devices: linked })).toMatchObject({ tasksMax: 8 });
    expect(match(asks({ generation: 1 }), { devices: devices(2, 'own') })).toBe('device-model');
  });
});

describe('parts of devices', () => {
  test('take their part of the node and fit several times into each device', () => {
    expect(match(oneTask(0.3))).toMatchObject({
      cpuMilli: 2400,
      memoryMib: 19_660,
      count: 1,
      milli: 300,
      tasksMax: 24,
    });
  });

  test('need a cluster that can share devices', () => {
    expect(match(oneTask(0.3), { capabilities: [] })).toBe('constraint');
    expect(match(oneTask(1), { capabilities: [] })).toMatchObject({ count: 1, milli: 1000 });
  });
});

describe('nodes that give cores whole', () => {
  const cores = (cpuMilli: number | null, devices = 0, more = {}) =>
    match(demand(group(devices === 0 ? [] : [gpus(devices)], { cpuMilli })), { cpuStepMilli: 1000, ...more });

  test('give a task as many as hold what it asks for', () => {
    expect(cores(500)).toMatchObject({ cpuMilli: 1000 });
    expect(cores(1000)).toMatchObject({ cpuMilli: 1000 });
    expect(cores(2001)).toMatchObject({ cpuMilli: 3000 });
    expect(cores(1, 0, { cpuMilli: 500 })).toBe('cpu-total');
  });

  test("give a task that names only devices whole cores of its devices' part, and one at least", () => {
    expect(cores(null, 3, { cpuMilli: 10_000 })).toMatchObject({ cpuMilli: 3000 });
    expect(cores(null, 1, { cpuMilli: 4000 })).toMatchObject({ cpuMilli: 1000 });
  });
});

describe('classes', () => {
  test('are shared by equal nodes and gone with the last of them', () => {
    const classes = new ClassTable(defaultPolicy);
    const a = classes.enter(node('a', { capabilities: ['signals', 'containers'] }));
    const b = classes.enter(node('b', { capabilities: ['containers', 'signals'] }));
    const c = classes.enter(node('c', { labels: { disk: 'x' } }));
    expect(a).toBe(b);
    expect(c).not.toBe(a);
    const before = classes.generation;
    expect(classes.leave(a.id)).toBe('stays');
    expect(classes.generation).toBe(before);
    expect(classes.leave(a.id)).toBe('gone');
    expect(classes.generation).toBeGreaterThan(before);
    expect(() => classes.get(a.id)).toThrow('has no nodes');
    expect(classes.enter(node('a')).id).not.toBe(a.id);
  });
});
