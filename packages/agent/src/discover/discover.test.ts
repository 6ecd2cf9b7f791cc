import { describe, expect, it } from 'vitest';
import { discover } from './inventory.ts';
import { findNvidia, modelOf, parseNvidia } from './nvidia.ts';
import { parseDevices } from './parse-devices.ts';

const two = `1, GPU-bbbb, NVIDIA H100 80GB HBM3, 81559, 550.54.15
0, GPU-aaaa, NVIDIA H100 80GB HBM3, 81559, 550.54.15
`;

describe('declared devices', () => {
  it.each([
    ['gpu=8:H100:80GiB', { kind: 'gpu', count: 8, model: 'H100', memoryMib: 81_920 }],
    [
      'gpu=8:H100:80GiB:nvlink:90',
      { kind: 'gpu', count: 8, model: 'H100', memoryMib: 81_920, interconnect: 'nvlink', generation: 90 },
    ],
    ['gpu=2:::nvlink', { kind: 'gpu', count: 2, model: 'generic', memoryMib: 0, interconnect: 'nvlink' }],
    ['gpu=8:H100', { kind: 'gpu', count: 8, model: 'H100', memoryMib: 0 }],
    ['tpu=4', { kind: 'tpu', count: 4, model: 'generic', memoryMib: 0 }],
    ['gpu=0', { kind: 'gpu', count: 0, model: 'generic', memoryMib: 0 }],
  ])('reads %s', (text, value) => expect(parseDevices(text)).toEqual({ ok: true, value }));

  it.each([
    '',
    'gpu',
    'gpu=',
    'gpu=x',
    'gpu=-1',
    'GPU=1',
    'gpu=1:H 100',
    'gpu=1:H100:80GB',
    'gpu=99999',
    'gpu=1:a:1GiB:Not a link',
    'gpu=1:a:1GiB:nvlink:new',
    'gpu=1:a:1GiB:nvlink:90:more',
  ])('refuses "%s" with a sentence', (text) =>
    expect(parseDevices(text)).toMatchObject({ ok: false, message: expect.stringContaining('cannot read') }),
  );
});

describe('discovery', () => {
  it.each([
    ['NVIDIA H100 80GB HBM3', 'H100'],
    ['NVIDIA H200', 'H200'],
    ['A100-SXM4-80GB', 'A100'],
    ['NVIDIA A100-SXM4-40GB', 'A100'],
    ['Tesla V100-SXM2-16GB', 'V100'],
    ['Tesla T4', 'T4'],
    ['NVIDIA GeForce RTX 4090', 'RTX-4090'],
    ['NVIDIA RTX 6000 Ada Generation', 'RTX-6000-Ada'],
    ['NVIDIA L40S', 'L40S'],
    ['NVIDIA B200', 'B200'],
    ['NVIDIA GH200 480GB', 'GH200'],
  ])('calls %s %s', (name, model) => expect(modelOf(name)).toBe(model));

  it('lists NVIDIA devices in the order of their index', () => {
    const { devices, driver } = parseNvidia(two);
    expect(devices.map(({ uuid }) => uuid)).toEqual(['GPU-aaaa', 'GPU-bbbb']);
    expect(driver).toBe('550.54.15');
  });

  it('takes the generation from the compute capability where the driver tells it', () => {
    const [known, unknown] = parseNvidia(
      '0, GPU-a, NVIDIA H100, 81559, 550.1, 9.0\n1, GPU-b, NVIDIA H100, 81559, 550.1, [N/A]\n',
    ).devices;
    expect([known?.generation, unknown?.generation]).toEqual([90, undefined]);
  });

  it('believes nothing of an output that is no list', () => {
    expect(parseNvidia('NVIDIA-SMI has failed because it could not communicate\n').devices).toEqual([]);
    expect(parseNvidia('0, GPU-a, NVIDIA GB10, [N/A], 580.1\n').devices).toMatchObject([{ memoryMib: 0 }]);
  });

  it('finds no devices where there is no tool, and says when the tool fails', async () => {
    expect(await findNvidia('no-such-tool')).toMatchObject({ devices: [], trouble: null });
    expect((await findNvidia('false')).trouble).toContain('false');
  });

  it('puts real devices first, and lets a declaration of the same kind replace them', async () => {
    const find = async () => parseNvidia(two);
    const tpu = { kind: 'tpu', count: 1, model: 'v5e', memoryMib: 0 };
    const both = await discover({ devices: [tpu] }, 'n', find);
    expect(both.inventory.devices.map(({ index, kind }) => [index, kind])).toEqual([
      [0, 'gpu'],
      [1, 'gpu'],
      [2, 'tpu'],
    ]);
    expect(both.realUuids.has('GPU-aaaa')).toBe(true);
    expect(both.inventory.labels['nvidia.driver']).toBe('550.54.15');
    const replaced = await discover({ devices: [{ ...tpu, kind: 'gpu' }] }, 'n', find);
    expect(replaced.inventory.devices.map(({ model }) => model)).toEqual(['v5e']);
    // The same identity after every restart.
    expect(await discover({ devices: [{ ...tpu, kind: 'gpu' }] }, 'n', find)).toEqual(replaced);
  });

  it('knows cores and memory, and believes the operator before itself', async () => {
    const { inventory } = await discover({}, 'n');
    expect(inventory.cpuMilli).toBeGreaterThan(0);
    expect(inventory.memoryMib).toBeGreaterThan(0);
    const declared = { cpuMilli: 500, memoryMib: 77, labels: { zone: 'a' }, address: '10.0.0.1' };
    expect((await discover(declared, 'n')).inventory).toMatchObject({
      cpuMilli: 500,
      memoryMib: 77,
      labels: { zone: 'a', os: 'linux' },
      address: '10.0.0.1',
      ports: { first: 20_000, count: 1000 },
    });
  });
});
