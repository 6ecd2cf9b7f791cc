import { expect, test } from 'vitest';
import { seeded } from './random.ts';

test('the same seed gives the same numbers, another seed others', () => {
  const draws = (seed: number) => {
    const random = seeded(seed);
    return Array.from({ length: 8 }, () => random.below(1000));
  };
  expect(draws(1)).toEqual(draws(1));
  expect(draws(1)).not.toEqual(draws(2));
  // Pinned: a recorded seed must make the same world in every release.
  expect(draws(7)).toMatchInlineSnapshot(`
    [
      73,
      681,
      433,
      571,
      762,
      517,
      969,
      149,
    ]
  `);
});

test('a split generator follows from seed and name, not from what was drawn before', () => {
  const drawn = seeded(3);
  drawn.below(10);
  expect(drawn.split('network').below(1e6)).toBe(seeded(3).split('network').below(1e6));
  expect(seeded(3).split('network').below(1e6)).not.toBe(seeded(3).split('nodes').below(1e6));
});

test('numbers stay below the bound and reach every value', () => {
  const random = seeded(11);
  const seen = new Set(Array.from({ length: 500 }, () => random.below(10)));
  expect([...seen].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});
