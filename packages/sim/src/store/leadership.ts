// Who decides: one row with an epoch that only grows; and which servers there are.
import type { NodeId, ServerId } from '@muster/model';
import type { LeaderLease, ServerInfo } from '@muster/store';
import type { MemoryDatabase } from './database.ts';

export function leader(database: MemoryDatabase): LeaderLease {
  const { epoch, holder, expiresMs } = database.tables.leader;
  return { epoch, holder, expired: expiresMs <= database.nowMs(), acquired: false };
}

export function acquireLease(
  database: MemoryDatabase,
  server: ServerInfo,
  leaseMs: number,
  deadEpoch: number | null,
): LeaderLease {
  const now = leader(database);
  if (now.holder !== null && !now.expired && now.epoch !== deadEpoch) return now;
  return database.write((tx) => {
    const epoch = tx.epoch + 1;
    tx.tables.leader = { epoch, holder: { ...server }, expiresMs: tx.nowMs + leaseMs };
    // Open rows are decisions of before that still stand; the new leader has adopted them by loading the rows.
    for (const row of tx.tables.outbox.values()) row.epoch = Math.max(row.epoch, epoch);
    tx.append([{ body: { kind: 'leader.changed', epoch, server: server.id }, project: null }]);
    return { epoch, holder: server, expired: leaseMs <= 0, acquired: true };
  }).value;
}

export function renewLease(
  database: MemoryDatabase,
  server: ServerId,
  epoch: number,
  leaseMs: number,
): boolean {
  const { leader: row } = database.tables;
  if (row.holder?.id !== server || row.epoch !== epoch) return false;
  row.expiresMs = database.nowMs() + leaseMs;
  return true;
}

export function releaseLease({ tables }: MemoryDatabase, server: ServerId, epoch: number): void {
  const { leader: row } = tables;
  if (row.holder?.id === server && row.epoch === epoch) tables.leader = { epoch, holder: null, expiresMs: 0 };
}

export function announceServer(database: MemoryDatabase, info: ServerInfo): void {
  database.tables.servers.set(info.id, { info: { ...info }, announcedMs: database.nowMs() });
}

export function serverOfNode({ tables }: MemoryDatabase, id: NodeId): ServerInfo | null {
  const node = tables.nodes.get(id);
  if (!node?.server || node.session === null) return null;
  return tables.servers.get(node.server)?.info ?? null;
}
