// Silence and loss of nodes. Silence is only a doubt: runs become unknown and keep everything. Loss is proof that what
// ran there is over: the lease ran out by database time (expire), or an operator says the machine is gone.
import type { NodeId, RunId } from '@muster/model';
import type { ExpireItem, NodeSession, Outcome } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { loseRun, silenceNode, tasksOn } from '../rules/node-rules.ts';
import { Changes } from '../rules/records.ts';
import { isOver } from '../rules/run-rules.ts';
import { applyChanges } from './apply.ts';
import { type LoadedNodes, leaveNode, lockNodesWithRuns, type NodeRecord } from './nodes.ts';

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
  const changes = new Changes(tx.nowMs);
  const silent: NodeId[] = [];
  for (const id of ids) {
    const node = locked.nodes.get(id);
    if (!node || !(await leaveNode(tx, node, { kind: 'silence', nowMs: tx.nowMs }))) continue;
    silent.push(id);
    silenceNode(changes, id, locked.runsOn(id));
  }
  await applyChanges(tx, changes);
  return silent;
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
      const changes = new Changes(tx.nowMs);
      const expired: NodeId[] = [];
      for (const item of items) {
        const node = locked.nodes.get(item.node);
        if (!node || frozen.has(node.cluster) || !isDue(tx.nowMs, node, locked, item)) continue;
        await expireNode(tx, changes, node, locked, item.runs);
        expired.push(node.id);
      }
      await applyChanges(tx, changes);
      return expired;
    },
    { fenced: true },
  );
  return value === 'stale-epoch'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

/** No renewal since the caller looked, and each run's stopAfter and margin have passed since the last. */
function isDue(nowMs: number, node: NodeRecord, locked: LoadedNodes, item: ExpireItem): boolean {
  if (node.renewals !== item.renewals || node.renewedMs === null) return false;
  if (item.runs.length === 0 && node.state.state === 'ready') return false;
  const { renewedMs } = node;
  return item.runs.every((id) => {
    const run = locked.loaded.runs.get(id);
    // A run that is over by now has nothing to expire; one that never stops by itself never expires.
    if (!run) return true;
    return run.stopAfterMs !== null && nowMs >= renewedMs + run.stopAfterMs + item.marginMs;
  });
}

async function expireNode(
  tx: Tx,
  changes: Changes,
  node: NodeRecord,
  locked: LoadedNodes,
  ids: readonly RunId[],
): Promise<void> {
  for (const id of ids) {
    const run = locked.loaded.runs.get(id);
    if (run) loseRun(changes, node, run);
  }
  const left = locked.runsOn(node.id).some((run) => tasksOn(run, node.id).some((task) => !isOver(task)));
  if (node.state.state === 'ready') {
    // Its lease ran out before anybody called it silent.
    await leaveNode(tx, node, { kind: 'silence', nowMs: tx.nowMs });
    silenceNode(changes, node.id, locked.runsOn(node.id));
  } else if (!left) {
    const reason = { code: 'lease-expired', message: `node ${node.name} stopped renewing its lease` };
    await leaveNode(tx, node, { kind: 'lose', reason, nowMs: tx.nowMs });
  }
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
      for (const run of locked.runsOn(id)) loseRun(changes, node, run);
      const reason = { code: 'declared-lost', message: `${by} declared node ${node.name} lost` };
      await leaveNode(tx, node, { kind: 'lose', reason, nowMs: tx.nowMs });
      await applyChanges(tx, changes);
      return null;
    },
    { fenced: true },
  );
  return value === null ? { outcome: 'committed', sequence, value } : { outcome: 'refused', refusal: value };
}
