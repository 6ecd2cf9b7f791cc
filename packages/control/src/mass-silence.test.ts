import type { Lease } from '@muster/store';
import { describe, expect, it } from 'vitest';
import { decideFreeze, freezeMs, massSilence, silenceByCluster } from './mass-silence.ts';

const silent = (count: number, nodes: number) => [{ cluster: 'main', silent: count, nodes }];
const standing = (untilMs: number) => [{ cluster: 'main', silent: 5, nodes: 10, untilMs }];

describe('mass silence', () => {
  it.each([
    [2, 2, false],
    [3, 3, true],
    [3, 14, true],
    [3, 15, false],
    [20, 100, false],
    [21, 100, true],
  ])('%i of %i silent nodes: %s', (count, nodes, expected) => {
    expect(massSilence({ cluster: 'main', silent: count, nodes })).toBe(expected);
  });

  it('counts ready and silent nodes, not lost ones', () => {
    const lease = (cluster: string, state: Lease['state']): Lease =>
      ({ cluster, state, node: 'node', renewals: 0, renewedMs: 0, runs: [] }) as unknown as Lease;
    const leases = [
      lease('b', 'ready'),
      lease('a', 'silent'),
      lease('a', 'lost'),
      lease('a', 'removed'),
      lease('a', 'ready'),
    ];
    expect(silenceByCluster(leases)).toEqual([
      { cluster: 'a', silent: 1, nodes: 2 },
      { cluster: 'b', silent: 0, nodes: 1 },
    ]);
  });

  it('freezes once, and stays frozen while the freeze stands', () => {
    const first = decideFreeze(silent(5, 10), [], 0);
    expect(first.freeze).toHaveLength(1);
    expect([...first.frozen]).toEqual(['main']);
    const second = decideFreeze(silent(5, 10), standing(freezeMs), 1000);
    expect(second.freeze).toHaveLength(0);
    expect([...second.frozen]).toEqual(['main']);
  });

  it('does not freeze again what was thawed or has lasted long enough, until the silence is over', () => {
    const dealtWith = standing(100);
    const still = decideFreeze(silent(5, 10), dealtWith, 100);
    expect(still).toEqual({ freeze: [], over: [], frozen: new Set() });
    expect(decideFreeze(silent(0, 10), dealtWith, 200).over).toEqual(['main']);
    expect(decideFreeze(silent(5, 10), [], 300).freeze).toHaveLength(1);
  });

  it('ends by itself when the silence is over', () => {
    expect(decideFreeze(silent(1, 10), standing(freezeMs), 0)).toEqual({
      freeze: [],
      over: ['main'],
      frozen: new Set(),
    });
  });
});
