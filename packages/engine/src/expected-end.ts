// When a run is expected to end, by what is known of it: its start and its duration. One that outlives its duration is
// expected to need a tenth of its age more, at least a minute, again and again. So the expected end stands still until it
// has passed, and a planned start that rests on it does not move with every tick of the clock.
import { type EntryFacts, type Policy, tierNamed } from '@muster/model';

const second = 1000;
const graceMs = 60 * second;
/** A job of a tier that the policy no longer has. */
const unknownTierMs = 24 * 3600 * second;

export interface Duration {
  readonly ms: number;
  /** It has no time limit: this is its tier's default. */
  readonly assumed: boolean;
}

/** A run is stopped at its time limit, whatever hardware it got; without one it is taken to run as its tier says. */
export function durationOf(policy: Policy, facts: Pick<EntryFacts, 'durationMs' | 'tier'>): Duration {
  const { durationMs, tier } = facts;
  if (durationMs !== null) return { ms: Math.max(1, durationMs), assumed: false };
  return { ms: Math.max(1, tierNamed(policy, tier)?.durationMs ?? unknownTierMs), assumed: true };
}

/** Always later than now. */
export function expectedEndMs(startMs: number, durationMs: number, nowMs: number): number {
  let lengthMs = durationMs;
  while (startMs + lengthMs <= nowMs) lengthMs += Math.max(graceMs, Math.floor(lengthMs / 10));
  return startMs + lengthMs;
}
