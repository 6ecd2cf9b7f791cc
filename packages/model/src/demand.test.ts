import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assertAmount, invariant } from './assert.ts';
import { entryKey, type JobDemand, share, taskCount } from './demand.ts';

const demand: JobDemand = {
  groups: [
    { name: 'a', tasks: 3, cpuMilli: null, memoryMib: null, accelerators: [], topology: null, near: null },
    {
      name: 'b',
      tasks: 2,
      cpuMilli: 1000,
      memoryMib: 10,
      accelerators: [
        {
          kind: 'gpu',
          model: null,
          milli: 1000,
          memoryMib: null,
          interconnect: null,
          generation: null,
          speedMilli: 1000,
        },
      ],
      topology: null,
      near: null,
    },
  ],
  constraints: [],
  preferences: [],
  topology: null,
  capabilities: [],
  exclusive: false,
};

test('shares of a node are whole, never more than the node, and add up to no more than it', () => {
  const amount = fc.integer({ min: 0, max: 2 ** 32 });
  const parts = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(amount, parts, (total, counts) => {
      const devices = counts.reduce((sum, n) => sum + n, 0);
      const given = counts.map((n) => share(total, n, devices));
      expect(given.every((n) => Number.isSafeInteger(n) && n >= 0)).toBe(true);
      expect(given.reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual(total);
      expect(share(total, devices, devices)).toBe(total);
      expect(share(total, devices + 1, devices)).toBe(total);
    }),
  );
  expect(share(10, 1, 0)).toBe(0);
});

test('the tasks of a gang are those of all its groups', () => {
  expect(taskCount(demand)).toBe(5);
});

const facts = {
  project: 'p',
  user: 'ada',
  tier: 'standard',
  priority: 0,
  durationMs: null,
  deadlineMs: null,
};

describe('the key of a queue entry', () => {
  test('is equal for equal jobs, however their demand was written down', () => {
    const shuffled = JSON.parse(
      JSON.stringify({
        exclusive: false,
        topology: null,
        preferences: [],
        capabilities: [],
        constraints: [],
        groups: demand.groups,
      }),
    );
    expect(entryKey(facts, shuffled)).toBe(entryKey(facts, demand));
  });

  test('differs with every fact and anything in the demand', () => {
    const keys = [
      entryKey(facts, demand),
      entryKey({ ...facts, project: 'p/q' }, demand),
      entryKey({ ...facts, user: 'bob' }, demand),
      entryKey({ ...facts, tier: 'spot' }, demand),
      entryKey({ ...facts, priority: 1 }, demand),
      entryKey({ ...facts, durationMs: 1 }, demand),
      entryKey({ ...facts, deadlineMs: 1 }, demand),
      entryKey(facts, { ...demand, exclusive: true }),
      entryKey(facts, { ...demand, groups: demand.groups.slice(0, 1) }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });
});

test('a broken invariant stops the process with its sentence', () => {
  expect(() => invariant(false, 'two and two')).toThrow('two and two');
  expect(assertAmount(5, 'x')).toBe(5);
  for (const bad of [-1, 0.5, 2 ** 53, Number.NaN])
    expect(() => assertAmount(bad, 'memory')).toThrow('memory must be');
});
