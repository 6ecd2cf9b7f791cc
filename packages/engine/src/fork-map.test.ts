import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ForkMap } from './fork-map.ts';
import { cases, timeoutOf } from './testing/cases.ts';

const tried = cases(200);

type Change = { readonly on: number; readonly key: number; readonly do: 'set' | 'delete' | 'fork' };

const arbitraryChanges = fc.array(
  fc.record({
    on: fc.nat(3),
    key: fc.nat(40),
    do: fc.constantFrom<Change['do'][]>('set', 'set', 'set', 'delete', 'delete', 'fork'),
  }),
  { maxLength: 400, size: 'max' },
);

test('a map and its forks behave as plain maps and their copies', { timeout: timeoutOf(tried) }, () => {
  fc.assert(
    fc.property(arbitraryChanges, (changes) => {
      const maps = [new ForkMap<number, number>()];
      const plain = [new Map<number, number>()];
      for (const [i, { on, key, do: what }] of changes.entries()) {
        const at = on % maps.length;
        if (what === 'fork') {
          const to = maps.length < 4 ? maps.length : (at + 1) % 4;
          maps[to] = maps[at]!.fork();
          plain[to] = new Map(plain[at]);
        } else if (what === 'set') {
          maps[at]!.set(key, i);
          plain[at]!.set(key, i);
        } else {
          maps[at]!.delete(key);
          plain[at]!.delete(key);
        }
        expect(maps[at]!.get(key)).toBe(plain[at]!.get(key));
      }
      for (const [i, map] of maps.entries()) {
        expect(map.size).toBe(plain[i]!.size);
        expect(new Map(map)).toEqual(plain[i]);
        expect([...map.keys()].sort()).toEqual([...plain[i]!.keys()].sort());
        expect([...map.values()].length).toBe(map.size);
        for (let key = 0; key <= 40; key++) expect(map.has(key)).toBe(plain[i]!.has(key));
      }
    }),
    tried,
  );
});
