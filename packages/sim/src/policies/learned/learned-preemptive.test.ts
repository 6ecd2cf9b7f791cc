import { describe, expect, test } from 'vitest';
import { fleetOf } from '../../replay/fleet.ts';
import { replay } from '../../replay/replay.ts';
import { ends, type Line, starts, traceOf } from '../../testing/worlds.ts';
import { learnedPreemptive } from './learned-preemptive.ts';

const minute = 60;
const hour = 60 * minute;
const asked = 24 * hour;

/** On nodes of four; the habits of ada (hours) and bob (a minute) are known before the first hour of interest. */
const past: Line[] = [
  ...Array.from({ length: 5 }, (): Line => ({ at: 0, run: 10 * hour, size: 1, user: 'ada', asked })),
  ...Array.from({ length: 5 }, (_, i): Line => ({ at: i * 100, run: minute, size: 1, user: 'bob', asked })),
];
const from = 20 * hour;
const play = (nodes: number, ...lines: readonly Line[]) => {
  const trace = traceOf(...past, ...lines.map((line) => ({ ...line, at: from + line.at, asked })));
  const played = replay(trace, fleetOf(nodes, 4), learnedPreemptive);
  const after = (times: readonly number[]) => times.slice(past.length).map((s) => s - from);
  return {
    starts: after(starts(played)),
    ends: after(ends(played)),
    stops: [...played.preemptions].slice(past.length),
  };
};

describe('stopping', () => {
  const long: Line = { at: 0, run: 10 * hour, size: 4, user: 'ada' };

  test('a short job stops a long run that has saved its work, which then goes on from there', () => {
    const { starts, ends, stops } = play(1, long, { at: 15 * minute, run: minute, size: 4, user: 'bob' });
    expect(starts).toEqual([0, 15 * minute]);
    expect(stops).toEqual([1, 0]);
    // Five minutes are lost, the restart takes one, and so does the short job.
    expect(ends).toEqual([10 * hour + 7 * minute, 16 * minute]);
  });

  test('but not before it has saved it once', () => {
    const { starts, stops } = play(1, long, { at: 5 * minute, run: minute, size: 4, user: 'bob' });
    expect(starts[1]).toBe(10 * minute + 5 * minute);
    expect(stops).toEqual([1, 0]);
  });

  test('and nobody is stopped for a job that needs as long', () => {
    const { starts, stops } = play(1, long, { at: 15 * minute, run: hour, size: 4, user: 'ada' });
    expect(starts).toEqual([0, 10 * hour]);
    expect(stops).toEqual([0, 0]);
  });

  test('of two long runs on a node only as many end as are in the way', () => {
    const half = { ...long, size: 2 };
    const { stops } = play(1, half, half, { at: 15 * minute, run: minute, size: 2, user: 'bob' });
    expect(stops.reduce((sum, each) => sum + each, 0)).toBe(1);
  });
});

describe('moving', () => {
  test('small runs move together where that leaves a node whole for somebody', () => {
    // One device is left on the first node and three on the second: four are free, but not together.
    const { starts, stops } = play(
      2,
      { at: 0, run: 10 * hour, size: 3, user: 'ada' },
      { at: 1, run: 30 * minute, size: 1, user: 'eve' },
      { at: 2, run: 10 * hour, size: 1, user: 'ada' },
      { at: 40 * minute, run: 10 * hour, size: 4, user: 'ada' },
    );
    expect(starts).toEqual([0, 1, 2, 40 * minute]);
    expect(stops).toEqual([0, 0, 1, 0]);
  });

  test('nobody moves who has no place elsewhere', () => {
    const { starts, stops } = play(
      2,
      { at: 0, run: hour, size: 3, user: 'ada' },
      { at: 1, run: hour, size: 3, user: 'ada' },
      { at: 40 * minute, run: 10 * hour, size: 2, user: 'ada' },
    );
    expect(starts[2]).toBe(hour);
    expect(stops).toEqual([0, 0, 0]);
  });
});
