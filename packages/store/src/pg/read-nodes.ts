// Nodes, leases and counts as people and the expire loop see them.
import {
  type Inventory,
  type JobState,
  type NodeId,
  type NodeState,
  noInventory,
  type RunId,
} from '@muster/model';
import type { Counts, Freeze, Lease, NodeQuery, NodeRow } from '../contract.ts';
import type { Database } from '../database.ts';

const columns = `
SELECT n.id, n.name, n.cluster, n.pool, n.generation, n.state, n.drain, n.trust_milli AS "trustMilli", i.inventory,
  CASE WHEN (n.strikes ->> 'untilMs')::bigint > now_ms() THEN n.strikes END AS strikes,
  n.cpu_milli_used AS "cpuMilliUsed", n.memory_mib_used AS "memoryMibUsed", n.devices_used AS "devicesUsed",
  n.renewed_ms AS "renewedMs", n.agent_version AS "agentVersion", n.isolation
FROM node n LEFT JOIN inventory i ON i.node = n.id`;

const one = {
  name: 'node',
  text: `${columns} WHERE n.id = $1 OR (n.name = $1 AND n.state_name <> 'removed') LIMIT 1`,
};
const many = {
  name: 'nodes',
  text: `
${columns} WHERE n.state_name <> 'removed' AND ($1::text IS NULL OR n.cluster = $1) AND ($2::text IS NULL OR n.name > $2)
ORDER BY n.name LIMIT $3`,
};

type Row = Omit<NodeRow, 'inventory'> & { readonly inventory: Inventory | null };

/** One number a device, zero where nothing was ever sold. */
function nodeRow(row: Row): NodeRow {
  const inventory = row.inventory ?? noInventory;
  const devicesUsed = inventory.devices.map((_, i) => row.devicesUsed[i] ?? 0);
  return { ...row, inventory, devicesUsed };
}

export async function node(database: Database, idOrName: string): Promise<NodeRow | null> {
  const [row] = await database.query<Row>(one, [idOrName]);
  return row ? nodeRow(row) : null;
}

export async function nodes(database: Database, query: NodeQuery): Promise<readonly NodeRow[]> {
  return (await database.query<Row>(many, [query.cluster, query.after, query.limit])).map(nodeRow);
}

const key = { name: 'node-key', text: 'SELECT public_key AS key, session FROM node WHERE id = $1' };

export async function nodeKey(
  database: Database,
  id: NodeId,
): Promise<{ readonly key: string; readonly session: string | null } | null> {
  return (await database.query<{ key: string; session: string | null }>(key, [id]))[0] ?? null;
}

const sessionsText = {
  name: 'node-sessions',
  text: `SELECT id, session FROM node WHERE id = ANY ($1::text[]) AND state_name <> 'removed'`,
};

export async function nodeSessions(
  database: Database,
  ids: readonly NodeId[],
): Promise<ReadonlyMap<NodeId, string | null>> {
  const rows = await database.query<{ id: NodeId; session: string | null }>(sessionsText, [ids]);
  return new Map(rows.map(({ id, session }) => [id, session]));
}

const leasesText = {
  name: 'leases',
  text: `
SELECT n.id AS node, n.cluster, n.known_as IS NULL AS leased, n.state_name AS state, n.renewals, n.renewed_ms AS "renewedMs",
  coalesce(l.runs, '[]') AS runs
FROM node n LEFT JOIN (
  SELECT t.node, json_agg(json_build_object('run', t.run, 'stopAfterMs', r.stop_after_ms) ORDER BY t.run) AS runs
  FROM (
    SELECT DISTINCT t.node, t.run FROM task t JOIN node n ON n.id = t.node
    WHERE NOT t.over AND (n.known_as IS NULL OR n.state_name <> 'ready')
  ) t JOIN run r ON r.id = t.run GROUP BY t.node
) l ON l.node = n.id
WHERE n.state_name <> 'removed' AND n.renewed_ms IS NOT NULL AND (n.known_as IS NULL OR n.state_name <> 'ready')
ORDER BY n.id`,
};

export async function leases(database: Database): Promise<readonly Lease[]> {
  return database.query<Lease & { readonly runs: readonly { run: RunId; stopAfterMs: number | null }[] }>(
    leasesText,
  );
}

const frozenText = {
  name: 'frozen',
  text: 'SELECT cluster, silent, nodes, until_ms AS "untilMs" FROM frozen ORDER BY cluster',
};

export async function frozen(database: Database): Promise<readonly Freeze[]> {
  return database.query<Freeze>(frozenText);
}

const countJobs = {
  name: 'count-jobs',
  text: `
SELECT state_name AS state, count(*) AS count FROM job WHERE ended_ms IS NULL AND member_of IS NULL GROUP BY state_name
UNION ALL SELECT 'ended', count(*) FROM job WHERE ended_ms IS NOT NULL AND member_of IS NULL`,
};
const countNodes = {
  name: 'count-nodes',
  text: `
SELECT state_name AS state, count(*) AS count, sum(devices)::bigint AS devices,
  sum((SELECT count(*) FROM unnest(devices_used) u WHERE u > 0))::bigint AS "devicesUsed",
  count(*) FILTER (WHERE drain ->> 'quarantine' = 'true') AS quarantined,
  count(*) FILTER (WHERE drain IS NULL AND strikes ->> 'spared' = 'true' AND (strikes ->> 'untilMs')::bigint > now_ms())
    AS spared
FROM node WHERE state_name <> 'removed' GROUP BY state_name`,
};
const countOutbox = { name: 'count-outbox', text: 'SELECT count(*) AS count FROM outbox' };

export async function counts(database: Database): Promise<Counts> {
  type Sums = Record<'devices' | 'devicesUsed' | 'quarantined' | 'spared', number>;
  type NodeCount = Sums & { state: NodeState['state']; count: number };
  const [jobRows, nodeRows, outboxRows] = await database.snapshot((reader) =>
    Promise.all([
      reader.query<{ state: JobState['state']; count: number }>(countJobs),
      reader.query<NodeCount>(countNodes),
      reader.query<{ count: number }>(countOutbox),
    ]),
  );
  const sum = (of: keyof Sums): number => nodeRows.reduce((total, row) => total + row[of], 0);
  return {
    jobs: Object.fromEntries(jobRows.filter((row) => row.count > 0).map((row) => [row.state, row.count])),
    nodes: Object.fromEntries(nodeRows.map((row) => [row.state, row.count])),
    outboxOpen: outboxRows[0]?.count ?? 0,
    quarantined: sum('quarantined'),
    spared: sum('spared'),
    devices: sum('devices'),
    devicesUsed: sum('devicesUsed'),
  };
}
