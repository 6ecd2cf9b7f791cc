// Idempotency keys, scoped to project and principal and unique in the database. Claimed before anything that is locked
// by all, because waiting for another server's uncommitted key while holding the log's head would deadlock; in order, because two
// servers with the same keys would else wait for each other.
import type { JobId } from '@muster/model';
import type { Submit } from '../contract.ts';
import type { Tx } from '../database.ts';

export interface Holder {
  readonly job: JobId;
  readonly bodyHash: string;
}

export interface Claims {
  /** Items that are to become jobs: without a key, or with one that is now theirs. */
  readonly fresh: readonly Submit[];
  /** Who has the key of each other item: a job of before, or an earlier item of the same group. */
  readonly held: ReadonlyMap<Submit, Holder>;
}

const claim = {
  name: 'claim-keys',
  text: `
WITH claimed AS (
  INSERT INTO idempotency (project, principal, key, job, body_hash, created_ms)
  SELECT project, principal, key, job, body_hash, now.ms
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS i (project, principal, key, job, body_hash),
    (SELECT now_ms() AS ms OFFSET 0) AS now
  ORDER BY project, principal, key
  ON CONFLICT (project, principal, key) DO NOTHING
  RETURNING job
)
SELECT count(*) AS count, CASE WHEN count(*) < cardinality($4::text[]) THEN array_agg(job) END AS jobs FROM claimed`,
};

export async function claimKeys(tx: Tx, items: readonly Submit[]): Promise<Claims> {
  const firsts = new Map<string, Submit>();
  const held = new Map<Submit, Holder>();
  for (const item of items) {
    if (item.key === null) continue;
    const key = keyText(item.spec.project, item.principal, item.key);
    const first = firsts.get(key);
    if (first) held.set(item, { job: first.id, bodyHash: first.bodyHash });
    else firsts.set(key, item);
  }
  if (firsts.size > 0) await claimFirsts(tx, firsts, items, held);
  return { fresh: held.size === 0 ? items : items.filter((item) => !held.has(item)), held };
}

async function claimFirsts(
  tx: Tx,
  firsts: ReadonlyMap<string, Submit>,
  items: readonly Submit[],
  held: Map<Submit, Holder>,
): Promise<void> {
  const keyed = [...firsts.values()];
  const ids = keyed.map((item) => item.id);
  const hashes = keyed.map((item) => item.bodyHash);
  const [row] = await tx.query<{ count: number; jobs: JobId[] | null }>(claim, [
    ...columns(keyed),
    ids,
    hashes,
  ]);
  if (row?.count === keyed.length) return;
  const claimed = new Set(row?.jobs ?? []);
  const taken = await holders(
    tx,
    keyed.filter((item) => !claimed.has(item.id)),
  );
  for (const item of items) {
    const holder = item.key !== null && taken.get(keyText(item.spec.project, item.principal, item.key));
    if (holder) held.set(item, holder);
  }
}

function columns(items: readonly Submit[]): unknown[] {
  return [
    items.map((item) => item.spec.project),
    items.map((item) => item.principal),
    items.map((item) => item.key),
  ];
}

function keyText(project: string, principal: string, key: string): string {
  return JSON.stringify([project, principal, key]);
}

const look = {
  name: 'key-holders',
  text: `
SELECT project, principal, key, job, body_hash AS "bodyHash"
FROM unnest($1::text[], $2::text[], $3::text[]) AS i (project, principal, key)
  JOIN idempotency USING (project, principal, key)`,
};

async function holders(tx: Tx, items: readonly Submit[]): Promise<ReadonlyMap<string, Holder>> {
  const rows = await tx.query<Holder & { project: string; principal: string; key: string }>(
    look,
    columns(items),
  );
  return new Map(rows.map((row) => [keyText(row.project, row.principal, row.key), row]));
}
