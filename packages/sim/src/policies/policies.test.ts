import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fleetOf } from '../replay/fleet.ts';
import { replay } from '../replay/replay.ts';
import { naiveEasyStarts } from '../testing/naive-easy.ts';
import { ends, type Line, starts, traceOf } from '../testing/worlds.ts';
import { asked, exact } from './beliefs.ts';
import { conservative } from './conservative.ts';
import { easy, easyShortest } from './easy.ts';
import { policyRows } from './policies.ts';

const policy = (name: string, which: 'asked' | 'exact' | 'learned' = 'asked') =>
  policyRows.find((row) => row.name === name)!.make(which);
const startsOf = (name: string, devices: number, ...lines: readonly Line[]) =>
  starts(replay(traceOf(...lines), fleetOf(devices, 1), policy(name)));

describe('in order, without stopping anybody', () => {
  // Four devices; the second job needs all of them, so it waits for the first, and the third could pass.
  const lines: Line[] = [
    { at: 0, run: 10, size: 2 },
    { at: 1, run: 10, size: 4 },
    { at: 2, run: 3, size: 2 },
    { at: 2, run: 2, size: 2 },
  ];

  test('strict first come first served lets nobody pass the first in line', () => {
    expect(startsOf('fifo', 4, ...lines)).toEqual([0, 10, 20, 20]);
  });

  test('with skipping whoever fits starts, in order of arrival', () => {
    expect(startsOf('fifo-skip', 4, ...lines)).toEqual([0, 10, 2, 5]);
  });

  test('the shortest goes first, and the one that is first in that order keeps others from passing', () => {
    expect(startsOf('sjf', 4, ...lines)).toEqual([0, 10, 4, 2]);
  });

  test('least service counts devices too', () => {
    // 8 x 1 = 8 before 3 x 4 = 12, although 3 is shorter.
    const two: Line[] = [
      { at: 0, run: 5, size: 4 },
      { at: 1, run: 3, size: 4 },
      { at: 1, run: 8, size: 1 },
    ];
    expect(startsOf('ssf', 4, ...two)).toEqual([0, 13, 5]);
    expect(startsOf('sjf', 4, ...two)).toEqual([0, 5, 8]);
  });
});

describe('EASY backfill', () => {
  test('a job passes when it ends by the reservation, and when it leaves the room needed then', () => {
    const lines: Line[] = [
      { at: 0, run: 10, size: 6 },
      { at: 1, run: 5, size: 8 }, // reserved at 10, when 2 devices are spare
      { at: 2, run: 9, size: 2 }, // ends at 11, but fits beside
      { at: 3, run: 7, size: 2 }, // ends at 10
      { at: 4, run: 7, size: 2 }, // would end at 11, and nothing is spare any more
    ];
    expect(startsOf('easy', 10, ...lines)).toEqual([0, 10, 2, 3, 11]);
  });

  test('a run past the time it asked for is believed to end now', () => {
    const lines: Line[] = [
      { at: 0, run: 20, asked: 5, size: 3 },
      { at: 1, run: 5, size: 4 },
      // At 6 the first should be over: the reservation is now, and this one neither ends by then nor fits beside.
      { at: 6, run: 2, size: 1 },
    ];
    expect(startsOf('easy', 4, ...lines)).toEqual([0, 20, 25]);
  });

  test('shortest first decides who passes', () => {
    const lines: Line[] = [
      { at: 0, run: 20, size: 3 },
      { at: 1, run: 5, size: 4 },
      { at: 2, run: 10, size: 1 },
      { at: 2, run: 4, size: 1 },
    ];
    expect(startsOf('easy', 4, ...lines)).toEqual([0, 20, 2, 12]);
    expect(startsOf('easy-sjbf', 4, ...lines)).toEqual([0, 20, 6, 2]);
  });

  const line = fc.record({
    at: fc.integer({ min: 0, max: 40 }),
    run: fc.integer({ min: 1, max: 15 }),
    asked: fc.integer({ min: 1, max: 20 }),
    size: fc.integer({ min: 1, max: 6 }),
  });

  test.each([false, true])(
    'starts everybody when the textbook does (shortest first: %s)',
    (shortestFirst) => {
      fc.assert(
        fc.property(fc.array(line, { minLength: 1, maxLength: 40 }), (lines) => {
          const trace = traceOf(...lines);
          const make = shortestFirst ? easyShortest : easy;
          const fast = replay(trace, fleetOf(6, 1), make(asked)).firstStartMs;
          expect([...fast]).toEqual(naiveEasyStarts(trace, 6, shortestFirst));
        }),
        { numRuns: 300, seed: 5 },
      );
    },
  );

  test('on nodes nobody who passes takes the node that the first in line will need', () => {
    // Two nodes of 4. Job 1 needs a whole node, and gets node 0 at 10; job 2 fits node 0 more tightly, but would stay too long there.
    const trace = traceOf(
      { at: 0, run: 10, size: 3 },
      { at: 0, run: 30, size: 2 },
      { at: 1, run: 5, size: 4 },
      { at: 2, run: 100, size: 1 },
    );
    const played = replay(trace, fleetOf(2, 4), easy(exact));
    expect(starts(played)).toEqual([0, 0, 10, 2]);
  });
});

describe('conservative backfill', () => {
  test('nobody is delayed by who passes, not only the first in line', () => {
    const lines: Line[] = [
      { at: 0, run: 10, size: 2 },
      { at: 1, run: 10, size: 4 }, // reserved at 10
      { at: 2, run: 10, size: 3 }, // reserved at 20
      { at: 3, run: 25, size: 1 }, // cannot pass either of them: 4 are needed at 10
    ];
    expect(startsOf('conservative', 4, ...lines)).toEqual([0, 10, 20, 20]);
  });

  test('an earlier end than believed moves reservations forward, in order', () => {
    const lines: Line[] = [
      { at: 0, run: 5, asked: 20, size: 4 },
      { at: 1, run: 10, size: 4 },
      { at: 2, run: 5, size: 4 },
    ];
    expect(startsOf('conservative', 4, ...lines)).toEqual([0, 5, 15]);
  });

  test('with exact run times nobody starts later than its reservation on arrival', () => {
    const line = fc.record({
      at: fc.integer({ min: 0, max: 30 }),
      run: fc.integer({ min: 1, max: 15 }),
      size: fc.integer({ min: 1, max: 6 }),
    });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 25 }), (lines) => {
        const trace = traceOf(...lines);
        const whole = replay(trace, fleetOf(6, 1), conservative(exact));
        for (let count = 1; count < trace.count; count++) {
          const until = trace.submitMs[count - 1]!;
          if (trace.submitMs[count] === until) continue;
          const part = replay(cut(trace, count), fleetOf(6, 1), conservative(exact));
          for (let job = 0; job < count; job++)
            expect(whole.firstStartMs[job]!).toBeLessThanOrEqual(part.firstStartMs[job]!);
        }
      }),
      { numRuns: 60, seed: 5 },
    );
  });
});

function cut(trace: ReturnType<typeof traceOf>, count: number): ReturnType<typeof traceOf> {
  const { submitMs, runMs, askedMs, size } = trace;
  const columns = { submitMs, runMs, askedMs, size };
  const part = Object.fromEntries(
    Object.entries(columns).map(([name, all]) => [name, all.subarray(0, count)]),
  );
  return { ...trace, count, ...part };
}

describe('stopping runs', () => {
  test('the one with less left takes the room of the one with more, who loses work since its checkpoint and restarts', () => {
    const trace = traceOf({ at: 0, run: 3000, size: 4 }, { at: 1000, run: 100, size: 4 });
    const played = replay(trace, fleetOf(4, 1), policy('srtf'));
    // Stopped after 1000 s: 600 are saved, 400 lost. Back at 1100, 60 s of restart, then 2400 of work.
    expect(ends(played)).toEqual([1100 + 60 + 2400, 1100]);
    expect(played.lostMs[0]).toBe((400 + 60) * 1000);
    expect([...played.preemptions]).toEqual([1, 0]);
    expect([...played.stretches.job]).toEqual([0, 1, 0]);
  });

  test('what costs nothing loses nothing', () => {
    const trace = traceOf({ at: 0, run: 3000, size: 4 }, { at: 1000, run: 100, size: 4 });
    const free = { restartMs: 0, checkpointMs: 0 };
    const played = replay(trace, fleetOf(4, 1), policy('srtf'), { costs: free });
    expect(ends(played)).toEqual([3100, 1100]);
    expect(played.lostMs[0]).toBe(0);
  });

  test('only as many are stopped as are needed, and only longer ones', () => {
    const trace = traceOf(
      { at: 0, run: 5000, size: 1 },
      { at: 0, run: 4000, size: 2 },
      { at: 0, run: 3000, size: 1 },
      { at: 10, run: 1000, size: 2 },
    );
    const played = replay(trace, fleetOf(4, 1), policy('srtf'));
    expect([...played.preemptions]).toEqual([0, 1, 0, 0]);
    expect(starts(played)[3]).toBe(10);
  });

  test('least attained service: young jobs stop old ones, old ones nobody', () => {
    const trace = traceOf(
      { at: 0, run: 10_000, size: 1 },
      { at: 100, run: 10, size: 1 },
      { at: 4000, run: 10, size: 1 },
    );
    const played = replay(trace, fleetOf(1, 1), policy('las'));
    // Job 0 is old after 3,250 s. Job 1 then takes its room; job 2 does so at once.
    expect(starts(played)).toEqual([0, 3250, 4000]);
    expect([...played.preemptions]).toEqual([2, 0, 0]);
  });
});

const anyLine = fc.record({
  at: fc.integer({ min: 0, max: 4000 }),
  run: fc.integer({ min: 1, max: 6000 }),
  size: fc.integer({ min: 1, max: 12 }),
});

const fleets = [
  fleetOf(8, 1),
  fleetOf(2, 4),
  {
    pools: [
      { name: 'a', nodes: 2, devicesPerNode: 2, model: 'any' },
      { name: 'b', nodes: 1, devicesPerNode: 4, model: 'any' },
    ],
    pricePerDeviceHour: null,
  },
];

test.each(policyRows.map(({ name }) => name))(
  '%s never sells a device twice, and every job ends after its work',
  (name) => {
    fc.assert(
      fc.property(
        fc.array(anyLine, { minLength: 1, maxLength: 30 }),
        fc.constantFrom(...fleets),
        (lines, fleet) => {
          const trace = traceOf(...lines);
          const played = replay(trace, fleet, policy(name, 'learned'));
          expect(mostHeld(played)).toBeLessThanOrEqual(8);
          for (let job = 0; job < trace.count; job++) {
            if (trace.size[job]! > 8) expect(played.impossible).toContain(job);
            if (played.impossible.includes(job)) expect(played.endMs[job]).toBe(-1);
            else expect(heldMs(played, job)).toBe(trace.runMs[job]! + played.lostMs[job]!);
          }
        },
      ),
      { numRuns: 60, seed: 5 },
    );
  },
);

type Outcome = ReturnType<typeof replay>;

function heldMs({ stretches }: Outcome, job: number): number {
  return [...stretches.job.keys()]
    .filter((i) => stretches.job[i] === job)
    .reduce((sum, i) => sum + stretches.toMs[i]! - stretches.fromMs[i]!, 0);
}

function mostHeld({ stretches, trace }: Outcome): number {
  const { job, fromMs, toMs } = stretches;
  const running = (atMs: number) =>
    [...job.keys()]
      .filter((i) => fromMs[i]! <= atMs && atMs < toMs[i]!)
      .reduce((sum, i) => sum + trace.size[job[i]!]!, 0);
  return Math.max(0, ...[...fromMs].map(running));
}
