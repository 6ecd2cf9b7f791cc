// What the policy says of tiers: whose runs a job may take by its own, and which of those that it takes it would keep.
import { type Tier, tierNamed } from '@muster/model';
import type { State } from './state.ts';

/** What the policy says of the tier of each entry, looked up once. */
export class TierBook {
  readonly #state: State;
  readonly #byEntry: (Tier | null | undefined)[] = [];

  constructor(state: State) {
    this.#state = state;
  }

  /** The tier of the job's entry; null when the policy has it no more. */
  of(job: number): Tier | null {
    const { jobs, queue, policy } = this.#state;
    const id = jobs.entry[job]!;
    let tier = this.#byEntry[id];
    if (tier === undefined) {
      tier = tierNamed(policy, queue.entries[id]!.facts.tier);
      this.#byEntry[id] = tier;
    }
    return tier;
  }
}

/** A tier that the policy has no more ranks below all. */
export function byTier(tier: Tier, other: Tier | null): boolean {
  if (other === null) return tier.preempts.length > 0;
  return other.rank < tier.rank && tier.preempts.includes(other.name);
}

/**
 * Whether a job would keep what it takes back: its run is safe within its project's guarantee, or the other's tier may not take it
 * again. Two jobs would stop each other for ever otherwise, one by its project's guarantee and one by its tier.
 */
export function keepsFrom(tier: Tier | null, theirs: Tier | null): boolean {
  return tier?.guaranteed === true || theirs === null || !byTier(theirs, tier);
}
