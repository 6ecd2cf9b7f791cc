import { expect, test } from 'vitest';
import { clusterConfigSchema } from './cluster.ts';
import { configRefusal, refusedFields } from './cluster-change.ts';

const slurm = clusterConfigSchema.parse({
  kind: 'slurm',
  directory: '/shared',
  ssh: { host: 'login', key: '/k' },
});
const west = clusterConfigSchema.parse({ kind: 'kubernetes', kubeconfig: '/k' });

test.each([
  [slurm, { directory: '/other' }, 'in-use'],
  [slurm, { conf: '/etc/other.conf' }, 'in-use'],
  [slurm, { ssh: { host: 'other', port: 22 } }, 'in-use'],
  [slurm, { ssh: { host: 'login', port: 22, key: '/new' } }, null],
  [slurm, { ssh: undefined }, 'in-use'],
  [slurm, { checkpoints: '/c' }, 'in-use'],
  [slurm, { pool: 'x' }, 'has-nodes'],
  [slurm, { region: 'x', capacity: 'spot', lostAfter: '1m', fencedCheckpoints: true }, null],
  [slurm, { partition: 'x', projects: { a: { account: 'b' } }, ports: { first: 2000, count: 5 } }, null],
  [west, { kubeconfig: '/other' }, 'in-use'],
  [west, { context: 'c' }, 'in-use'],
  [west, { namespace: 'n' }, 'in-use'],
  [west, { image: 'i', tolerations: [{ key: 'k' }], serverUrl: 'https://m' }, null],
] as const)('%j with %j while runs are on it: %s', (before, change, refusal) => {
  const after = { ...before, ...change } as typeof before;
  const held = { nodes: 1, runs: 1 };
  expect(configRefusal(before, after, held)).toBe(refusal);
  if (refusal) expect(refusedFields(before, after, refusal)).toEqual(Object.keys(change));
  // A cluster that is empty may change in all of it.
  expect(configRefusal(before, after, { nodes: 0, runs: 0 })).toBeNull();
});

test('a kind never changes', () => {
  expect(configRefusal(slurm, west, { nodes: 0, runs: 0 })).toBe('other-kind');
});
