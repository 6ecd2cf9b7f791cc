import { describe, expect, test } from 'vitest';
import { kinsMax } from './kin-table.ts';
import { type Estimate, RunTimes } from './run-times.ts';
import type { JobTraits } from './traits.ts';

const minuteMs = 60_000;
const job = (over: Partial<JobTraits> = {}): JobTraits => ({
  user: 'ada',
  project: 'vision',
  name: 'train',
  devices: 8,
  askedMs: 240 * minuteMs,
  ...over,
});

/** What would be said of a job after these have ended. */
function learned(ended: readonly (readonly [JobTraits, number])[], of: JobTraits): Estimate | null {
  const times = new RunTimes();
  for (const [traits, minutes] of ended) times.observe(traits, minutes * minuteMs, null);
  return times.estimate(of);
}

/** Numbers from 0 to 1 that look as if drawn, always the same. */
function* drawn(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

describe('what is said of a job', () => {
  test('nothing before anybody has ended', () => {
    expect(learned([], job())).toBeNull();
  });

  test('what its like have always done', () => {
    const ended = Array.from({ length: 12 }, () => [job(), 40] as const);
    expect(learned(ended, job())).toEqual({
      expectedMs: 40 * minuteMs,
      p50Ms: 40 * minuteMs,
      p90Ms: 40 * minuteMs,
      kin: 'same user, name, size and time asked',
      runs: 10,
    });
  });

  test('a closer kin counts more than a wider one', () => {
    const others = Array.from({ length: 10 }, () => [job({ user: 'bob' }), 200] as const);
    const own = Array.from({ length: 10 }, () => [job(), 40] as const);
    const said = learned([...own, ...others], job())!;
    expect(said.p50Ms).toBe(40 * minuteMs);
    expect(said.expectedMs).toBeLessThan(80 * minuteMs);
  });

  test('of somebody new, what others of the project did with that size', () => {
    const ended = [
      [job({ devices: 1, askedMs: null }), 5],
      [job(), 60],
    ] as const;
    const said = learned(ended, job({ user: 'eve', askedMs: null }))!;
    expect(said).toMatchObject({ kin: 'same project and size', runs: 1 });
    expect(said.p90Ms).toBe(60 * minuteMs);
  });

  test('newer runs count more than older ones', () => {
    const was = Array.from({ length: 10 }, () => [job(), 200] as const);
    const is = Array.from({ length: 5 }, () => [job(), 10] as const);
    expect(learned([...was, ...is], job())!.p50Ms).toBe(10 * minuteMs);
  });

  test('never more than it asked for', () => {
    const ended = Array.from({ length: 10 }, () => [job(), 200] as const);
    const said = learned(ended, job({ askedMs: 30 * minuteMs }))!;
    expect([said.expectedMs, said.p50Ms, said.p90Ms]).toEqual([30 * minuteMs, 30 * minuteMs, 30 * minuteMs]);
  });

  test('asking changes nothing', () => {
    const [asked, unasked] = [new RunTimes(), new RunTimes()];
    for (let i = 0; i < 100; i++) asked.estimate(job({ name: `n${i}` }));
    for (const times of [asked, unasked]) times.observe(job(), minuteMs, null);
    expect(asked.estimate(job())).toEqual(unasked.estimate(job()));
  });
});

describe('how much longer a run will go on', () => {
  const tenths = Array.from({ length: 10 }, (_, i) => [job(), 10 * (i + 1)] as const);
  const after = (minutes: number): number | null => {
    const times = new RunTimes();
    for (const [traits, ran] of tenths) times.observe(traits, ran * minuteMs, null);
    return times.remainingMs(job(), minutes * minuteMs);
  };

  test('before it starts, all that is expected', () => {
    expect(after(0)).toBe(learned(tenths, job())!.expectedMs);
  });

  test('as those did that ran longer than it has', () => {
    expect(after(95)).toBe(5 * minuteMs);
    expect(after(85)!).toBeGreaterThan(5 * minuteMs);
    expect(after(85)!).toBeLessThan(15 * minuteMs);
  });

  test('as long again, when nobody did', () => {
    expect(after(300)).toBe(300 * minuteMs);
  });

  test('nobody knows before anybody has ended', () => {
    expect(new RunTimes().remainingMs(job(), 0)).toBeNull();
  });
});

describe('coverage', () => {
  test('nothing is covered before anything was said', () => {
    const times = new RunTimes();
    times.observe(job(), minuteMs, times.estimate(job()));
    expect(times.coverage()).toBeNull();
  });

  test('half of the jobs stay within P50 and nine tenths within P90, whatever their spread', () => {
    for (const power of [1, 3, 8]) {
      const times = new RunTimes();
      const draw = drawn(7);
      for (let i = 0; i < 4000; i++) {
        const traits = job({ user: `user-${i % 7}` });
        const chance = draw.next().value as number;
        times.observe(traits, Math.ceil(1000 + 200 * minuteMs * chance ** power), times.estimate(traits));
      }
      const { scored, p50, p90 } = times.coverage()!;
      expect(scored).toBe(3999);
      expect(p50).toBeCloseTo(0.5, 1);
      expect(p90).toBeGreaterThan(0.88);
      expect(p90).toBeLessThan(0.92);
    }
  });

  test('a habit that changes for the worse is covered again', () => {
    const times = new RunTimes();
    const draw = drawn(3);
    let within = 0;
    for (let i = 0; i < 4000; i++) {
      const minutes = (i < 2000 ? 5 : 50) * (draw.next().value as number);
      const said = times.estimate(job());
      if (i >= 3000 && Math.ceil(minutes * minuteMs) <= said!.p90Ms) within++;
      times.observe(job(), Math.ceil(minutes * minuteMs), said);
    }
    expect(within / 1000).toBeGreaterThan(0.87);
  });
});

test('memory is bounded: who was not seen for longest is forgotten', () => {
  const times = new RunTimes();
  times.observe(job({ user: 'once' }), minuteMs, null);
  for (let i = 0; i < kinsMax / 5; i++) {
    times.observe(job({ user: `user-${i}` }), 2 * minuteMs, null);
    times.observe(job({ user: 'often' }), 2 * minuteMs, null);
  }
  expect(times.estimate(job({ user: 'once' }))!.kin).toBe('same project and size');
  expect(times.estimate(job({ user: 'often' }))).toMatchObject({ runs: 10 });
});
