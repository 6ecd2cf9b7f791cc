// Who decides. The lease says who may try; the epoch, checked inside every decision, is what protects. A takeover is a
// key update of the one row, so it waits for decisions in flight and they for it.
import type { NodeId, ServerId } from '@muster/model';
import type { LeaderLease, ServerInfo } from '../contract.ts';
import type { Database } from '../database.ts';

interface Row {
  readonly epoch: number;
  readonly holder: ServerInfo | null;
  readonly expired: boolean;
}

const columns = 'epoch, holder, expires_ms <= now_ms() AS expired';
const read = { name: 'read-leader', text: `SELECT ${columns} FROM leader` };
const take = {
  name: 'take-lease',
  text: `
UPDATE leader SET epoch = epoch + 1, server = $1, holder = $2::jsonb, expires_ms = now_ms() + $3
WHERE holder IS NULL OR expires_ms <= now_ms() OR epoch = $4
RETURNING ${columns}`,
};
// Open rows are decisions of before that still stand; the new leader has adopted them by loading the rows.
const restamp = { name: 'restamp-outbox', text: 'UPDATE outbox SET epoch = $1 WHERE epoch < $1' };

export async function leader(database: Database): Promise<LeaderLease> {
  const [row] = await database.query<Row>(read);
  return { epoch: 0, holder: null, expired: true, ...row, acquired: false };
}

export async function acquireLease(
  database: Database,
  server: ServerInfo,
  leaseMs: number,
  deadEpoch: number | null,
): Promise<LeaderLease> {
  // Without a lock first: followers ask often, and the holder's decisions must not wait for them.
  const now = await leader(database);
  if (now.holder !== null && !now.expired && now.epoch !== deadEpoch) return now;
  const { value } = await database.write(
    async (tx) => {
      const [row] = await tx.query<Row>(take, [server.id, JSON.stringify(server), leaseMs, deadEpoch]);
      if (!row) return null;
      await tx.query(restamp, [row.epoch]);
      tx.append([{ body: { kind: 'leader.changed', epoch: row.epoch, server: server.id }, project: null }]);
      return row;
    },
    { anySequence: true },
  );
  return value ? { ...value, acquired: true } : leader(database);
}

const renew = {
  name: 'renew-lease',
  text: 'UPDATE leader SET expires_ms = now_ms() + $3 WHERE server = $1 AND epoch = $2 RETURNING epoch',
};
const release = {
  name: 'release-lease',
  text: 'UPDATE leader SET server = NULL, holder = NULL, expires_ms = 0 WHERE server = $1 AND epoch = $2',
};

export async function renewLease(
  database: Database,
  server: ServerId,
  epoch: number,
  leaseMs: number,
): Promise<boolean> {
  return (await database.change(renew, [server, epoch, leaseMs])).length > 0;
}

export async function releaseLease(database: Database, server: ServerId, epoch: number): Promise<void> {
  await database.change(release, [server, epoch]);
}

const announce = {
  name: 'announce-server',
  text: `
INSERT INTO server (id, info, announced_ms) VALUES ($1, $2::jsonb, now_ms())
ON CONFLICT (id) DO UPDATE SET info = excluded.info, announced_ms = excluded.announced_ms`,
};
const ofNode = {
  name: 'server-of-node',
  text: `
SELECT s.info FROM node n JOIN server s ON s.id = n.server WHERE n.id = $1 AND n.session IS NOT NULL`,
};

export async function announceServer(database: Database, server: ServerInfo): Promise<void> {
  await database.change(announce, [server.id, JSON.stringify(server)]);
}

export async function serverOfNode(database: Database, node: NodeId): Promise<ServerInfo | null> {
  const [row] = await database.query<{ info: ServerInfo }>(ofNode, [node]);
  return row?.info ?? null;
}
