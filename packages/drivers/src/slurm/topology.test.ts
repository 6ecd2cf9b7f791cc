import type { SlurmConfig } from '@muster/model';
import { expect, test } from 'vitest';
import { expandHostlist } from './hostlist.ts';
import { inventoryOf } from './inventory.ts';
import { closedOf } from './open-slurm.ts';
import { parseTopology } from './topology.ts';

test('names of nodes are written out, with their zeros and what follows', () => {
  expect(expandHostlist('n[1-3,007-009]-ib,login')).toEqual([
    'n1-ib',
    'n2-ib',
    'n3-ib',
    'n007-ib',
    'n008-ib',
    'n009-ib',
    'login',
  ]);
  expect(expandHostlist('r[1-2]n[08-10]')).toEqual(['r1n08', 'r1n09', 'r1n10', 'r2n08', 'r2n09', 'r2n10']);
});

test.each([
  '',
  ',',
  'n[',
  'n[1-]',
  'n[3-1]',
  'n[a-b]',
  'n]1[',
  'n[1-999999999]',
  'n[1-1000][1-2000]',
  'a b',
  '$(x)',
])('the list %j is refused, not guessed', (text) => {
  expect(() => expandHostlist(text)).toThrow(/cannot read the list of nodes/);
});

const tree = `SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[3-4]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[1-2]
`;

test('each node knows the switches above it', () => {
  const switches = parseTopology(tree);
  expect(switches.get('n3')).toEqual(
    new Map([
      [0, 'leaf2'],
      [1, 'spine'],
    ]),
  );
  expect(parseTopology('').size).toBe(0);
  expect(parseTopology('No topology information available\n').size).toBe(0);
  expect(() => parseTopology('slurm_load_topo: error\n')).toThrow(
    'cannot read the switch "slurm_load_topo: error"',
  );
});

test('a node of Slurm is a node like any other, its words as labels', () => {
  const node = {
    name: 'n3',
    address: '10.0.0.3',
    cpus: 8,
    memoryMib: 4000,
    gres: 'gpu:h100:2,shard:8',
    features: ['ib'],
    partitions: ['main', 'debug'],
    usable: true,
    answers: true,
    state: 'idle',
    reason: '',
  };
  const ports = { first: 20_000, count: 100 };
  const made = inventoryOf(node, parseTopology(tree).get('n3') ?? new Map(), {
    ports,
    device: (type) => ({ model: type.toUpperCase(), memoryMib: 81_559 }),
  });
  expect(made).toEqual({
    cpuMilli: 8000,
    cpuStepMilli: 1000,
    memoryMib: 4000,
    devices: [0, 1].map((index) => ({
      index,
      kind: 'gpu',
      model: 'H100',
      memoryMib: 81_559,
      uuid: `n3/${index}`,
    })),
    labels: {
      'feature-ib': 'yes',
      'partition-main': 'yes',
      'partition-debug': 'yes',
      'switch-0': 'leaf2',
      'switch-1': 'spine',
    },
    capabilities: ['signals', 'unlike-groups', 'uneven-nodes', 'ask-checkpoint', 'output-limit'],
    address: '10.0.0.3',
    ports,
  });
  const closed = (partition: string, projects = {}) =>
    closedOf(node, { partition, projects } as SlurmConfig, [node, { ...node, partitions: ['far'] }]);
  expect(closed('debug')).toBeNull();
  expect(closed('far')).toBe('it is in none of the partitions far');
  expect(closed('mian')).toBe('Slurm has no partition mian; it has main, debug, far');
  const others = { cpus: 6, memoryMib: 5000, devices: new Map([['h100', 1]]) };
  const settings = { ports, device: (type: string) => ({ model: type, memoryMib: 0 }) };
  const left = inventoryOf(node, new Map(), settings, others, new Set([0]));
  expect([left.cpuMilli, left.memoryMib]).toEqual([2000, 0]);
  expect(left.devices.map(({ index, kind }) => [index, kind])).toEqual([
    [0, 'taken'],
    [1, 'gpu'],
  ]);
  expect(inventoryOf(node, new Map(), settings, others, new Set([1])).devices).toHaveLength(1);
});
