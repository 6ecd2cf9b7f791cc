// What the engine makes of run times that were learned (docs/decisions/0012-learned-run-times.md): who goes first, and who may pass a
// planned start. Planned starts themselves rest on durations (expected-end.ts), because an estimate promises nothing.
import type { EntryFacts, Policy } from '@muster/model';
import { durationOf } from './expected-end.ts';

/** A job may be slowed down so many times before it goes before everybody who comes later. */
const patience = 10;
/** Who comes so much later passes nobody, where nobody is stopped for being long. */
const behindMaxMs = 48 * 3_600_000;
/** A stop must be worth its cost: whoever is stopped is expected to be so many times as long. */
const timesLonger = 2;

/**
 * How long a job is expected to run. Of whom nothing was said nothing is expected; but where runs are stopped for being long, it is
 * taken to be as long as it may be, or a job that came before anybody had ended could never be stopped.
 */
export function expectedMsOf(policy: Policy, facts: EntryFacts): number | null {
  const { use, stop } = policy.runTimes;
  if (use === 'asked') return null;
  if (facts.estimate) return Math.max(1, facts.estimate.expectedMs);
  return stop === 'longer' ? durationOf(policy, facts).ms : null;
}

/** One that has done all that was expected of it is expected to be twice as long, again and again. */
export function lengthMs(expectedMs: number, doneMs: number): number {
  let ms = expectedMs;
  while (ms <= doneMs) ms *= 2;
  return ms;
}

/** How much a run has done when it is first expected to be so long. */
export function reachesMs(expectedMs: number, fromMs: number): number {
  let ms = expectedMs;
  let doneMs = 0;
  while (ms < fromMs) {
    doneMs = ms;
    ms *= 2;
  }
  return doneMs;
}

/** How long a run is expected to be at least to be stopped for such a job; infinite where none is. */
export function stopsFromMs(policy: Policy, facts: EntryFacts, savedMs: number): number {
  const expectedMs = policy.runTimes.stop === 'longer' ? expectedMsOf(policy, facts) : null;
  return expectedMs === null ? Number.POSITIVE_INFINITY : timesLonger * lengthMs(expectedMs, savedMs);
}

/**
 * What a job stands back by in its line: a number that stays while it waits, so that nobody has to be sorted again. Of whom
 * nothing is expected stands where it came: before anybody has ended that is everybody.
 */
export function behindMsOf(policy: Policy, facts: EntryFacts): number {
  return behindMs(policy, expectedMsOf(policy, facts) ?? 0);
}

/** Whether a job is taken to be as long as its time limit, so that with another one it stands elsewhere in its line. */
export function standsByLimit(policy: Policy, facts: EntryFacts): boolean {
  return expectedMsOf(policy, facts) !== null && !facts.estimate;
}

/**
 * The longest time limits with which a job of which nothing else is said stands back by no more than so much: one for each number
 * of times that its length has doubled, because its runs have saved more than that.
 */
export function limitsWithin(behindMs: number, savedMs: number): readonly number[] {
  const limits: number[] = [];
  // Of two that stand back alike one may be the first or the other.
  const lengthsMs = [behindMs / patience, (behindMs - 1) / patience, savedMs];
  for (let times = 1; times === 1 || savedMs >= times; times *= 2)
    for (const ms of lengthsMs) if (ms >= times) limits.push(Math.floor(ms / times));
  return limits;
}

/** What it stands back by more than others of its entry, because its runs have done more than was expected of all of it. */
export function laterMsOf(policy: Policy, facts: EntryFacts, savedMs: number): number {
  const expectedMs = expectedMsOf(policy, facts);
  if (expectedMs === null) return 0;
  return behindMs(policy, lengthMs(expectedMs, savedMs)) - behindMs(policy, expectedMs);
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
