import { defaultPolicy, type Policy as MusterPolicy } from '@muster/model';
import { expect, test } from 'vitest';
import { fleetOf } from '../../replay/fleet.ts';
import { replay } from '../../replay/replay.ts';
import { ends, type Line, starts, traceOf } from '../../testing/worlds.ts';
import { exact } from '../beliefs.ts';
import { easy } from '../easy.ts';
import { muster } from './muster.ts';

const plain = muster({ name: 'muster', about: '', durations: 'exact' });

test('with one project and exact run times the engine starts everybody when textbook EASY does', () => {
  const lines: Line[] = [
    { at: 0, run: 10, size: 6 },
    { at: 1, run: 5, size: 8 },
    { at: 2, run: 9, size: 2 },
    { at: 3, run: 7, size: 2 },
    { at: 4, run: 7, size: 2 },
  ];
  const trace = traceOf(...lines);
  const played = replay(trace, fleetOf(10, 1), plain);
  expect(starts(played)).toEqual([0, 10, 2, 3, 11]);
  expect(starts(played)).toEqual(starts(replay(trace, fleetOf(10, 1), easy(exact))));
});

test('a gang gets whole nodes and its rest on another, and waits until they are free', () => {
  const trace = traceOf(
    { at: 0, run: 100, size: 3 },
    { at: 1, run: 10, size: 10 },
    { at: 2, run: 10, size: 12 },
  );
  // Three nodes of 4: the first job takes three devices of one, the second two nodes and two devices, of which one is not there.
  const played = replay(trace, fleetOf(3, 4), plain);
  expect(starts(played)).toEqual([0, 100, 110]);
});

test('the project that has used less goes first', () => {
  const trace = traceOf(
    { at: 0, run: 10_000, size: 4, project: 'a' },
    { at: 1, run: 10, size: 4, project: 'a' },
    { at: 2, run: 10, size: 4, project: 'b' },
  );
  expect(starts(replay(trace, fleetOf(4, 1), plain))).toEqual([0, 10_010, 10_000]);
});

test('a guarantee is taken back: the victim loses its work since a checkpoint, and goes on later', () => {
  const policy: MusterPolicy = {
    ...defaultPolicy,
    quotas: [
      {
        project: 'b',
        guaranteed: { cpu: 4000 },
        ceiling: {},
        userCeiling: {},
        weightMilli: 1000,
        preemptWithin: 'never',
      },
    ],
  };
  const trace = traceOf(
    { at: 0, run: 3000, size: 4, project: 'a' },
    { at: 1000, run: 100, size: 4, project: 'b' },
  );
  const reclaiming = muster({ name: 'muster', about: '', durations: 'asked', policy });
  const played = replay(trace, fleetOf(4, 1), reclaiming);
  expect(starts(played)).toEqual([0, 1000]);
  expect(ends(played)).toEqual([1100 + 60 + 2400, 1100]);
  expect([...played.preemptions]).toEqual([1, 0]);
});
