import type { ConfigOf, NodeState } from '@muster/model';
import { expect, test } from 'vitest';
import { isUnheard } from './failover-rules.ts';
import type { NodeRecord } from './records.ts';

const config = { kind: 'slurm', lostAfter: '20s' } as ConfigOf<'slurm'>;
const node = (state: NodeState['state'], renewedMs: number | null) =>
  ({ state: { state, sinceMs: 0 }, renewedMs }) as NodeRecord;

test('a node of a lost cluster is not waited for longer than the cluster, and one that was heard since is kept', () => {
  const unheard = (of: NodeRecord): boolean => isUnheard({ config }, of, 100_000);
  expect(unheard(node('ready', 80_000))).toBe(true);
  expect(unheard(node('ready', 80_001))).toBe(false);
  expect(unheard(node('ready', null))).toBe(false);
  // It is so already, or there is nothing more to say of it.
  for (const state of ['silent', 'lost', 'removed'] as const) expect(unheard(node(state, 0))).toBe(false);
});
