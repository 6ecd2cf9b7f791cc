import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fleetOf } from '../../replay/fleet.ts';
import { replay } from '../../replay/replay.ts';
import { type Line, starts, traceOf } from '../../testing/worlds.ts';
import { learned } from './learned.ts';
import { OrderedLine } from './ordered-line.ts';

const startsOf = (devices: number, ...lines: readonly Line[]) =>
  starts(replay(traceOf(...lines), fleetOf(devices, 1), learned));

/** Everybody asks for a day: only experience tells them apart. */
const asked = 86_400;
const ada = { user: 'ada', size: 2, asked };
const bob = { user: 'bob', size: 2, asked };

describe('who is expected to be short goes first', () => {
  test('of two who ask alike, the one whose earlier job was short', () => {
    const past: Line[] = [
      { at: 0, run: 10_000, ...ada },
      { at: 0, run: 10, ...bob, size: 1 },
    ];
    // Both wait for the first job of ada to end; bob came later.
    const line: Line[] = [
      { at: 20_000, run: 500, ...ada, user: 'eve' },
      { at: 20_001, run: 10_000, ...ada },
      { at: 20_002, run: 10, ...bob },
    ];
    expect(startsOf(3, ...past, ...line).slice(2)).toEqual([20_000, 20_510, 20_500]);
  });

  test('but not before somebody who has waited ten times as long as was expected of it', () => {
    const past: Line[] = [
      { at: 0, run: 100, ...ada },
      { at: 0, run: 10, ...bob, size: 1 },
    ];
    const line: Line[] = [
      { at: 1000, run: 5000, ...ada, user: 'eve' },
      { at: 1001, run: 100, ...ada },
      { at: 5900, run: 10, ...bob },
    ];
    expect(startsOf(3, ...past, ...line).slice(3)).toEqual([6000, 6100]);
  });
});

describe('passing', () => {
  const habit = Array.from({ length: 20 }, (_, i): Line => ({ at: i * 100, run: 50, ...bob, size: 1 }));
  // Three of four devices are in use until 13,000 as asked; the next needs all four.
  const line: Line[] = [
    { at: 3000, run: 10_000, asked: 10_000, user: 'eve', size: 3 },
    { at: 3001, run: 10, asked: 10, user: 'eve', size: 4 },
  ];

  test('who always was short passes a reservation, whatever it asks for', () => {
    const passing: Line = { at: 3002, run: 50, ...bob, size: 1 };
    expect(startsOf(4, ...habit, ...line, passing).slice(-2)).toEqual([13_000, 3002]);
  });

  test('of somebody unknown the widest kin speaks, and who always was long does not pass', () => {
    const long = Array.from({ length: 20 }, (_, i): Line => ({ at: i, run: 80_000, ...bob, size: 1 }));
    const later = line.map((one) => ({ ...one, at: one.at + 100_000 }));
    const passing: Line = { at: 103_002, run: 50, ...bob, size: 1 };
    const played = startsOf(20, ...long, ...later.map((one) => ({ ...one, size: one.size * 5 })), passing);
    expect(played.slice(-2)).toEqual([113_000, 113_010]);
  });
});

test('what was learned is scored by what came of it', () => {
  const lines = Array.from({ length: 40 }, (_, i): Line => ({ at: i * 100, run: 50, ...bob }));
  const { coverage } = replay(traceOf(...lines), fleetOf(4, 1), learned);
  expect(coverage!.scored).toBe(39);
  expect(coverage!.p90).toBeGreaterThanOrEqual(coverage!.p50);
});

test('a line keeps its order, whoever comes and leaves', () => {
  const steps = fc.array(fc.record({ key: fc.integer({ min: 0, max: 9 }), take: fc.boolean() }), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, (all) => {
      const line = new OrderedLine(1);
      let naive: [key: number, job: number][] = [];
      for (const [job, { key, take }] of all.entries()) {
        if (take && naive.length > 0) {
          const place = key % naive.length;
          expect(line.takeAt(place)).toBe(naive[place]![1]);
          naive = naive.toSpliced(place, 1);
        }
        line.add(job, key);
        naive = [...naive, [key, job] as [number, number]].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
        expect(Array.from({ length: line.waiting }, (_, place) => line.jobAt(place))).toEqual(
          naive.map(([, each]) => each),
        );
      }
    }),
    { numRuns: 100, seed: 5 },
  );
});
