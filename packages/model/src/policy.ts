// Policy is versioned data with safe defaults. The engine gets it as an event and reads nothing else. What people write
// is in policy-schema.ts; this is what it becomes. How the policies compose: docs/decisions/0007-one-order-of-policies.md.
import { defaultPlacing, type PlacingPolicy } from './placing-policy.ts';
import type { Amounts } from './quota.ts';

export interface Tier {
  readonly name: string;
  /** Higher is served first. */
  readonly rank: number;
  /** How long a run of this tier may live without a renewal; null is never. A job may say otherwise. */
  readonly stopAfterMs: number | null;
  /** Tiers whose runs a job of this tier may end to start; each ranks lower, so that there is no circle. */
  readonly preempts: readonly string[];
  /** Whether a run within its project's guarantee is safe from other projects. */
  readonly guaranteed: boolean;
  /** Price of this tier in thousandths of the plain price. */
  readonly priceMilli: number;
  /** How long a job without a time limit is taken to run. */
  readonly durationMs: number;
  /** A run is not preempted before it has run this long. */
  readonly minRunMs: number;
  /** How often a job may be preempted in one window (`Policy.preemption.windowMs`). */
  readonly preemptionsMax: number;
  /** A job that has waited this long goes before everything else; null is never. */
  readonly starvesAfterMs: number | null;
}

export interface Quota {
  readonly project: string;
  /** What the project can always have, by resource key. */
  readonly guaranteed: Amounts;
  /** What it never exceeds. */
  readonly ceiling: Amounts;
  /** What one user never exceeds inside the project. */
  readonly userCeiling: Amounts;
  /** Its share against its siblings, in thousandths. */
  readonly weightMilli: number;
  /** Whether a job may preempt a lower priority of the same project and tier. */
  readonly preemptWithin: 'never' | 'lower-priority';
}

export type BackfillMode = 'strict' | 'skip' | 'easy' | 'conservative';

/** What is done with run times that were learned from jobs that have ended (docs/decisions/0012-learned-run-times.md). */
export interface RunTimesPolicy {
  /** asked: nothing. learned: the short go before the long, and pass a planned start by their P90. */
  readonly use: 'asked' | 'learned';
  /** Between projects of a tier: the lower share first, or whoever would be first inside one project. */
  readonly first: 'shares' | 'expected';
  /** longer: for a job with no place, runs of its tier may be moved elsewhere, or stopped that are expected to be twice as long. */
  readonly stop: 'nobody' | 'longer';
}

export interface Policy extends PlacingPolicy {
  readonly tiers: readonly Tier[];
  readonly defaultTier: string;
  /** One a project, by path; a project without one has no guarantee, no ceiling and weight 1. */
  readonly quotas: readonly Quota[];
  /** Past use counts half after this long. */
  readonly share: { readonly halfLifeMs: number };
  /** One point of priority is worth this much waiting. */
  readonly ageing: { readonly pointMs: number };
  /** A job is urgent this long before its latest start. */
  readonly deadline: { readonly marginMs: number };
  readonly backfill: { readonly mode: BackfillMode; readonly depth: number };
  readonly runTimes: RunTimesPolicy;
  readonly preemption: {
    /** A run that ends within this time is waited for, not preempted. */
    readonly nearEndMs: number;
    /** A job whose last attempt failed less than this ago may not preempt. */
    readonly coolingMs: number;
    /** The window in which `preemptionsMax` counts. */
    readonly windowMs: number;
  };
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * Who may end whose runs: critical and guaranteed work ends anything below it, because that is what those tiers are paid
 * for; standard work ends only spot, so that ordinary jobs do not fight each other; spot ends nothing, because it is what
 * the others left over. The protection of guarantees stands above all of it.
 *
 * Starving is the last net, not a way of scheduling: a starved job goes before the critical tier. So it comes after days,
 * when share and priority have had every chance.
 */
export const defaultTiers: readonly Tier[] = [
  {
    name: 'critical',
    rank: 400,
    stopAfterMs: 25 * second,
    preempts: ['guaranteed', 'standard', 'spot'],
    guaranteed: true,
    priceMilli: 2000,
    durationMs: day,
    minRunMs: 10 * minute,
    preemptionsMax: 2,
    starvesAfterMs: 7 * day,
  },
  {
    name: 'guaranteed',
    rank: 300,
    stopAfterMs: 5 * minute,
    preempts: ['standard', 'spot'],
    guaranteed: true,
    priceMilli: 1500,
    durationMs: day,
    minRunMs: 10 * minute,
    preemptionsMax: 3,
    starvesAfterMs: 7 * day,
  },
  {
    name: 'standard',
    rank: 200,
    stopAfterMs: 5 * minute,
    preempts: ['spot'],
    guaranteed: true,
    priceMilli: 1000,
    durationMs: day,
    minRunMs: 10 * minute,
    preemptionsMax: 5,
    starvesAfterMs: 7 * day,
  },
  {
    name: 'spot',
    rank: 100,
    stopAfterMs: 5 * minute,
    preempts: [],
    guaranteed: false,
    priceMilli: 400,
    durationMs: 4 * hour,
    minRunMs: 2 * minute,
    preemptionsMax: 20,
    starvesAfterMs: 14 * day,
  },
];

export const defaultPolicy: Policy = {
  tiers: defaultTiers,
  defaultTier: 'standard',
  quotas: [],
  share: { halfLifeMs: 7 * day },
  ageing: { pointMs: 10 * minute },
  deadline: { marginMs: 15 * minute },
  backfill: { mode: 'easy', depth: 16 },
  runTimes: { use: 'asked', first: 'shares', stop: 'nobody' },
  preemption: { nearEndMs: 2 * minute, coolingMs: 5 * minute, windowMs: day },
  ...defaultPlacing,
};

export function tierNamed(policy: Policy, name: string): Tier | null {
  return policy.tiers.find((tier) => tier.name === name) ?? null;
}

/** What no quota says: nothing guaranteed, nothing limited, one share. */
export function plainQuota(project: string): Quota {
  return {
    project,
    guaranteed: {},
    ceiling: {},
    userCeiling: {},
    weightMilli: 1000,
    preemptWithin: 'never',
  };
}
