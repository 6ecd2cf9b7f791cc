import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

test('says the same as JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('does not depend on the order in which keys were written', () => {
  const shuffled = fc
    .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 8 })
    .chain((record) =>
      fc.tuple(
        fc.constant(record),
        fc.shuffledSubarray(Object.keys(record), { minLength: Object.keys(record).length }),
      ),
    );
  fc.assert(
    fc.property(shuffled, ([record, keys]) => {
      const other = Object.fromEntries(keys.map((key) => [key, record[key]]));
      expect(canonicalJson(other)).toBe(canonicalJson(record));
    }),
  );
});

test('tells different values apart', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const same = canonicalJson(a) === canonicalJson(b);
      expect(JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))).toBe(same);
    }),
  );
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  // Pairs, because an object would put keys that look like numbers first.
  return [
    'object',
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)]),
  ];
}

test('leaves out undefined members, sorts by code unit, writes no spaces', () => {
  expect(canonicalJson({ b: 1, a: [undefined, null, 'x'], é: 0, Z: undefined, B: -0 })).toBe(
    '{"B":0,"a":[null,null,"x"],"b":1,"é":0}',
  );
});
