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

test('a run that is expected to be longer is stopped once it has saved its work, stands back, and goes on later', () => {
  const learn = (at: number, run: number, user: string): Line => ({ at, run, size: 1, user });
  const trace = traceOf(
    ...[0, 200, 400].map((at) => learn(at, 100, 'short')),
    learn(0, 20_000, 'long'),
    { at: 30_000, run: 20_000, size: 8, user: 'long' },
    { at: 30_100, run: 100, size: 8, user: 'short' },
    { at: 30_200, run: 100, size: 8, user: 'short' },
  );
  const learned = muster({ name: 'muster', about: '', durations: 'learned' });
  const played = replay(trace, fleetOf(1, 8), learned);
  // It saves its work after ten minutes; what it did so far is kept, and it goes on a minute after it has its place again.
  expect(starts(played).slice(4)).toEqual([30_000, 30_600, 30_700]);
  expect(ends(played).slice(4)).toEqual([30_800 + 60 + 20_000 - 600, 30_700, 30_800]);
  expect([...played.preemptions].slice(4)).toEqual([1, 0, 0]);
});

test('nobody is stopped for a shorter one in a trace whose jobs do not save their work', () => {
  const line = (at: number, run: number, user: string): Line => ({ at, run, size: 8, user });
  const trace = traceOf(line(0, 100, 'short'), line(200, 20_000, 'long'), line(300, 100, 'short'));
  const learned = muster({ name: 'muster', about: '', durations: 'learned' });
  const played = replay({ ...trace, savesWork: false }, fleetOf(1, 8), learned);
  expect([...played.preemptions]).toEqual([0, 0, 0]);
});
