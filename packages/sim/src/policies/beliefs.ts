// What a policy believes of run times. It is asked once, when a job comes to be considered or started, and told of every end;
// it never sees the future unless it is the oracle.
import type { Trace } from '../traces/trace.ts';

/** Where what is believed of run times comes from. */
export const durations = ['asked', 'exact', 'learned'] as const;
export type Durations = (typeof durations)[number];

export interface Beliefs {
  readonly name: string;
  /** How long the job will run once started, as believed when it comes. */
  readonly runMs: (job: number) => number;
  /** It has run for so long and has not ended, against what was believed: how long it will run in all. */
  readonly outlived: (job: number, ranMs: number) => number;
  readonly ended: (job: number) => void;
}

export type BeliefsMaker = (trace: Trace) => Beliefs;

/** For a job whose user said nothing: what Muster's default tier assumes. */
export const assumedMs = 24 * 3_600_000;

/** It should be over, so it is expected to end at any moment. */
const endsNow = (_job: number, ranMs: number): number => ranMs;

export const asked: BeliefsMaker = (trace) => ({
  name: 'asked',
  runMs: (job) => askedMs(trace, job),
  outlived: endsNow,
  ended: () => {},
});

export const exact: BeliefsMaker = (trace) => ({
  name: 'exact',
  runMs: (job) => trace.runMs[job]!,
  outlived: endsNow,
  ended: () => {},
});

export function askedMs(trace: Trace, job: number): number {
  return trace.askedMs[job]! > 0 ? trace.askedMs[job]! : assumedMs;
}

/**
 * Tsafrir, Etsion and Feitelson (EASY++): the mean of the user's last two run times, at most what was asked; before there are two, what
 * was asked. A belief that was outlived grows by their ladder of steps, at most to what was asked.
 */
export const lastTwo: BeliefsMaker = (trace) => {
  const newest = new Float64Array(trace.names.users.length);
  const older = new Float64Array(trace.names.users.length);
  const believed = (job: number): number => {
    const user = trace.user[job]!;
    const most = askedMs(trace, job);
    return older[user] === 0 ? most : Math.min(most, (newest[user]! + older[user]!) / 2);
  };
  const corrections = new Uint8Array(trace.count);
  const totalMs = new Float64Array(trace.count);
  return {
    name: 'last-two',
    runMs: (job) => {
      totalMs[job] = believed(job);
      return totalMs[job]!;
    },
    outlived: (job, ranMs) => {
      const most = askedMs(trace, job);
      while (totalMs[job]! <= ranMs && corrections[job]! < stepsMs.length)
        totalMs[job] = Math.min(most, totalMs[job]!) + stepsMs[corrections[job]!++]!;
      return Math.max(ranMs, Math.min(most, totalMs[job]!));
    },
    ended: (job) => {
      const user = trace.user[job]!;
      older[user] = newest[user]!;
      newest[user] = trace.runMs[job]!;
    },
  };
};

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const stepsMs = [1, 5, 15, 30]
  .map((minutes) => minutes * minuteMs)
  .concat([1, 2, 5, 10, 20, 50, 100].map((hours) => hours * hourMs));
