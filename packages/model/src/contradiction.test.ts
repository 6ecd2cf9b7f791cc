import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contradiction } from './contradiction.ts';
import type { Constraint } from './demand.ts';

const rule = (op: Constraint['op'], ...values: string[]): Constraint => ({ label: 'zone', op, values });

test.each([
  [
    [rule('in', 'a'), rule('in', 'b')],
    [0, 1],
  ],
  [[rule('in', 'a', 'b'), rule('in', 'b', 'c')], null],
  [
    [rule('in', 'a'), rule('not-in', 'a', 'b')],
    [0, 1],
  ],
  [[rule('in', 'a', 'b'), rule('not-in', 'a')], null],
  [
    [rule('exists'), rule('absent')],
    [0, 1],
  ],
  [
    [rule('in', 'a'), rule('absent')],
    [0, 1],
  ],
  [[rule('not-in', 'a'), rule('absent')], null],
  [[rule('not-in', 'a'), rule('not-in', 'b')], null],
  [[rule('exists'), rule('not-in', 'a')], null],
  // Three that only together leave nothing.
  [
    [rule('in', 'a', 'b'), rule('not-in', 'a'), rule('not-in', 'b')],
    [0, 1, 2],
  ],
  [[rule('in', 'a'), { label: 'cluster', op: 'in', values: ['b'] }], null],
] as const)('%j: %j', (rules, expected) => expect(contradiction(rules)).toEqual(expected));

test('rules contradict each other exactly when no value, and no absence, meets all of them', () => {
  const values = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 });
  const rules = fc.array(
    fc.record({
      label: fc.constantFrom('zone', 'rack'),
      op: fc.constantFrom<Constraint['op']>('in', 'not-in', 'exists', 'absent'),
      values,
    }),
    { maxLength: 5 },
  );
  const meets = (value: string | null, { op, values }: Constraint): boolean =>
    ({
      in: value !== null && values.includes(value),
      'not-in': value === null || !values.includes(value),
      exists: value !== null,
      absent: value === null,
    })[op];
  fc.assert(
    fc.property(rules, (given) => {
      // "d" stands for every value that no rule names.
      const feasible = ['zone', 'rack'].every((label) =>
        [null, 'a', 'b', 'c', 'd'].some((value) =>
          given.filter((one) => one.label === label).every((one) => meets(value, one)),
        ),
      );
      const found = contradiction(given);
      expect(found === null).toBe(feasible);
      if (found !== null) expect(new Set(found.map((i) => given[i]?.label)).size).toBe(1);
    }),
    { numRuns: 500 },
  );
});
