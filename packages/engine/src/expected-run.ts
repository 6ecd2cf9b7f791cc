// What the engine makes of run times that were learned (docs/decisions/0012-learned-run-times.md): who goes first, and who may pass a
// planned start. Planned starts themselves rest on durations (expected-end.ts), because an estimate promises nothing.
import type { EntryFacts, Policy } from '@muster/model';
import { durationOf } from './expected-end.ts';

/** A job may be slowed down so many times before it goes before everybody who comes later. */
const patience = 10;
/** Who comes so much later passes nobody. */
const behindMaxMs = 48 * 3_600_000;

/**
 * What a job stands back by in its line: a number that stays while it waits, so that nobody has to be sorted again. Of whom
 * nothing was said stands where it came: before anybody has ended that is everybody.
 */
export function behindMsOf({ runTimes }: Policy, { estimate }: EntryFacts): number {
  if (runTimes.use === 'asked' || !estimate) return 0;
  return Math.min(behindMaxMs, patience * estimate.expectedMs);
}

/** The time by which it is judged when it would pass a planned start: nine in ten stay within. */
export function passMsOf(policy: Policy, facts: EntryFacts): number {
  const { ms, assumed } = durationOf(policy, facts);
  if (policy.runTimes.use === 'asked' || !facts.estimate) return ms;
  const p90Ms = Math.max(1, facts.estimate.p90Ms);
  return assumed ? p90Ms : Math.min(ms, p90Ms);
}
