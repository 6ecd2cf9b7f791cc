import { describe, expect, test } from 'vitest';
import { defaultPolicy } from './policy.ts';
import { parsePolicy, policyDocument } from './policy-schema.ts';

/** Paths and messages of everything wrong with it. */
function problems(input: unknown): Record<string, string> {
  const parsed = parsePolicy(input);
  if (parsed.ok) return {};
  return Object.fromEntries(parsed.problems.map(({ path, message }) => [path, message]));
}

describe('a policy as people write it', () => {
  test('is the default when nothing is said', () => {
    expect(parsePolicy({})).toEqual({ ok: true, policy: defaultPolicy });
  });

  test('reads back to itself, whatever it says', () => {
    const written = {
      tiers: [
        { name: 'gold', rank: 2, preempts: ['iron'], stopAfter: 'never', starvesAfter: 'never', price: 1.5 },
        { name: 'iron', rank: 1, guaranteed: false, duration: '90m', minRun: '0s', preemptionsMax: 0 },
      ],
      defaultTier: 'iron',
      quotas: [
        {
          project: 'research',
          guaranteed: { 'gpu/H100': 64, memory: '2TiB', cpu: '12.5%' },
          ceiling: { gpu: '50%' },
        },
        {
          project: 'research/vision',
          weight: 2.5,
          userCeiling: { gpu: 0.5 },
          preemptWithin: 'lower-priority',
        },
      ],
      share: { halfLife: '1d' },
      ageing: { point: '1h' },
      deadline: { margin: '0s' },
      backfill: { mode: 'conservative', depth: 4 },
      preemption: { nearEnd: '1m', cooling: '2m', window: '1h' },
    };
    const parsed = parsePolicy(written);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    expect(parsed.policy.quotas[0]).toEqual({
      project: 'research',
      guaranteed: { cpu: { percentMilli: 12_500 }, 'gpu/H100': 64_000, memory: 2 * 1024 * 1024 },
      ceiling: { gpu: { percentMilli: 50_000 } },
      userCeiling: {},
      weightMilli: 1000,
      preemptWithin: 'never',
    });
    expect(parsed.policy.quotas[1]).toMatchObject({ weightMilli: 2500, userCeiling: { gpu: 500 } });
    expect(parsePolicy(policyDocument(parsed.policy))).toEqual(parsed);
    expect(parsePolicy(policyDocument(defaultPolicy))).toEqual({ ok: true, policy: defaultPolicy });
  });

  test('is refused with every unknown field and the nearest known one', () => {
    expect(
      problems({ quota: [], tiers: [{ name: 'a', rank: 1, preemts: [] }], share: { halflife: '1d' } }),
    ).toEqual({
      '/quota': 'unknown field "quota"; did you mean "quotas"?',
      '/tiers/0/preemts': 'unknown field "preemts"; did you mean "preempts"?',
      '/share/halflife': 'unknown field "halflife"; did you mean "halfLife"?',
    });
  });

  test('is refused with every amount that is none', () => {
    const amounts = {
      gpu: 'many',
      memory: 64,
      'gpu/H100/x': 1,
      cpu: '101%',
      'memory/x': '1GiB',
      tpu: 0.0001,
    };
    expect(problems({ quotas: [{ project: 'p', ceiling: amounts }] })).toEqual({
      '/quotas/0/ceiling/gpu': '"many" is not an amount of gpu; write a number or a percentage such as 25%',
      '/quotas/0/ceiling/memory': 'must be a size such as "2TiB" or a percentage, not 64',
      '/quotas/0/ceiling/gpu~1H100~1x': expect.stringContaining('must be cpu, memory'),
      '/quotas/0/ceiling/cpu': '"101%" is more than all there is',
      '/quotas/0/ceiling/memory~1x': expect.stringContaining('must be cpu, memory'),
      '/quotas/0/ceiling/tpu': 'must be a number from 0, in thousandths',
    });
  });

  test('is refused when tiers would end each other in a circle, or are not there', () => {
    const tiers = [
      { name: 'gold', rank: 1, preempts: ['iron', 'irn'] },
      { name: 'iron', rank: 1, preempts: ['gold'] },
      { name: 'iron', rank: 2 },
    ];
    expect(problems({ tiers, defaultTier: 'golt' })).toEqual({
      '/tiers/0/preempts/0': expect.stringContaining('"iron" has rank 1, which is not below 1 of "gold"'),
      '/tiers/0/preempts/1': 'there is no tier "irn"; did you mean "iron"?',
      '/tiers/1/preempts/0': expect.stringContaining('which is not below'),
      '/tiers/2/name': '"iron" names two tiers',
      '/defaultTier': 'there is no tier "golt"; did you mean "gold"?',
    });
  });

  test('uses learned run times only when it says so, and orders projects by them only then', () => {
    expect(problems({ runTimes: { use: 'learned', first: 'expected' } })).toEqual({});
    expect(problems({ runTimes: { first: 'expected' } })).toEqual({
      '/runTimes/first': 'needs "use: learned": from time limits nobody knows who will be short',
    });
    expect(problems({ runTimes: { use: 'guessed' } })).toHaveProperty('/runTimes/use');
  });

  test('has countable resources at any level, the node included, and at no other', () => {
    const of = (level: string) => ({ name: level, level, capacity: { default: 1 } });
    const topology = { levels: ['zone', 'rack'], resources: [of('rack'), of('node')] };
    expect(problems({ topology })).toEqual({});
    expect(problems({ topology: { ...topology, resources: [of('rak')] } })).toEqual({
      '/topology/resources/0/level': '"rak" is no level; levels are zone, rack, node',
    });
  });

  test('is refused when a guarantee is above its ceiling, or a project is named twice', () => {
    const quotas = [
      { project: 'a', guaranteed: { gpu: 9, cpu: '60%' }, ceiling: { gpu: 8, cpu: '50%' } },
      { project: 'a', guaranteed: { gpu: 8 }, ceiling: { gpu: 8 } },
    ];
    expect(problems({ quotas })).toEqual({
      '/quotas/0/guaranteed/gpu': '9 is above the ceiling of 8',
      '/quotas/0/guaranteed/cpu': '60% is above the ceiling of 50%',
      '/quotas/1/project': '"a" has two quotas',
    });
  });
});
