// Clusters that an operator connected, and the nodes that they list.
import {
  type ClusterConfig,
  type ClusterSign,
  type ClusterState,
  type ConfigRefusal,
  canonicalJson,
  configRefusal,
  type Drain,
  type EventBody,
  invariant,
  type NodeId,
  type RunId,
} from '@muster/model';
import type { AdmitNode, Admitted, ClusterNotAdded, ClusterRow, ClusterSums, Outcome } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { drainedEvent } from '../rules/admin-rules.ts';
import {
  closedOf,
  drainAfterCluster,
  drainByCluster,
  isPlaceTaken,
  notAddedTo,
  notedCluster,
} from '../rules/cluster-rules.ts';
import { fenceRun, isUnheard, mayFailOver } from '../rules/failover-rules.ts';
import { silenceNode } from '../rules/node-rules.ts';
import { Changes, type NodeRecord } from '../rules/records.ts';
import { applyChanges } from './apply.ts';
import { leaveNodes, lockNodes, lockNodesWithRuns } from './nodes.ts';

const columns = `name, config, state, drain, answered_ms AS "answeredMs", created_ms AS "createdMs", created_by AS "createdBy"`;
const list = { name: 'clusters', text: `SELECT ${columns} FROM cluster ORDER BY name` };
const lock = { name: 'lock-cluster', text: `SELECT ${columns} FROM cluster WHERE name = $1 FOR UPDATE` };

export function clusters(database: Database): Promise<readonly ClusterRow[]> {
  return database.query<ClusterRow>(list);
}

// Runs on several nodes count once.
const sums = {
  name: 'cluster-sums',
  text: `
SELECT n.cluster, count(*) AS nodes, count(*) FILTER (WHERE n.state_name = 'ready') AS ready,
  count(*) FILTER (WHERE n.state_name = 'ready' AND n.drain IS NULL) AS open, sum(n.devices)::bigint AS devices,
  sum((SELECT count(*) FROM unnest(n.devices_used) u WHERE u > 0))::bigint AS "devicesUsed",
  coalesce(max(t.runs), 0) AS runs, coalesce(max(t.unproven), 0) AS unproven
FROM node n LEFT JOIN (
  SELECT n.cluster, count(DISTINCT t.run) AS runs, count(DISTINCT t.run) FILTER (WHERE n.state_name = 'silent') AS unproven
  FROM task t JOIN node n ON n.id = t.node WHERE NOT t.over GROUP BY n.cluster
) t ON t.cluster = n.cluster
WHERE n.state_name <> 'removed' GROUP BY n.cluster ORDER BY n.cluster`,
};

const whoWeAre = { name: 'installation', text: 'SELECT id FROM installation' };

export async function installation(database: Database): Promise<string> {
  const [row] = await database.query<{ id: string }>(whoWeAre);
  invariant(row, 'the database has no installation');
  return row.id;
}

export function clusterSums(database: Database): Promise<readonly ClusterSums[]> {
  return database.query<ClusterSums>(sums);
}

async function lockCluster(tx: Tx, name: string): Promise<ClusterRow | null> {
  return (await tx.query<ClusterRow>(lock, [name]))[0] ?? null;
}

// Two clusters may be added or changed at once, and neither would see the other's place.
const lockPlaces = {
  name: 'lock-cluster-places',
  text: `SELECT pg_advisory_xact_lock(hashtext('muster.cluster_places'))`,
};
const insertCluster = {
  name: 'insert-cluster',
  text: `
INSERT INTO cluster (name, config, state, created_ms, created_by) VALUES ($1, $2::jsonb, $3::jsonb, $4, $5)`,
};
const withAgents = {
  name: 'agents-in-cluster',
  text: `SELECT FROM node WHERE cluster = $1 AND known_as IS NULL AND state_name <> 'removed' LIMIT 1`,
};

export function addCluster(
  database: Database,
  name: string,
  config: ClusterConfig,
  by: string,
): Promise<Outcome<null, ClusterNotAdded>> {
  return settled(database, async (tx) => {
    await tx.query(lockPlaces);
    if (config.kind !== 'agent' && (await tx.query(withAgents, [name])).length > 0) return 'has-agents';
    const refusal = notAddedTo(await tx.query<ClusterRow>(list), name, config);
    if (refusal !== null) return refusal;
    const state = JSON.stringify({ state: 'new', sinceMs: tx.nowMs } satisfies ClusterState);
    await tx.query(insertCluster, [name, JSON.stringify(config), state, tx.nowMs, by]);
    append(tx, { kind: 'cluster.added', cluster: name, config, by });
    return { value: null };
  });
}

const setConfig = {
  name: 'set-cluster-config',
  text: 'UPDATE cluster SET config = $2::jsonb WHERE name = $1',
};
const heldIn = {
  name: 'held-in-cluster',
  text: `SELECT count(*) AS nodes, coalesce(sum(runs), 0)::bigint AS runs FROM node WHERE cluster = $1 AND state_name <> 'removed'`,
};

export function setCluster(
  database: Database,
  name: string,
  config: ClusterConfig,
  by: string,
): Promise<Outcome<null, 'not-found' | 'place-taken' | ConfigRefusal>> {
  return settled(database, async (tx) => {
    await tx.query(lockPlaces);
    const cluster = await lockCluster(tx, name);
    if (!cluster) return 'not-found';
    if (canonicalJson(cluster.config) === canonicalJson(config)) return { value: null };
    // Locked, so that no plan puts a run there meanwhile.
    await lockNodes(
      tx,
      (await tx.query<Known>(nodesOf, [name])).map(({ id }) => id),
    );
    const [held] = await tx.query<{ nodes: number; runs: number }>(heldIn, [name]);
    const refusal = configRefusal(cluster.config, config, held ?? { nodes: 0, runs: 0 });
    if (refusal) return refusal;
    if (isPlaceTaken(await tx.query<ClusterRow>(list), name, config)) return 'place-taken';
    await tx.query(setConfig, [name, JSON.stringify(config)]);
    append(tx, { kind: 'cluster.changed', cluster: name, config, by });
    return { value: null };
  });
}

const setClusterDrain = {
  name: 'set-cluster-drain',
  text: 'UPDATE cluster SET drain = $2::jsonb WHERE name = $1',
};
const nodesOf = {
  name: 'nodes-of-cluster',
  text: `SELECT id, known_as AS "knownAs" FROM node WHERE cluster = $1 AND known_as IS NOT NULL AND state_name <> 'removed'`,
};
const agentsOf = {
  name: 'agents-of-cluster',
  text: `SELECT id FROM node WHERE cluster = $1 AND known_as IS NULL AND state_name <> 'removed'`,
};

type Known = { readonly id: NodeId; readonly knownAs: string };

export function drainCluster(
  database: Database,
  name: string,
  wish: Pick<Drain, 'by' | 'reason'> | null,
  by: string,
): Promise<Outcome<null, 'not-found'>> {
  return settled(database, async (tx) => {
    const cluster = await lockCluster(tx, name);
    if (!cluster) return 'not-found';
    if (wish === null && cluster.drain === null) return { value: null };
    const drain: Drain | null = wish && { by: wish.by, reason: wish.reason, sinceMs: tx.nowMs };
    await tx.query(setClusterDrain, [name, drain && JSON.stringify(drain)]);
    append(
      tx,
      drain
        ? { kind: 'cluster.drained', cluster: name, drain }
        : { kind: 'cluster.undrained', cluster: name, by },
    );
    const nodes = [...(await tx.query<Known>(nodesOf, [name])), ...(await tx.query<Known>(agentsOf, [name]))];
    // What a node is closed for otherwise is told by the next listing.
    await drainNodes(tx, nodes, () => drainByCluster({ name, drain }, null, tx.nowMs), by);
    return { value: null };
  });
}

const setDrains = {
  name: 'set-drains',
  text: `
UPDATE node SET drain = c.drain::jsonb FROM unnest($1::text[], $2::text[]) AS c (id, drain) WHERE node.id = c.id`,
};

async function drainNodes<N extends { readonly id: NodeId }>(
  tx: Tx,
  nodes: readonly N[],
  wish: (node: N) => Drain | null,
  by: string,
): Promise<void> {
  if (nodes.length === 0) return;
  const locked = await lockNodes(
    tx,
    nodes.map(({ id }) => id),
  );
  const changed: { readonly node: NodeRecord; readonly drain: Drain | null }[] = [];
  for (const one of nodes) {
    const node = locked.get(one.id);
    const drain = node ? drainAfterCluster(node, wish(one)) : 'same';
    if (node && drain !== 'same') changed.push({ node, drain });
  }
  if (changed.length === 0) return;
  await tx.query(setDrains, [
    changed.map(({ node }) => node.id),
    changed.map(({ drain }) => drain && JSON.stringify(drain)),
  ]);
  // Of a node that has never spoken nobody has heard yet.
  const told = changed.filter(({ node }) => node.generation > 0);
  for (const { node, drain } of told) append(tx, drainedEvent(node, drain, by));
}

const deleteCluster = { name: 'delete-cluster', text: 'DELETE FROM cluster WHERE name = $1' };

export function removeCluster(
  database: Database,
  name: string,
  by: string,
): Promise<Outcome<null, 'not-found' | 'in-use'>> {
  return settled(database, async (tx) => {
    if (!(await lockCluster(tx, name))) return 'not-found';
    const known = await tx.query<Known>(nodesOf, [name]);
    const locked = await lockNodes(
      tx,
      known.map(({ id }) => id),
    );
    const nodes = [...locked.values()];
    if (nodes.some(({ runs }) => runs > 0)) return 'in-use';
    await leaveNodes(tx, nodes, () => ({ kind: 'remove', nowMs: tx.nowMs }), by);
    await tx.query(deleteCluster, [name]);
    append(tx, { kind: 'cluster.removed', cluster: name, by });
    return { value: null };
  });
}

const insertNodes = {
  name: 'admit-nodes',
  text: `
INSERT INTO node (id, name, cluster, pool, known_as, public_key, state, state_name, drain)
SELECT c.id, c.name, $1, $2, c.known_as, '', $3::jsonb, 'silent', c.drain::jsonb
FROM unnest($4::text[], $5::text[], $6::text[], $7::text[]) AS c (id, name, known_as, drain)
ON CONFLICT DO NOTHING RETURNING id, known_as AS "knownAs"`,
};

export function admitNodes(
  database: Database,
  epoch: number,
  name: string,
  listed: readonly AdmitNode[],
): Promise<Outcome<Admitted, 'stale-epoch' | 'not-found'>> {
  return settled(database, async (tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const cluster = await lockCluster(tx, name);
    if (!cluster) return 'not-found';
    const known = await tx.query<Known>(nodesOf, [name]);
    const byName = new Map(listed.map((item) => [item.knownAs, item]));
    const drainOf = (knownAs: string): Drain | null =>
      drainByCluster(cluster, closedOf(byName, knownAs), tx.nowMs);
    await drainNodes(tx, known, ({ knownAs }) => drainOf(knownAs), cluster.name);
    const before = new Set(known.map(({ knownAs }) => knownAs));
    const fresh = listed.filter(({ knownAs }) => !before.has(knownAs));
    const added = fresh.length === 0 ? [] : await insertFresh(tx, cluster, fresh, drainOf);
    const nodes = [...known, ...added].map(({ id, knownAs }) => ({ node: id, knownAs }));
    const taken = new Set(added.map(({ knownAs }) => knownAs));
    const refused = fresh.filter(({ knownAs }) => !taken.has(knownAs)).map(({ knownAs }) => knownAs);
    return { value: { nodes, refused } };
  });
}

function insertFresh(
  tx: Tx,
  { name, config }: ClusterRow,
  fresh: readonly AdmitNode[],
  drainOf: (knownAs: string) => Drain | null,
): Promise<Known[]> {
  const state = JSON.stringify({ state: 'silent', sinceMs: tx.nowMs });
  return tx.query<Known>(insertNodes, [
    name,
    config.pool,
    state,
    fresh.map(({ node }) => node),
    fresh.map((item) => item.name),
    fresh.map(({ knownAs }) => knownAs),
    fresh.map(({ knownAs }) => {
      const drain = drainOf(knownAs);
      return drain && JSON.stringify(drain);
    }),
  ]);
}

const setState = {
  name: 'set-cluster-state',
  text: `
UPDATE cluster SET state = $2::jsonb, answered_ms = CASE WHEN $3 THEN now_ms() ELSE answered_ms END WHERE name = $1`,
};

export function noteCluster(
  database: Database,
  epoch: number,
  name: string,
  sign: ClusterSign,
): Promise<Outcome<ClusterState, 'stale-epoch' | 'not-found'>> {
  return settled(database, async (tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const cluster = await lockCluster(tx, name);
    if (!cluster) return 'not-found';
    const noted = notedCluster(cluster, sign, tx.nowMs);
    const state = noted?.state ?? cluster.state;
    await tx.query(setState, [name, JSON.stringify(state), sign.kind === 'answer']);
    if (noted) append(tx, noted.event);
    return { value: state };
  });
}

/** The runs that may start elsewhere now. */
export function failOver(
  database: Database,
  epoch: number,
  name: string,
): Promise<Outcome<readonly RunId[], 'stale-epoch' | 'not-found'>> {
  return settled(database, async (tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const cluster = await lockCluster(tx, name);
    if (!cluster) return 'not-found';
    if (!mayFailOver(cluster)) return { value: [] };
    const known = await tx.query<Known>(nodesOf, [name]);
    const ids = known.map(({ id }) => id);
    const locked = await lockNodesWithRuns(tx, ids);
    const changes = new Changes(tx.nowMs);
    const nodes = ids.flatMap((id) => locked.nodes.get(id) ?? []);
    const unheard = nodes.filter((node) => isUnheard(cluster, node, tx.nowMs));
    await leaveNodes(tx, unheard, () => ({ kind: 'silence', nowMs: tx.nowMs }));
    for (const node of unheard) silenceNode(changes, node, locked.runsOn(node.id));
    const silent = [...nodes.filter(({ state }) => state.state === 'silent'), ...unheard];
    const fenced = silent.flatMap((node) =>
      locked.runsOn(node.id).filter((run) => fenceRun(changes, name, node, run)),
    );
    await applyChanges(tx, changes);
    return { value: [...new Set(fenced.map(({ id }) => id))] };
  });
}

function append(tx: Tx, body: EventBody): void {
  tx.append([{ body, project: null }]);
}

async function settled<T, Refusal extends string>(
  database: Database,
  body: (tx: Tx) => Promise<{ readonly value: T } | Refusal>,
): Promise<Outcome<T, Refusal>> {
  const { value, sequence } = await database.write(body, { fenced: true });
  return typeof value === 'string'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value: value.value };
}
