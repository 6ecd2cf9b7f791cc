// A strike is committed with what follows from it: the third one drains the node in the same transaction, so that no server
// has to remember anything and a change of servers forgets nothing.
import {
  addStrike,
  mayQuarantine,
  type NodeId,
  type PoolCounts,
  type Strike,
  type StrikeRule,
  type Strikes,
} from '@muster/model';
import type { Outcome, Struck } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import type { NodeRecord } from '../rules/records.ts';
import { quarantine, struckEvents } from '../rules/strike-rules.ts';
import { lockNodes } from './nodes.ts';

const setStrikes = {
  name: 'set-strikes',
  text: 'UPDATE node SET strikes = $2::jsonb, drain = coalesce($3::jsonb, drain) WHERE id = $1',
};

export async function strike(
  database: Database,
  id: NodeId,
  item: Strike,
  rule: StrikeRule,
): Promise<Outcome<Struck, 'not-found'>> {
  const { value, sequence } = await database.write<Struck | null>(
    async (tx) => {
      const node = (await lockNodes(tx, [id])).get(id);
      if (!node || node.state.state === 'removed') return null;
      const strikes = addStrike(node.strikes, item, rule, tx.nowMs);
      const outcome = await outcomeOf(tx, node, strikes, rule);
      const drain = outcome === 'quarantined' ? quarantine(strikes) : null;
      const kept: Strikes = { ...strikes, spared: outcome === 'spared' };
      await tx.query(setStrikes, [id, JSON.stringify(kept), drain && JSON.stringify(drain)]);
      const events = struckEvents(node, strikes, outcome, drain, rule);
      tx.append(events.map((body) => ({ body, project: null })));
      return { name: node.name, strikes: strikes.count, outcome };
    },
    { fenced: true },
  );
  return value === null
    ? { outcome: 'refused', refusal: 'not-found' }
    : { outcome: 'committed', sequence, value };
}

async function outcomeOf(
  tx: Tx,
  node: NodeRecord,
  strikes: Strikes,
  rule: StrikeRule,
): Promise<Struck['outcome']> {
  // Whoever drained it already has said all there is to say.
  if (strikes.count < rule.limit || node.drain !== null) return 'counted';
  return mayQuarantine(await countPool(tx, node), rule) ? 'quarantined' : 'spared';
}

// Two nodes of a pool may be struck at once, and each would count the other as taking work. Whoever holds this lock waits
// for no other node, so that nobody waits in a circle.
const lockPool = {
  name: 'lock-pool',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('muster.quarantine ' || $1 || ' ' || $2, 0))`,
};
const poolCounts = {
  name: 'pool-counts',
  text: `
SELECT count(*) FILTER (WHERE state_name IN ('ready', 'silent')) AS nodes,
  count(*) FILTER (WHERE state_name IN ('ready', 'silent') AND drain ->> 'quarantine' = 'true') AS quarantined,
  count(*) FILTER (WHERE id <> $3 AND state_name = 'ready' AND drain IS NULL) AS open
FROM node WHERE cluster = $1 AND pool = $2 AND state_name <> 'removed'`,
};

async function countPool(tx: Tx, { id, cluster, pool }: NodeRecord): Promise<PoolCounts> {
  await tx.query(lockPool, [cluster, pool]);
  const [counts] = await tx.query<PoolCounts>(poolCounts, [cluster, pool, id]);
  return counts as PoolCounts;
}
