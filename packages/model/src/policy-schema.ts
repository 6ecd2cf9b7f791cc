// The policy as people write it, and the way from it to the policy the engine reads, or to the list of everything wrong
// with it. The schema is the single description of every field; the JSON Schema for editors is made from it.
import * as z from 'zod';
import { isName, isProjectPath, namePatterns, nameRule, nearest, projectRule } from './names.ts';
import { type FieldProblem, fieldProblems, pointer } from './parse-spec.ts';
import { completePlacing, placingDocument, placingFields, placingProblems } from './placing-policy.ts';
import { defaultPolicy, type Policy, plainQuota, type Quota, type Tier } from './policy.ts';
import { type Amounts, isResourceKey, keyRule, parseAmount, resolveAmount, writtenAmount } from './quota.ts';
import { durationField, grammarField } from './spec.ts';
import { formatDurationMs, parseDurationMs } from './units.ts';
import { halfLifeMsMax, halfLifeMsMin } from './usage.ts';

const day = 86_400_000;
const year = 365 * day;
const name = z.string().refine(isName, `must be ${nameRule}`).meta({ pattern: namePatterns.name });

const orNever = (min: number, max: number, description: string, range: string) =>
  grammarField<number | 'never'>(
    (text) => {
      if (text === 'never') return { ok: true, value: 'never' as const };
      const parsed = parseDurationMs(text);
      return parsed.ok && (parsed.value < min || parsed.value > max)
        ? { ok: false, message: `"${text}" is out of range; allowed is ${range}, or never` }
        : parsed;
    },
    `${description}; ${range}, or never`,
    { pattern: '^(never|([0-9]+(\\.[0-9]+)?(ms|s|m|h|d))+)$', examples: ['5m', 'never'] },
  );

const price = z
  .number()
  .min(0)
  .max(1_000_000)
  .refine((n) => Math.round(n * 1000) / 1000 === n, { message: 'must be in thousandths' });

const tier = z.strictObject({
  name,
  rank: z.int().min(-1_000_000).max(1_000_000).meta({ description: 'higher is served first' }),
  stopAfter: orNever(10_000, 7 * day, 'how long a run may live without a renewal', '10s to 7d').prefault(
    '5m',
  ),
  preempts: z
    .array(name)
    .max(64)
    .default([])
    .meta({ description: 'tiers whose runs it may end to start; each must rank lower' }),
  guaranteed: z
    .boolean()
    .default(true)
    .meta({ description: "whether a run within its project's guarantee is safe from other projects" }),
  price: price.default(1).meta({ description: 'factor on the price of what is used' }),
  duration: durationField(1000, year, 'assumed length of a job without a time limit', '1s to 365d').prefault(
    '1d',
  ),
  minRun: durationField(0, 7 * day, 'a run is not preempted before it ran this long', '0s to 7d').prefault(
    '10m',
  ),
  preemptionsMax: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(5)
    .meta({ description: 'how often a job may be preempted in one window' }),
  starvesAfter: orNever(
    1000,
    year,
    'a job that waited this long goes before everything else',
    '1s to 365d',
  ).prefault('7d'),
});

const amounts = z
  .record(z.string(), z.union([z.number(), z.string().max(40)]))
  .superRefine((record, context) => {
    for (const [key, written] of Object.entries(record)) {
      if (!isResourceKey(key)) {
        context.addIssue({ code: 'custom', path: [key], message: `must be ${keyRule}` });
        continue;
      }
      const parsed = parseAmount(key, written);
      if (!parsed.ok) context.addIssue({ code: 'custom', path: [key], message: parsed.message });
    }
  })
  .transform((record): Amounts => {
    const entries = Object.entries(record).flatMap(([key, written]) => {
      const parsed = parseAmount(key, written);
      return parsed.ok ? [[key, parsed.value] as const] : [];
    });
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  });

const someAmounts = (description: string) =>
  amounts
    .optional()
    .meta({ description, examples: [{ 'gpu/H100': 64, cpu: 512, memory: '2TiB' }, { gpu: '25%' }] });

const quota = z.strictObject({
  project: z.string().refine(isProjectPath, `must be ${projectRule}`).meta({ pattern: namePatterns.project }),
  guaranteed: someAmounts('what the project can always have, by resource'),
  ceiling: someAmounts('what it never exceeds'),
  userCeiling: someAmounts('what one user never exceeds inside it'),
  weight: z
    .number()
    .min(0.001)
    .max(1_000_000)
    .refine((n) => Math.round(n * 1000) / 1000 === n, { message: 'must be in thousandths' })
    .default(1)
    .meta({ description: 'its share against its siblings' }),
  preemptWithin: z
    .enum(['never', 'lower-priority'])
    .default('never')
    .meta({ description: 'whether its jobs may preempt lower priorities of the same project and tier' }),
});

export const policySchema = z.strictObject({
  ...placingFields,
  tiers: z.array(tier).min(1).max(64).optional().meta({ description: 'service classes' }),
  defaultTier: name.optional().meta({ description: 'the tier of a job that names none' }),
  quotas: z
    .array(quota)
    .max(10_000)
    .default([])
    .meta({ description: 'guarantees, ceilings and weights, one a project' }),
  share: z
    .strictObject({
      halfLife: durationField(
        halfLifeMsMin,
        halfLifeMsMax,
        'past use counts half after this long',
        '256s to 90d',
      ).prefault(formatDurationMs(defaultPolicy.share.halfLifeMs)),
    })
    .prefault({}),
  ageing: z
    .strictObject({
      point: durationField(
        1000,
        30 * day,
        'one point of priority is worth this much waiting',
        '1s to 30d',
      ).prefault(formatDurationMs(defaultPolicy.ageing.pointMs)),
    })
    .prefault({}),
  deadline: z
    .strictObject({
      margin: durationField(
        0,
        7 * day,
        'a job is urgent this long before its latest start',
        '0s to 7d',
      ).prefault(formatDurationMs(defaultPolicy.deadline.marginMs)),
    })
    .prefault({}),
  backfill: z
    .strictObject({
      mode: z
        .enum(['strict', 'skip', 'easy', 'conservative'])
        .default(defaultPolicy.backfill.mode)
        .meta({ description: 'what may pass a job that waits for room' }),
      depth: z
        .int()
        .min(1)
        .max(1000)
        .default(defaultPolicy.backfill.depth)
        .meta({ description: 'how many waiting jobs have planned starts in conservative mode' }),
    })
    .prefault({}),
  runTimes: z
    .strictObject({
      use: z.enum(['asked', 'learned']).default(defaultPolicy.runTimes.use).meta({
        description:
          'asked: only time limits count; learned: jobs expected to be short go before long ones, and pass a planned start by what nine in ten stay within',
      }),
      first: z.enum(['shares', 'expected']).default(defaultPolicy.runTimes.first).meta({
        description:
          'between projects of one tier: the lower share first, or the job that is expected to be shorter (with use: learned)',
      }),
      stop: z.enum(['nobody', 'longer']).default(defaultPolicy.runTimes.stop).meta({
        description:
          'longer: for a job with no place, runs of its tier that have saved their work may be moved where each has a place, or stopped when they are expected to be at least twice as long (with use: learned)',
      }),
    })
    .prefault({}),
  preemption: z
    .strictObject({
      nearEnd: durationField(0, day, 'a run that ends within this time is waited for', '0s to 1d').prefault(
        formatDurationMs(defaultPolicy.preemption.nearEndMs),
      ),
      cooling: durationField(
        0,
        day,
        'a job that failed less than this ago may not preempt',
        '0s to 1d',
      ).prefault(formatDurationMs(defaultPolicy.preemption.coolingMs)),
      window: durationField(1000, 30 * day, 'the time in which preemptionsMax counts', '1s to 30d').prefault(
        formatDurationMs(defaultPolicy.preemption.windowMs),
      ),
    })
    .prefault({}),
});

/** The policy as written. */
export type PolicyInput = z.input<typeof policySchema>;
type RawPolicy = z.output<typeof policySchema>;

export type ParsedPolicy =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/** From an untrusted value to a whole policy, or to everything wrong with it. */
export function parsePolicy(input: unknown): ParsedPolicy {
  const parsed = policySchema.safeParse(input);
  if (!parsed.success) return { ok: false, problems: fieldProblems(parsed.error, input, policySchema) };
  const policy = completePolicy(parsed.data);
  const problems = policyProblems(policy);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, policy };
}

function completePolicy(raw: RawPolicy): Policy {
  const tiers = raw.tiers?.map(completeTier) ?? defaultPolicy.tiers;
  return {
    ...completePlacing(raw),
    tiers,
    defaultTier: raw.defaultTier ?? (raw.tiers ? (tiers[0]?.name ?? '') : defaultPolicy.defaultTier),
    quotas: raw.quotas.map(completeQuota),
    share: { halfLifeMs: raw.share.halfLife },
    ageing: { pointMs: raw.ageing.point },
    deadline: { marginMs: raw.deadline.margin },
    backfill: raw.backfill,
    runTimes: raw.runTimes,
    preemption: {
      nearEndMs: raw.preemption.nearEnd,
      coolingMs: raw.preemption.cooling,
      windowMs: raw.preemption.window,
    },
  };
}

function completeTier(raw: NonNullable<RawPolicy['tiers']>[number]): Tier {
  return {
    name: raw.name,
    rank: raw.rank,
    stopAfterMs: raw.stopAfter === 'never' ? null : raw.stopAfter,
    preempts: raw.preempts,
    guaranteed: raw.guaranteed,
    priceMilli: Math.round(raw.price * 1000),
    durationMs: raw.duration,
    minRunMs: raw.minRun,
    preemptionsMax: raw.preemptionsMax,
    starvesAfterMs: raw.starvesAfter === 'never' ? null : raw.starvesAfter,
  };
}

function completeQuota(raw: RawPolicy['quotas'][number]): Quota {
  const { project, guaranteed, ceiling, userCeiling, weight, preemptWithin } = raw;
  const plain = plainQuota(project);
  return {
    project,
    guaranteed: guaranteed ?? plain.guaranteed,
    ceiling: ceiling ?? plain.ceiling,
    userCeiling: userCeiling ?? plain.userCeiling,
    weightMilli: Math.round(weight * 1000),
    preemptWithin,
  };
}

/** What only shows when fields are seen together. */
function policyProblems(policy: Policy): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (path: readonly PropertyKey[], message: string, value: string | null = null): void => {
    problems.push({ code: 'invalid-field', path: pointer(path), message, value });
  };
  const names = policy.tiers.map((each) => each.name);
  const unknown = (wrong: string): string => {
    const near = nearest(wrong, names);
    return `there is no tier "${wrong}"${near ? `; did you mean "${near}"?` : ''}`;
  };
  for (const [i, each] of policy.tiers.entries()) {
    if (names.indexOf(each.name) !== i) add(['tiers', i, 'name'], `"${each.name}" names two tiers`);
    for (const [j, victim] of each.preempts.entries()) {
      const below = policy.tiers.find((other) => other.name === victim);
      if (!below) add(['tiers', i, 'preempts', j], unknown(victim), victim);
      else if (below.rank >= each.rank)
        add(
          ['tiers', i, 'preempts', j],
          `"${victim}" has rank ${below.rank}, which is not below ${each.rank} of "${each.name}"; two tiers would end each other's runs for ever`,
          victim,
        );
    }
  }
  if (!names.includes(policy.defaultTier))
    add(['defaultTier'], unknown(policy.defaultTier), policy.defaultTier);
  const { use, first, stop } = policy.runTimes;
  if (first === 'expected' && use !== 'learned')
    add(
      ['runTimes', 'first'],
      'needs "use: learned": from time limits nobody knows who will be short',
      first,
    );
  if (stop === 'longer' && use !== 'learned')
    add(['runTimes', 'stop'], 'needs "use: learned": from time limits nobody knows who needs longer', stop);
  placingProblems(policy, add);
  const seen = new Set<string>();
  for (const [i, each] of policy.quotas.entries()) {
    if (seen.has(each.project)) add(['quotas', i, 'project'], `"${each.project}" has two quotas`);
    seen.add(each.project);
    quotaProblems(each, (path, message) => add(['quotas', i, ...path], message));
  }
  return problems;
}

function quotaProblems(quota: Quota, add: (path: readonly PropertyKey[], message: string) => void): void {
  for (const [key, guaranteed] of Object.entries(quota.guaranteed)) {
    const ceiling = quota.ceiling[key];
    // A percentage and an amount can be compared only on a fleet; there the guarantee is cut to the ceiling.
    if (ceiling === undefined || typeof ceiling !== typeof guaranteed) continue;
    if (resolveAmount(guaranteed, 100_000) > resolveAmount(ceiling, 100_000))
      add(
        ['guaranteed', key],
        `${writtenAmount(key, guaranteed)} is above the ceiling of ${writtenAmount(key, ceiling)}`,
      );
  }
}

/** The policy as people write it, with every field said; reads back to the same policy. */
export function policyDocument(policy: Policy): PolicyInput {
  const duration = (ms: number | null): string => (ms === null ? 'never' : formatDurationMs(ms));
  return {
    ...placingDocument(policy),
    tiers: policy.tiers.map((each) => ({
      name: each.name,
      rank: each.rank,
      stopAfter: duration(each.stopAfterMs),
      preempts: [...each.preempts],
      guaranteed: each.guaranteed,
      price: each.priceMilli / 1000,
      duration: duration(each.durationMs),
      minRun: duration(each.minRunMs),
      preemptionsMax: each.preemptionsMax,
      starvesAfter: duration(each.starvesAfterMs),
    })),
    defaultTier: policy.defaultTier,
    quotas: policy.quotas.map((each) => ({
      project: each.project,
      guaranteed: written(each.guaranteed),
      ceiling: written(each.ceiling),
      userCeiling: written(each.userCeiling),
      weight: each.weightMilli / 1000,
      preemptWithin: each.preemptWithin,
    })),
    share: { halfLife: duration(policy.share.halfLifeMs) },
    ageing: { point: duration(policy.ageing.pointMs) },
    deadline: { margin: duration(policy.deadline.marginMs) },
    backfill: { ...policy.backfill },
    runTimes: { ...policy.runTimes },
    preemption: {
      nearEnd: duration(policy.preemption.nearEndMs),
      cooling: duration(policy.preemption.coolingMs),
      window: duration(policy.preemption.windowMs),
    },
  };
}

function written(some: Amounts): Record<string, string | number> {
  return Object.fromEntries(Object.entries(some).map(([key, amount]) => [key, writtenAmount(key, amount)]));
}
