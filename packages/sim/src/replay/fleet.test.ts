import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { devicesOf, roomOf } from './fleet.ts';
import { readFleet } from './fleet-file.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-fleet-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(content: string | Uint8Array): string {
  const path = join(folder, 'fleet');
  writeFileSync(path, content);
  return path;
}

describe('a fleet file', () => {
  test('of pools has what it says', async () => {
    const fleet = await readFleet(
      file('{"pools": [{"name": "a", "nodes": 2, "devices": 8}], "pricePerDeviceHour": 2}'),
    );
    expect(fleet).toEqual({
      pools: [{ name: 'a', nodes: 2, devicesPerNode: 8, model: 'any' }],
      pricePerDeviceHour: 2,
    });
  });

  test('of openb makes a pool of nodes that are alike, and leaves out those without a GPU', async () => {
    const list =
      'sn,cpu_milli,memory_mib,gpu,model\nn1,1,1,2,P100\nn2,1,1,8,V100M32\nn3,1,1,2,P100\nn4,1,1,0,\n';
    const { pools } = await readFleet(file(gzipSync(list)));
    expect(pools).toEqual([
      { name: 'p100-2', nodes: 2, devicesPerNode: 2, model: 'P100' },
      { name: 'v100m32-8', nodes: 1, devicesPerNode: 8, model: 'V100M32' },
    ]);
  });

  test("of Philly's virtual clusters makes a pool of each", async () => {
    const fleet = await readFleet(file('vc,node num\n6214e9,64\n7f04ca,32\n'));
    expect(fleet.pools.map(({ name, nodes }) => [name, nodes])).toEqual([
      ['6214e9', 64],
      ['7f04ca', 32],
    ]);
    expect(devicesOf(fleet)).toBe(768);
  });

  test.each([
    ['pools: []', 'pools: must be a list of at least one pool'],
    ['pools: [{nodes: 0, devices: 8}]', 'pools[0].nodes: must be a whole number from 1'],
    ['pools: [{nodes: 1, devices: 1.5}]', 'pools[0].devices: must be a whole number from 1'],
    ['pool: []', 'unknown key "pool"; did you mean "pools"?'],
    ['- a', 'the file must be a mapping'],
    [
      'pools: [{nodes: 1, devices: 1}]\npricePerDeviceHour: -1',
      'pricePerDeviceHour: must be a number from 0',
    ],
    ['sn,gpu\nn1,many\n', 'line 2: gpu is "many"'],
    ['sn,gpu\nn1,0\n', 'it has no node with a device'],
    ['vc,node num\na,x\n', 'line 2: "a,x" does not say a number of nodes'],
  ])('that says %j is refused', async (content, message) => {
    await expect(readFleet(file(content))).rejects.toThrow(message);
  });

  test('that is not there is refused by name', async () => {
    await expect(readFleet(join(folder, 'none'))).rejects.toThrow('there is no file');
  });
});

test('in several pools a job is placed in the first that has room for it, never across two', () => {
  const pools = [
    { name: 'small', nodes: 2, devicesPerNode: 2, model: 'any' },
    { name: 'large', nodes: 1, devicesPerNode: 8, model: 'any' },
  ];
  const room = roomOf({ pools, pricePerDeviceHour: null }, 4);
  expect(room.devices).toBe(12);
  expect(room.everFits(8)).toBe(true);
  expect(room.everFits(9)).toBe(false);
  room.take(0, 3); // whole node of the small pool and one device of the other
  expect(room.fits(2)).toBe(true);
  room.take(1, 2); // the small pool has one device left, so it is the large one
  expect(room.free).toBe(7);
  expect(room.scattered).toBe(7);
  const shadow = room.shadow();
  shadow.give(0, 3);
  shadow.take(4);
  expect(shadow.free).toBe(6);
  expect(room.fitsBeside(1, shadow)).toBe(true);
  expect(room.fitsBeside(7, shadow)).toBe(false);
  room.takeBeside(2, 1, shadow);
  room.give(0, 3);
  room.give(1, 2);
  room.give(2, 1);
  expect(room.free).toBe(12);
});
