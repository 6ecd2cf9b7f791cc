import { describe, expect, test } from 'vitest';
import { Hasher, SetHasher } from './hash.ts';

describe('the hash', () => {
  test('is the same text for the same values on every machine', () => {
    expect(new Hasher().text('muster').number(42).optional(null).digest()).toBe('f02351614c234321');
  });

  test('tells neighbours apart', () => {
    expect(new Hasher().text('ab').text('c').digest()).not.toBe(new Hasher().text('a').text('bc').digest());
    expect(new Hasher().number(2 ** 32).digest()).not.toBe(new Hasher().number(0).digest());
    expect(new Hasher().number(-1).digest()).not.toBe(new Hasher().number(1).digest());
  });

  test('has few collisions over neighbouring values', () => {
    const seen = new Set<string>();
    for (let a = 0; a < 200; a++)
      for (let b = 0; b < 200; b++) seen.add(new Hasher().number(a).number(b).digest());
    expect(seen.size).toBe(40_000);
  });

  test('of a set does not depend on the order, but on every item', () => {
    const of = (...items: string[]): string => {
      const set = new SetHasher();
      for (const item of items) set.add(new Hasher().text(item));
      const hasher = new Hasher();
      set.into(hasher);
      return hasher.digest();
    };
    expect(of('a', 'b', 'c')).toBe(of('c', 'a', 'b'));
    expect(of('a', 'b', 'c')).not.toBe(of('a', 'b', 'd'));
    expect(of('a', 'a')).not.toBe(of());
  });
});
