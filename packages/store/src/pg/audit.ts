// Who did what, in a chain: each row's hash covers the row and the hash before it, so that a changed, inserted or missing
// row shows. Retention cuts the oldest rows; the chain is then verified from the first that is left.
import { createHash } from 'node:crypto';
import { canonicalJson } from '@muster/model';
import type { AuditRow, NewAudit } from '../contract.ts';
import type { Database } from '../database.ts';

const lock = { name: 'lock-audit', text: `SELECT pg_advisory_xact_lock(hashtext('muster.audit'))` };
const last = { name: 'last-audit', text: 'SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1' };
const insert = {
  name: 'insert-audit',
  text: `
INSERT INTO audit (id, at_ms, who, came_from, action, target, outcome, detail, hash)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::jsonb[],
  $9::text[])`,
};

export async function audit(database: Database, entries: readonly NewAudit[]): Promise<void> {
  if (entries.length === 0) return;
  await database.write(
    async (tx) => {
      await tx.query(lock);
      const [tail] = await tx.query<{ id: number; hash: string }>(last);
      let { id, hash } = tail ?? { id: 0, hash: '' };
      const rows = entries.map((entry) => {
        const row: AuditRow = { ...entry, id: ++id, atMs: tx.nowMs };
        hash = auditHash(hash, row);
        return { row, hash };
      });
      await tx.query(insert, [
        rows.map(({ row }) => row.id),
        rows.map(({ row }) => row.atMs),
        rows.map(({ row }) => row.who),
        rows.map(({ row }) => row.from),
        rows.map(({ row }) => row.action),
        rows.map(({ row }) => row.target),
        rows.map(({ row }) => row.outcome),
        rows.map(({ row }) => JSON.stringify(row.detail)),
        rows.map((one) => one.hash),
      ]);
    },
    { anySequence: true },
  );
}

function auditHash(before: string, row: AuditRow): string {
  const { id, atMs, who, from, action, target, outcome, detail } = row;
  // Through JSON once, so that what is hashed is what the database will give back.
  const kept = JSON.parse(JSON.stringify({ id, atMs, who, from, action, target, outcome, detail }));
  return createHash('sha256').update(before).update(canonicalJson(kept)).digest('hex');
}

const columns = 'id, at_ms AS "atMs", who, came_from AS "from", action, target, outcome, detail';
const since = {
  name: 'audit-since',
  text: `SELECT ${columns} FROM audit WHERE id > $1 ORDER BY id LIMIT $2`,
};

export async function auditSince(
  database: Database,
  after: number,
  limit: number,
): Promise<readonly AuditRow[]> {
  return database.query<AuditRow>(since, [after, limit]);
}

export type AuditCheck =
  | { readonly ok: true; readonly rows: number }
  /** The first row that does not follow from the one before it. */
  | { readonly ok: false; readonly id: number };

const page = {
  name: 'audit-page',
  text: `SELECT ${columns}, hash FROM audit WHERE id > $1 ORDER BY id LIMIT 1000`,
};

/** Reads the whole chain; the first row held is taken at its word. */
export async function verifyAudit(database: Database): Promise<AuditCheck> {
  let before: { id: number; hash: string } | null = null;
  let rows = 0;
  for (;;) {
    const batch: (AuditRow & { hash: string })[] = await database.query(page, [before?.id ?? -1]);
    for (const { hash, ...row } of batch) {
      const follows =
        before === null
          ? row.id !== 1 || hash === auditHash('', row)
          : row.id === before.id + 1 && hash === auditHash(before.hash, row);
      if (!follows) return { ok: false, id: row.id };
      before = { id: row.id, hash };
      rows++;
    }
    if (batch.length === 0) return { ok: true, rows };
  }
}
