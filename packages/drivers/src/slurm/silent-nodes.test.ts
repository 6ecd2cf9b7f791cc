import { expect, test } from 'vitest';
import type { SlurmNode } from './listing.ts';
import { SilentNodes } from './silent-nodes.ts';

const node = (answers: boolean): SlurmNode => ({ name: 'n1', answers }) as SlurmNode;

test('a node is silent while it does not answer, and a moment longer', () => {
  const silent = new SilentNodes();
  const seen = (answers: boolean, nowMs: number): string[] => {
    silent.see([node(answers)], nowMs);
    return [...silent.names()];
  };
  expect(seen(true, 0)).toEqual([]);
  expect(seen(false, 1000)).toEqual(['n1']);
  expect(seen(false, 600_000)).toEqual(['n1']);
  expect(seen(true, 601_000)).toEqual(['n1']);
  expect(seen(true, 616_000)).toEqual([]);
});
