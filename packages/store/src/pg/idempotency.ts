// Idempotency keys, scoped to project and principal and unique in the database. The statement that inserts jobs claims them
// (submit.ts); here is what goes before it, equal keys inside one group, and after it, who has a key that was taken.
import type { JobId } from '@muster/model';
import type { Submit } from '../contract.ts';
import type { Reader } from '../database.ts';

export interface Holder {
  readonly job: JobId;
  readonly bodyHash: string;
}

/** Which items repeat the key of an earlier item of their group, and whose. */
export function repeatedInGroup(items: readonly Submit[]): Map<Submit, Submit> {
  const firsts = new Map<string, Submit>();
  const repeated = new Map<Submit, Submit>();
  for (const item of items) {
    if (item.key === null) continue;
    const key = keyText(item.spec.project, item.principal, item.key);
    const first = firsts.get(key);
    if (first) repeated.set(item, first);
    else firsts.set(key, item);
  }
  return repeated;
}

function keyText(project: string, principal: string, key: string): string {
  return `${project} ${principal.length} ${principal} ${key}`;
}

const look = {
  name: 'key-holders',
  text: `
SELECT project, principal, key, job, body_hash AS "bodyHash"
FROM unnest($1::text[], $2::text[], $3::text[]) AS i (project, principal, key)
  JOIN idempotency USING (project, principal, key)`,
};

/** Who has the keys of these items. */
export async function keyHolders(
  reader: Reader,
  items: readonly Submit[],
): Promise<ReadonlyMap<Submit, Holder>> {
  if (items.length === 0) return new Map();
  const rows = await reader.query<Holder & { project: string; principal: string; key: string }>(look, [
    items.map((item) => item.spec.project),
    items.map((item) => item.principal),
    items.map((item) => item.key),
  ]);
  const found = new Map(rows.map((row) => [keyText(row.project, row.principal, row.key), row]));
  const holders = new Map<Submit, Holder>();
  for (const item of items) {
    const holder = found.get(keyText(item.spec.project, item.principal, item.key ?? ''));
    if (holder) holders.set(item, holder);
  }
  return holders;
}
