// Silence and loss of nodes: a doubt, and a proof.
import type { NodeId } from '@muster/model';
import type { ExpireItem, NodeSession, Outcome } from '@muster/store';
import {
  Changes,
  declaredLost,
  holdsTasks,
  isDue,
  type Leave,
  leaseExpired,
  leaving,
  leftEvent,
  loseRun,
  silenceNode,
} from '@muster/store/rules';
import { applyChanges } from './apply.ts';
import type { MemoryDatabase, Tx } from './database.ts';
import { type LoadedNodes, loadNodes } from './load.ts';
import { byId, type StoredNode } from './tables.ts';

/** Nobody speaks for these nodes any more until they say hello again. Returns those that changed. */
export function leaveNodes(
  tx: Tx,
  nodes: readonly StoredNode[],
  event: (node: StoredNode) => Leave,
  by = 'muster',
): StoredNode[] {
  const left = leaving(nodes, event);
  for (const { node, next } of left) {
    node.state = next;
    node.session = null;
  }
  tx.append(left.map(({ node, next }) => ({ body: leftEvent(node, next, by), project: null })));
  return left.map(({ node }) => node);
}

export function silence(database: MemoryDatabase, { node, session }: NodeSession): void {
  database.write((tx) => {
    if (tx.tables.nodes.get(node)?.session === session) silenceNodes(tx, [node]);
  });
}

export function silenceOverdue(
  database: MemoryDatabase,
  epoch: number,
): Outcome<readonly NodeId[], 'stale-epoch'> {
  const { value, sequence } = database.write<readonly NodeId[] | 'stale-epoch'>((tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const overdue = byId(tx.tables.nodes.values()).filter((node) => isOverdue(node, tx.nowMs));
    return silenceNodes(
      tx,
      overdue.map(({ id }) => id),
    );
  });
  return value === 'stale-epoch'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

function isOverdue({ state, renewedMs, beatMs }: StoredNode, nowMs: number): boolean {
  return state.state === 'ready' && renewedMs !== null && nowMs > renewedMs + 2 * beatMs + 5000;
}

function silenceNodes(tx: Tx, ids: readonly NodeId[]): NodeId[] {
  if (ids.length === 0) return [];
  const loaded = loadNodes(tx.tables, ids);
  const nodes = ids.flatMap((id) => tx.tables.nodes.get(id) ?? []);
  const silent = leaveNodes(tx, nodes, () => ({ kind: 'silence', nowMs: tx.nowMs }));
  const changes = new Changes(tx.nowMs);
  for (const node of silent) silenceNode(changes, node, loaded.runsOn(node.id));
  applyChanges(tx, changes);
  return silent.map(({ id }) => id);
}

export function expire(
  database: MemoryDatabase,
  epoch: number,
  items: readonly ExpireItem[],
): Outcome<readonly NodeId[], 'stale-epoch'> {
  const { value, sequence } = database.write<readonly NodeId[] | 'stale-epoch'>((tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const { tables, nowMs } = tx;
    const loaded = loadNodes(
      tables,
      items.map(({ node }) => node),
    );
    const due = items.flatMap((item) => {
      const node = tables.nodes.get(item.node);
      if (!node || (tables.frozen.get(node.cluster)?.untilMs ?? 0) > nowMs) return [];
      return isDue(nowMs, node, loaded.runs, item) ? [{ node, item }] : [];
    });
    expireNodes(tx, loaded, due);
    return due.map(({ node }) => node.id);
  });
  return value === 'stale-epoch'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

function expireNodes(
  tx: Tx,
  loaded: LoadedNodes,
  due: readonly { readonly node: StoredNode; readonly item: ExpireItem }[],
): void {
  const changes = new Changes(tx.nowMs);
  for (const { node, item } of due)
    for (const id of item.runs) {
      const run = loaded.runs.get(id);
      if (run) loseRun(changes, node, run, null);
    }
  const nodes = due.map(({ node }) => node);
  const ready = nodes.filter(({ state }) => state.state === 'ready');
  const wereReady = new Set(ready);
  leaveNodes(tx, ready, () => ({ kind: 'silence', nowMs: tx.nowMs }));
  for (const node of ready) silenceNode(changes, node, loaded.runsOn(node.id));
  const empty = nodes.filter((node) => !wereReady.has(node) && !holdsTasks(loaded.runsOn(node.id), node.id));
  leaveNodes(tx, empty, (node) => ({ kind: 'lose', reason: leaseExpired(node), nowMs: tx.nowMs }));
  applyChanges(tx, changes);
}

export function declareLost(
  database: MemoryDatabase,
  id: NodeId,
  by: string,
): Outcome<null, 'not-found' | 'ready'> {
  const { value, sequence } = database.write<null | 'not-found' | 'ready'>((tx) => {
    const node = tx.tables.nodes.get(id);
    if (!node || node.state.state === 'removed') return 'not-found';
    if (node.state.state === 'ready') return 'ready';
    const changes = new Changes(tx.nowMs);
    const reason = declaredLost(node, by);
    for (const run of loadNodes(tx.tables, [id]).runsOn(id)) loseRun(changes, node, run, reason);
    leaveNodes(tx, [node], () => ({ kind: 'lose', reason, nowMs: tx.nowMs }));
    applyChanges(tx, changes);
    return null;
  });
  return value === null ? { outcome: 'committed', sequence, value } : { outcome: 'refused', refusal: value };
}
