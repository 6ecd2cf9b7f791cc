// Policy is versioned data with safe defaults. The engine gets it as an event and reads nothing else.

export interface Tier {
  readonly name: string;
  /** Higher is served first. */
  readonly rank: number;
  /** How long a run of this tier may live without a renewal; null is never. A job may say otherwise. */
  readonly stopAfterMs: number | null;
}

export interface Policy {
  readonly tiers: readonly Tier[];
  readonly defaultTier: string;
}

const fiveMinutesMs = 300_000;

export const defaultPolicy: Policy = {
  tiers: [
    { name: 'critical', rank: 400, stopAfterMs: 25_000 },
    { name: 'guaranteed', rank: 300, stopAfterMs: fiveMinutesMs },
    { name: 'standard', rank: 200, stopAfterMs: fiveMinutesMs },
    { name: 'spot', rank: 100, stopAfterMs: fiveMinutesMs },
  ],
  defaultTier: 'standard',
};

export function tierNamed(policy: Policy, name: string): Tier | null {
  return policy.tiers.find((tier) => tier.name === name) ?? null;
}
