// Versions of the policy: a new one is written only on top of the one its writer saw. It takes the leader's row, which every
// decision and every end of a run holds while it is written, so that each of them stands wholly before or behind it.
import type { Policy } from '@muster/model';
import type { Outcome, PolicyRow } from '../contract.ts';
import type { Database } from '../database.ts';

const lockLeader = { name: 'lock-leader', text: 'SELECT FROM leader FOR UPDATE' };
const latest = { name: 'policy-version', text: 'SELECT max(version) AS version FROM policy' };
const insert = { name: 'insert-policy', text: 'INSERT INTO policy VALUES ($1, $2, $3, $4)' };

export async function setPolicy(
  database: Database,
  policy: Policy,
  expectedVersion: number,
  by: string,
): Promise<Outcome<{ readonly version: number }, 'stale'>> {
  const { value, sequence } = await database.write(async (tx) => {
    await tx.query(lockLeader);
    const [row] = await tx.query<{ version: number }>(latest);
    if (row?.version !== expectedVersion) return null;
    const version = expectedVersion + 1;
    await tx.query(insert, [version, JSON.stringify(policy), tx.nowMs, by]);
    tx.append([{ body: { kind: 'policy.changed', version, policy, by }, project: null }]);
    return version;
  });
  return value === null
    ? { outcome: 'refused', refusal: 'stale' }
    : { outcome: 'committed', sequence, value: { version: value } };
}

const columns = 'version, policy, created_ms AS "createdMs", created_by AS "createdBy"';
const list = {
  name: 'policies',
  text: `SELECT ${columns} FROM policy WHERE $1::int IS NULL OR version < $1 ORDER BY version DESC LIMIT $2`,
};
const one = { name: 'policy-at', text: `SELECT ${columns} FROM policy WHERE version = $1` };

export function policyVersions(
  database: Database,
  before: number | null,
  limit: number,
): Promise<PolicyRow[]> {
  return database.query<PolicyRow>(list, [before, limit]);
}

export async function policyAt(database: Database, version: number): Promise<PolicyRow | null> {
  const [row] = await database.query<PolicyRow>(one, [version]);
  return row ?? null;
}
