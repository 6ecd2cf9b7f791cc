// Silence and loss of nodes. Silence is only a doubt: runs become unknown and keep everything. Loss is proof that what
// ran there is over: the lease ran out by database time (expire), or an operator says the machine is gone.
import type { NodeId } from '@muster/model';
import type { ExpireItem, NodeSession, Outcome } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { declaredLost, holdsTasks, isDue, leaseExpired } from '../rules/lease-rules.ts';
import { loseRun, silenceNode } from '../rules/node-rules.ts';
import { Changes, type NodeRecord } from '../rules/records.ts';
import { applyChanges } from './apply.ts';
import { type LoadedNodes, leaveNodes, lockNodesWithRuns } from './nodes.ts';

export async function silence(database: Database, { node, session }: NodeSession): Promise<void> {
  await database.write(
    async (tx) => {
      const locked = await lockNodesWithRuns(tx, [node]);
      if (locked.nodes.get(node)?.session === session) await silenceNodes(tx, locked, [node]);
    },
    { fenced: true, anySequence: true },
  );
}

const overdueText = {
  name: 'overdue-nodes',
  text: `SELECT id FROM node WHERE state_name = 'ready' AND now_ms() > renewed_ms + 2 * beat_ms + 5000 ORDER BY id`,
};

export async function silenceOverdue(
  database: Database,
  epoch: number,
): Promise<Outcome<readonly NodeId[], 'stale-epoch'>> {
  const { value, sequence } = await database.write<readonly NodeId[] | 'stale-epoch'>(
    async (tx) => {
      if (tx.epoch !== epoch) return 'stale-epoch';
      const overdue = async () => (await tx.query<{ id: NodeId }>(overdueText)).map((row) => row.id);
      const seen = await overdue();
      if (seen.length === 0) return [];
      const locked = await lockNodesWithRuns(tx, seen);
      // A renewal may have come while we waited for the locks.
      const still = new Set(await overdue());
      return silenceNodes(
        tx,
        locked,
        seen.filter((id) => still.has(id)),
      );
    },
    { fenced: true },
  );
  return value === 'stale-epoch'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

async function silenceNodes(tx: Tx, locked: LoadedNodes, ids: readonly NodeId[]): Promise<NodeId[]> {
  const nodes = ids.flatMap((id) => locked.nodes.get(id) ?? []);
  const silent = await leaveNodes(tx, nodes, () => ({ kind: 'silence', nowMs: tx.nowMs }));
  const changes = new Changes(tx.nowMs);
  for (const node of silent) silenceNode(changes, node, locked.runsOn(node.id));
  await applyChanges(tx, changes);
  return silent.map((node) => node.id);
}

const frozenText = { name: 'frozen-now', text: 'SELECT cluster FROM frozen WHERE until_ms > now_ms()' };

export async function expire(
  database: Database,
  epoch: number,
  items: readonly ExpireItem[],
): Promise<Outcome<readonly NodeId[], 'stale-epoch'>> {
  const { value, sequence } = await database.write<readonly NodeId[] | 'stale-epoch'>(
    async (tx) => {
      if (tx.epoch !== epoch) return 'stale-epoch';
      const locked = await lockNodesWithRuns(
        tx,
        items.map((item) => item.node),
      );
      const frozen = new Set((await tx.query<{ cluster: string }>(frozenText)).map((row) => row.cluster));
      const due = items.flatMap((item) => {
        const node = locked.nodes.get(item.node);
        return node && !frozen.has(node.cluster) && isDue(tx.nowMs, node, locked.loaded.runs, item)
          ? [{ node, item }]
          : [];
      });
      await expireNodes(tx, locked, due);
      return due.map(({ node }) => node.id);
    },
    { fenced: true },
  );
  return value === 'stale-epoch'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

async function expireNodes(
  tx: Tx,
  locked: LoadedNodes,
  due: readonly { readonly node: NodeRecord; readonly item: ExpireItem }[],
): Promise<void> {
  const changes = new Changes(tx.nowMs);
  for (const { node, item } of due) {
    for (const id of item.runs) {
      const run = locked.loaded.runs.get(id);
      if (run) loseRun(changes, node, run, null);
    }
  }
  // A lease can run out before anybody called the node silent; it is lost once it is silent and nothing is left.
  const nodes = due.map(({ node }) => node);
  const ready = nodes.filter((node) => node.state.state === 'ready');
  await leaveNodes(tx, ready, () => ({ kind: 'silence', nowMs: tx.nowMs }));
  for (const node of ready) silenceNode(changes, node, locked.runsOn(node.id));
  const empty = nodes.filter(
    (node) => node.state.state !== 'ready' && !holdsTasks(locked.runsOn(node.id), node.id),
  );
  await leaveNodes(tx, empty, (node) => ({ kind: 'lose', reason: leaseExpired(node), nowMs: tx.nowMs }));
  await applyChanges(tx, changes);
}

export async function declareLost(
  database: Database,
  id: NodeId,
  by: string,
): Promise<Outcome<null, 'not-found' | 'ready'>> {
  const { value, sequence } = await database.write<null | 'not-found' | 'ready'>(
    async (tx) => {
      const locked = await lockNodesWithRuns(tx, [id]);
      const node = locked.nodes.get(id);
      if (!node || node.state.state === 'removed') return 'not-found';
      if (node.state.state === 'ready') return 'ready';
      const changes = new Changes(tx.nowMs);
      const reason = declaredLost(node, by);
      for (const run of locked.runsOn(id)) loseRun(changes, node, run, reason);
      await leaveNodes(tx, [node], () => ({ kind: 'lose', reason, nowMs: tx.nowMs }));
      await applyChanges(tx, changes);
      return null;
    },
    { fenced: true },
  );
  return value === null ? { outcome: 'committed', sequence, value } : { outcome: 'refused', refusal: value };
}
