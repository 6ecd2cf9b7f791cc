import { describe, expect, it } from 'vitest';
import { cpuMilliOf, memoryMibOf } from './quantity.ts';

describe('amounts of Kubernetes', () => {
  it.each([
    ['4', 4000],
    ['250m', 250],
    ['3920m', 3920],
    ['0.1', 100],
    ['2k', 2_000_000],
    ['1e3', 1_000_000],
    ['1E-1', 100],
    ['1500000n', 1],
  ])('reads %s of a node as %d thousandths of a CPU', (text, milli) => {
    expect(cpuMilliOf(text, 'down')).toBe(milli);
  });

  it.each([
    ['16Gi', 16_384],
    ['1Mi', 1],
    ['1000000Ki', 976],
    ['2147483648', 2048],
    ['1G', 953],
    ['128974848', 123],
  ])('reads %s of a node as %d MiB', (text, mib) => {
    expect(memoryMibOf(text, 'down')).toBe(mib);
  });

  it('rounds up what a pod takes', () => {
    expect(memoryMibOf('1000000Ki', 'up')).toBe(977);
    expect(cpuMilliOf('1500000n', 'up')).toBe(2);
  });

  it.each(['', 'x', '-1', '1 Gi', '1Zi', 'NaN', '0x10', '99999999999E'])('refuses %j', (text) => {
    expect(() => memoryMibOf(text, 'down')).toThrow(RangeError);
  });
});
