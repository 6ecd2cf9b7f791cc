import { describe, expect, test } from 'vitest';
import { asked } from '../policies/beliefs.ts';
import { easy } from '../policies/easy.ts';
import { inOrder } from '../policies/in-order.ts';
import { srtf } from '../policies/srtf.ts';
import { fleetOf } from '../replay/fleet.ts';
import { replay } from '../replay/replay.ts';
import { differenceText, firstDifference } from '../report/first-difference.ts';
import { type Line, traceOf } from '../testing/worlds.ts';
import { shorterFirst, tieCount, withTies } from '../traces/ties.ts';
import { measure } from './measures.ts';
import { percentile } from './order-statistics.ts';
import { waterLevel } from './share-error.ts';
import { timeline } from './timeline.ts';

const fifo = inOrder.find(({ name }) => name === 'fifo')!;
const played = (devices: number, ...lines: readonly Line[]) =>
  replay(traceOf(...lines), fleetOf(devices, 1), fifo);

test('waits, completion times, slowdown, use and makespan of two jobs in a row', () => {
  // The second waits 90 s for 5 s of work: 95 / 10 with the bound, not 95 / 5.
  const figures = measure(played(2, { at: 0, run: 100, size: 2 }, { at: 10, run: 5, size: 1 }));
  expect(figures).toMatchObject({
    jobs: 2,
    avgWaitS: 45,
    medianWaitS: 0,
    maxWaitS: 90,
    avgJctS: (100 + 95) / 2,
    boundedSlowdown: (1 + 9.5) / 2,
    makespanS: 105,
    utilisation: 205 / 210,
    preemptions: 0,
    goodput: 1,
    cost: null,
  });
});

test('percentiles are values that occurred', () => {
  const values = Float64Array.from({ length: 200 }, (_, i) => i + 1);
  expect([0, 0.5, 0.99, 1].map((part) => percentile(values, part))).toEqual([1, 100, 198, 200]);
  expect(percentile(new Float64Array(), 0.5)).toBe(0);
});

test('a job that asks for more than there is is counted and in no average', () => {
  const figures = measure(played(2, { at: 0, run: 10, size: 1 }, { at: 0, run: 1000, size: 3 }));
  expect(figures).toMatchObject({ jobs: 1, impossible: 1, avgWaitS: 0, makespanS: 10 });
});

test('lost work makes goodput less, and costs money', () => {
  const trace = traceOf({ at: 0, run: 3000, size: 2 }, { at: 1000, run: 100, size: 2 });
  const figures = measure(replay(trace, fleetOf(2, 1), srtf), { pricePerDeviceHour: 3 });
  // 400 s done again and 60 s of restart, on two devices, of 3,560 s held.
  expect(figures.lostDeviceHours).toBeCloseTo((460 * 2) / 3600, 10);
  expect(figures.goodput).toBeCloseTo(3100 / 3560, 10);
  expect(figures.cost).toBeCloseTo(((3560 * 2) / 3600) * 3, 10);
  expect(figures.preemptions).toBe(1);
});

test('free devices on nodes partly in use are scattered', () => {
  const trace = traceOf({ at: 0, run: 10, size: 1 });
  // Two nodes of four: for 10 s three of seven free devices lie beside the job.
  expect(measure(replay(trace, fleetOf(2, 4), fifo)).fragmentation).toBeCloseTo(3 / 7, 10);
});

describe('fairness', () => {
  test('two that share a machine for one and each get it half of the time are treated alike', () => {
    // While both are there the machine is asked for twice. The first has it at once, and twice its share; the second waits for it.
    const figures = measure(played(1, { at: 0, run: 10, size: 1 }, { at: 0, run: 10, size: 1 }));
    // First: 10 s in all, its ideal 10 x 2. Second: 20 s in all, its ideal 10 x (2 + 1) / 2.
    expect(figures.finishTimeFairnessP95).toBeCloseTo(20 / 15, 10);
    expect(figures.unfairPart).toBe(0.5);
  });

  test('alone nobody is late', () => {
    expect(measure(played(1, { at: 0, run: 10, size: 1 })).finishTimeFairnessP95).toBe(1);
  });

  test('the share of each is what is left when nobody gets more than it asks for', () => {
    expect(waterLevel(Float64Array.of(1, 5, 9), 10)).toBe(4.5);
    expect(waterLevel(Float64Array.of(1, 2, 3), 10)).toBe(Number.POSITIVE_INFINITY);
    expect(waterLevel(Float64Array.of(0, 8, 8), 10)).toBe(5);
  });

  test('a project that waits for all of its share lacks it for that time', () => {
    // For 50 of 100 s project b could have had half of the machine and has nothing; then a is gone.
    const figures = measure(
      played(2, { at: 0, run: 50, size: 2, project: 'a' }, { at: 0, run: 50, size: 2, project: 'b' }),
    );
    expect(figures.shareError).toBeCloseTo(0.25, 2);
  });
});

test('a timeline adds up to what was held and waited', () => {
  const outcome = played(2, { at: 0, run: 100, size: 2 }, { at: 10, run: 30, size: 1 });
  const { used, waitingJobs, pieceMs } = timeline(outcome, 130_000, 13);
  expect(pieceMs).toBe(10_000);
  expect([...used]).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1]);
  expect([...waitingJobs]).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0]);
  const uneven = timeline(outcome, 130_000, 7);
  expect([...uneven.used].reduce((sum, value) => sum + value * uneven.pieceMs, 0)).toBeCloseTo(230_000, 3);
});

test('where two replays part is told by line, and which job it is', () => {
  const trace = traceOf({ at: 0, run: 5, size: 2 }, { at: 1, run: 20, size: 2 }, { at: 1, run: 10, size: 2 });
  const other = withTies(trace, shorterFirst);
  expect(tieCount(trace)).toBe(1);
  expect([...other.line]).toEqual([1, 3, 2]);
  const difference = firstDifference(replay(other, fleetOf(2, 1), fifo), replay(trace, fleetOf(2, 1), fifo))!;
  expect(difference).toMatchObject({ atMs: 5000, firstStartMs: [5000, 25_000], line: 3 });
  expect(differenceText(difference)).toBe(
    'the job of line 3 (2 devices, submitted at 1 s, runs 10 s) starts at 5 s instead of 25 s',
  );
  expect(
    firstDifference(replay(trace, fleetOf(2, 1), fifo), replay(trace, fleetOf(2, 1), easy(asked))),
  ).toBeNull();
});
