import { expect, test } from 'vitest';
import { differences } from './differences.ts';

test('what is another is told with its place; named things are compared by name', () => {
  const before = {
    share: { halfLife: '7d' },
    quotas: [
      { project: 'a', weight: 1 },
      { project: 'b', weight: 1 },
    ],
    defaultTier: 'standard',
  };
  const after = { share: { halfLife: '1d' }, quotas: [{ project: 'c' }, { project: 'b', weight: 2 }] };
  expect(differences(before, after)).toEqual([
    '~ share.halfLife 7d -> 1d',
    '- quotas[a]',
    '+ quotas[c] {"project":"c"}',
    '~ quotas[b].weight 1 -> 2',
    '- defaultTier standard',
  ]);
  expect(differences(before, before)).toEqual([]);
});
