// Enrolment, drain and removal of nodes; freeze and thaw of clusters.
import type { Drain, EventBody, NodeId, NodeState } from '@muster/model';
import type { ClusterRow, Enrolment, EnrolRefusal, EnrolRequest, Freeze, Outcome } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { drainAfter, drainedEvent, enrolRefusal } from '../rules/admin-rules.ts';
import { drainByCluster } from '../rules/cluster-rules.ts';
import { leaveNodes, lockNodes } from './nodes.ts';

const insertEnrolment = {
  name: 'insert-enrolment',
  text: `
INSERT INTO enrolment (id, hash, cluster, pool, created_by, created_ms, expires_ms, uses_left)
VALUES ($1, $2, $3, $4, $5, now_ms(), $6, $7)`,
};

export async function createEnrolment(database: Database, enrolment: Enrolment): Promise<void> {
  const { id, hash, cluster, pool, by, expiresMs, uses } = enrolment;
  await database.change(insertEnrolment, [id, hash, cluster, pool, by, expiresMs, uses]);
}

const useEnrolment = {
  name: 'use-enrolment',
  text: `
UPDATE enrolment SET uses_left = uses_left - 1 WHERE hash = $1 AND uses_left > 0 AND expires_ms > now_ms()
RETURNING cluster, pool`,
};
const namedNode = {
  name: 'named-node',
  text: `SELECT id, cluster, runs FROM node WHERE name = $1 AND state_name <> 'removed' FOR NO KEY UPDATE`,
};
const insertNode = {
  name: 'insert-node',
  text: `
INSERT INTO node (id, name, cluster, pool, public_key, state, state_name, drain)
VALUES ($1, $2, $3, $4, $5, $6::jsonb, 'silent', $7::jsonb)`,
};
// Before the node's row in the lock order, so that a drain of the cluster finds the node or the node finds the drain.
const clusterDrain = {
  name: 'cluster-drain',
  text: 'SELECT name, drain FROM cluster WHERE name = $1 FOR SHARE',
};
// A new key ends whatever spoke with the old one.
const rekeyNode = {
  name: 'rekey-node',
  text: 'UPDATE node SET public_key = $2, session = NULL WHERE id = $1',
};

export async function enrol(
  database: Database,
  request: EnrolRequest,
): Promise<Outcome<{ readonly node: NodeId }, EnrolRefusal>> {
  const { value, sequence } = await database.write<NodeId | { refusal: EnrolRefusal }>(async (tx) => {
    const [used] = await tx.query<{ cluster: string; pool: string }>(useEnrolment, [request.hash]);
    if (!used) return { refusal: 'bad-token' };
    type Named = { readonly id: NodeId; readonly cluster: string; readonly runs: number };
    const [existing] = await tx.query<Named>(namedNode, [request.name]);
    const refusal = existing && enrolRefusal(existing, used.cluster);
    if (refusal) {
      await tx.query(giveBack, [request.hash]);
      return { refusal };
    }
    if (existing) {
      await tx.query(rekeyNode, [existing.id, request.publicKey]);
      return existing.id;
    }
    const state = JSON.stringify({ state: 'silent', sinceMs: tx.nowMs } satisfies NodeState);
    const [cluster] = await tx.query<Pick<ClusterRow, 'name' | 'drain'>>(clusterDrain, [used.cluster]);
    const drain = cluster ? drainByCluster(cluster, null, tx.nowMs) : null;
    await tx.query(insertNode, [
      request.node,
      request.name,
      used.cluster,
      used.pool,
      request.publicKey,
      state,
      drain && JSON.stringify(drain),
    ]);
    return request.node;
  });
  return typeof value === 'string'
    ? { outcome: 'committed', sequence, value: { node: value } }
    : { outcome: 'refused', refusal: value.refusal };
}

const giveBack = {
  name: 'give-back-enrolment',
  text: 'UPDATE enrolment SET uses_left = uses_left + 1 WHERE hash = $1',
};

// Whoever lets work onto a node again has looked at it: what its agent sent before is forgotten.
const setDrain = {
  name: 'set-drain',
  text: `
UPDATE node SET drain = $2::jsonb, strikes = CASE WHEN $2::jsonb IS NULL THEN NULL ELSE strikes END WHERE id = $1`,
};

export async function drain(
  database: Database,
  id: NodeId,
  wish: Pick<Drain, 'by' | 'reason'> | null,
  by: string,
): Promise<Outcome<null, 'not-found'>> {
  return decide(database, async (tx) => {
    const node = (await lockNodes(tx, [id])).get(id);
    if (!node || node.state.state === 'removed') return 'not-found';
    const next = drainAfter(node, wish, tx.nowMs);
    if (next === 'same') return null;
    await tx.query(setDrain, [id, next && JSON.stringify(next)]);
    append(tx, drainedEvent(node, next, by));
    return null;
  });
}

const setTrust = { name: 'set-trust', text: 'UPDATE node SET trust_milli = $2 WHERE id = $1' };

export async function trust(
  database: Database,
  id: NodeId,
  trustMilli: number,
  by: string,
): Promise<Outcome<null, 'not-found'>> {
  return decide(database, async (tx) => {
    const node = (await lockNodes(tx, [id])).get(id);
    if (!node || node.state.state === 'removed') return 'not-found';
    if (node.trustMilli === trustMilli) return null;
    await tx.query(setTrust, [id, trustMilli]);
    // Of a node that has never spoken nobody has heard yet.
    if (node.generation > 0) append(tx, { kind: 'node.trusted', node: id, name: node.name, trustMilli, by });
    return null;
  });
}

export async function removeNode(
  database: Database,
  id: NodeId,
  by: string,
): Promise<Outcome<null, 'not-found' | 'in-use' | 'takes-work'>> {
  return decide(database, async (tx) => {
    const node = (await lockNodes(tx, [id])).get(id);
    if (!node || node.state.state === 'removed') return 'not-found';
    if (node.runs > 0) return 'in-use';
    if (node.state.state === 'ready' && node.drain === null) return 'takes-work';
    await leaveNodes(tx, [node], () => ({ kind: 'remove', nowMs: tx.nowMs }), by);
    return null;
  });
}

const insertFreeze = {
  name: 'insert-freeze',
  text: `
INSERT INTO frozen (cluster, silent, nodes, until_ms) VALUES ($1, $2, $3, $4)
ON CONFLICT (cluster) DO NOTHING RETURNING cluster`,
};

/** Once for a silence: asking again neither prolongs it nor undoes that somebody thawed it. */
export async function freeze(
  database: Database,
  epoch: number,
  { cluster, silent, nodes, untilMs }: Freeze,
): Promise<Outcome<null, 'stale-epoch'>> {
  return decide(database, async (tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const rows = await tx.query(insertFreeze, [cluster, silent, nodes, untilMs]);
    if (rows.length > 0) append(tx, { kind: 'cluster.frozen', cluster, silent, nodes, untilMs });
    return null;
  });
}

const endFreeze = {
  name: 'end-freeze',
  text: 'UPDATE frozen SET until_ms = now_ms() WHERE cluster = $1 AND until_ms > now_ms() RETURNING cluster',
};

export async function thaw(
  database: Database,
  cluster: string,
  by: string,
): Promise<Outcome<null, 'not-frozen'>> {
  return decide(database, async (tx) => {
    const rows = await tx.query(endFreeze, [cluster]);
    if (rows.length === 0) return 'not-frozen';
    append(tx, { kind: 'cluster.thawed', cluster, by });
    return null;
  });
}

const deleteFreeze = {
  name: 'delete-freeze',
  text: 'DELETE FROM frozen WHERE cluster = $1 RETURNING until_ms > now_ms() AS live',
};

export async function silenceOver(
  database: Database,
  epoch: number,
  cluster: string,
): Promise<Outcome<null, 'stale-epoch'>> {
  return decide(database, async (tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    const [row] = await tx.query<{ live: boolean }>(deleteFreeze, [cluster]);
    if (row?.live) append(tx, { kind: 'cluster.thawed', cluster, by: 'muster' });
    return null;
  });
}

function append(tx: Tx, body: EventBody): void {
  tx.append([{ body, project: null }]);
}

async function decide<Refusal extends string>(
  database: Database,
  body: (tx: Tx) => Promise<null | Refusal>,
): Promise<Outcome<null, Refusal>> {
  const { value, sequence } = await database.write(body, { fenced: true });
  return value === null ? { outcome: 'committed', sequence, value } : { outcome: 'refused', refusal: value };
}
