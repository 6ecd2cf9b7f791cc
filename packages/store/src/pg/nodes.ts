// Node rows for the statements that change a node's liveness: locked with the jobs whose runs live on them. The runs are
// looked up before the node is locked (jobs come first in the lock order) and again after; when a plan slipped in
// between, the transaction starts over.
import type { NodeId, RunId } from '@muster/model';
import { type Reader, Redo, type Tx } from '../database.ts';
import { type Leave, leaving, leftEvent } from '../rules/lease-rules.ts';
import type { Loaded, NodeRecord, RunRecord } from '../rules/records.ts';
import { liveRuns, lockRuns } from './load.ts';

const lockText = {
  name: 'lock-nodes',
  text: `
SELECT id, name, cluster, pool, known_as IS NULL AS leased, generation, drain, trust_milli AS "trustMilli", strikes, session, renewals, renewed_ms AS "renewedMs", runs, state
FROM node WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE`,
};

export async function lockNodes(reader: Reader, ids: readonly NodeId[]): Promise<Map<NodeId, NodeRecord>> {
  const rows = await reader.query<NodeRecord>(lockText, [ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

export interface LoadedNodes {
  readonly nodes: ReadonlyMap<NodeId, NodeRecord>;
  readonly loaded: Loaded;
  /** Live runs by node. */
  runsOn(node: NodeId): readonly RunRecord[];
}

/** Nodes with every live run on them, and `also` those of these runs. All nodes of those runs are locked too. */
export async function lockNodesWithRuns(
  tx: Tx,
  ids: readonly NodeId[],
  also: readonly RunId[] = [],
): Promise<LoadedNodes> {
  const expected = await liveRuns(tx, ids);
  const loaded = await lockRuns(tx, [...expected, ...also]);
  const touched = [...loaded.runs.values()].flatMap((run) => run.tasks.map((task) => task.node));
  const nodes = await lockNodes(tx, [...new Set([...ids, ...touched])]);
  for (const run of await liveRuns(tx, ids))
    if (!loaded.runs.has(run)) throw new Redo(`run ${run} was planned meanwhile`);
  const byNode = runsByNode(loaded.runs.values());
  return { nodes, loaded, runsOn: (node) => byNode.get(node) ?? [] };
}

function runsByNode(runs: Iterable<RunRecord>): ReadonlyMap<NodeId, RunRecord[]> {
  const byNode = new Map<NodeId, RunRecord[]>();
  for (const run of runs) {
    for (const node of new Set(run.tasks.map((task) => task.node))) {
      const list = byNode.get(node);
      if (list) list.push(run);
      else byNode.set(node, [run]);
    }
  }
  return byNode;
}

const setStates = {
  name: 'set-node-states',
  text: `
UPDATE node SET state = c.state::jsonb, state_name = c.state_name, session = NULL
FROM unnest($1::text[], $2::text[], $3::text[]) AS c (id, state, state_name) WHERE node.id = c.id`,
};

/**
 * Silent, lost or removed: nobody speaks for a node any more until it says hello again. One statement for all,
 * because half a cluster may go at once. Returns those that changed; their rows are locked.
 */
export async function leaveNodes(
  tx: Tx,
  nodes: readonly NodeRecord[],
  event: (node: NodeRecord) => Leave,
  by = 'muster',
): Promise<NodeRecord[]> {
  const left = leaving(nodes, event);
  if (left.length === 0) return [];
  await tx.query(setStates, [
    left.map(({ node }) => node.id),
    left.map(({ next }) => JSON.stringify(next)),
    left.map(({ next }) => next.state),
  ]);
  tx.append(left.map(({ node, next }) => ({ body: leftEvent(node, next, by), project: null })));
  return left.map(({ node }) => node);
}
