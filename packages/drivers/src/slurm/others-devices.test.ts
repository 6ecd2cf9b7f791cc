import { expect, test } from 'vitest';
import { OthersDevices } from './others-devices.ts';

const node = { name: 'n1', gres: 'gpu:h100:4,gpu:a100:2' };
const taken = (...devices: [string, number][]) => ({ cpus: 0, memoryMib: 0, devices: new Map(devices) });

test('as many places of a type are others as they hold of it, and none that ours were planned on', () => {
  const others = new OthersDevices();
  expect(others.of(node, undefined, new Set())).toEqual(new Set());
  expect(others.of(node, taken(['h100', 1], ['a100', 1]), new Set())).toEqual(new Set([3, 5]));
  expect(new OthersDevices().of(node, taken(['h100', 2]), new Set([2, 3]))).toEqual(new Set([0, 1]));
  // More than there can be, while ours end or theirs begin.
  expect(new OthersDevices().of(node, taken(['h100', 4]), new Set([3]))).toEqual(new Set([0, 1, 2]));
});

test('they stay the same ones while they can', () => {
  const others = new OthersDevices();
  expect(others.of(node, taken(['h100', 1]), new Set([3]))).toEqual(new Set([2]));
  expect(others.of(node, taken(['h100', 1]), new Set())).toEqual(new Set([2]));
  expect(others.of(node, taken(['h100', 2]), new Set())).toEqual(new Set([2, 3]));
  expect(others.of(node, taken(['h100', 1]), new Set([3]))).toEqual(new Set([2]));
  expect(others.of(node, taken(), new Set())).toEqual(new Set());
  expect(others.of(node, taken(['h100', 1]), new Set())).toEqual(new Set([3]));
});
