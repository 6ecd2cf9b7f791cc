// What the engine makes of run times that were learned (docs/decisions/0012-learned-run-times.md): who goes first, and who may pass a
// planned start. Planned starts themselves rest on durations (expected-end.ts), because an estimate promises nothing.
import type { EntryFacts, Policy, RunEstimate } from '@muster/model';
import { durationOf } from './expected-end.ts';

/** A job may be slowed down so many times before it goes before everybody who comes later. */
const patience = 10;
/** Who comes so much later passes nobody. */
const behindMaxMs = 48 * 3_600_000;

/** A stop must be worth its cost: whoever is stopped is expected to need so many times as long. */
const timesLonger = 2;

/** What a job stands back by more than others of its entry, because its runs have done more than was expected of all of it. */
export function laterMsOf(policy: Policy, { estimate }: EntryFacts, savedMs: number): number {
  if (policy.runTimes.use === 'asked' || !estimate) return 0;
  return behindMs(policy, lengthMs(estimate, savedMs)) - behindMs(policy, estimate.expectedMs);
}

/** A job that has done all that was expected of it is expected to need as much again, again and again. */
export function lengthMs({ expectedMs }: RunEstimate, doneMs: number): number {
  let ms = Math.max(1, expectedMs);
  while (ms <= doneMs) ms *= 2;
  return ms;
}

/** How long a run is expected to be at least to be stopped for such a job; infinite where there is none. */
export function stopsFromMs({ runTimes }: Policy, { estimate }: EntryFacts, savedMs: number): number {
  if (runTimes.use === 'asked' || runTimes.stop === 'nobody' || !estimate) return Number.POSITIVE_INFINITY;
  return timesLonger * lengthMs(estimate, savedMs);
}

/** How much a run has done when it is first expected to be so long. */
export function reachesMs(estimate: RunEstimate, fromMs: number): number {
  let ms = Math.max(1, estimate.expectedMs);
  let doneMs = 0;
  while (ms < fromMs) {
    doneMs = ms;
    ms *= 2;
  }
  return doneMs;
}

/**
 * What a job stands back by in its line: a number that stays while it waits, so that nobody has to be sorted again. Of whom
 * nothing was said stands where it came: before anybody has ended that is everybody.
 */
export function behindMsOf(policy: Policy, { estimate }: EntryFacts): number {
  if (policy.runTimes.use === 'asked' || !estimate) return 0;
  return behindMs(policy, estimate.expectedMs);
}

function behindMs({ runTimes }: Policy, expectedMs: number): number {
  return Math.min(runTimes.stop === 'longer' ? Number.MAX_SAFE_INTEGER : behindMaxMs, patience * expectedMs);
}

/** The time by which it is judged when it would pass a planned start: nine in ten stay within. */
export function passMsOf(policy: Policy, facts: EntryFacts): number {
  const { ms, assumed } = durationOf(policy, facts);
  if (policy.runTimes.use === 'asked' || !facts.estimate) return ms;
  const p90Ms = Math.max(1, facts.estimate.p90Ms);
  return assumed ? p90Ms : Math.min(ms, p90Ms);
}
