// Past use of projects, kept in the transactions that plan and end runs, by the same function as the engine's: a rebuilt
// engine has the numbers of a live one. The rows are locked by path after everything else of a transaction but the log's
// head, so that the changes of one project are made in the order of their events; the half-life is read under that lock, and
// a change of policy waits for the leader's row, which every such transaction holds.
import { type ProjectUsage, usageAfter } from '@muster/model';
import type { Reader, Tx } from '../database.ts';
import type { UsageChange } from '../rules/records.ts';

const lock = {
  name: 'lock-usage',
  text: `
SELECT project, keys FROM project_usage WHERE project = ANY ($1::text[]) ORDER BY project FOR NO KEY UPDATE`,
};
const create = {
  name: 'create-usage',
  text: `
INSERT INTO project_usage (project, keys) SELECT project, '{}' FROM unnest($1::text[]) AS p (project) ORDER BY project
ON CONFLICT (project) DO NOTHING`,
};
const halfLife = {
  name: 'half-life',
  text: `
SELECT (policy -> 'share' ->> 'halfLifeMs')::bigint AS "halfLifeMs" FROM policy ORDER BY version DESC LIMIT 1`,
};
const update = {
  name: 'update-usage',
  text: `
UPDATE project_usage SET keys = c.keys::jsonb FROM unnest($1::text[], $2::text[]) AS c (project, keys)
WHERE project_usage.project = c.project`,
};

/** In a fenced transaction. */
export async function writeUsage(tx: Tx, changes: readonly UsageChange[]): Promise<void> {
  if (changes.length === 0) return;
  const paths = [...new Set(changes.map(({ project }) => project))];
  const [rows, [policy]] = await Promise.all([
    lockUsage(tx, paths),
    tx.query<{ halfLifeMs: number }>(halfLife),
  ]);
  const usages = new Map(rows.map((row) => [row.project, row]));
  for (const { project, uses, sign } of changes) {
    const before = usages.get(project) as ProjectUsage;
    usages.set(project, usageAfter(before, uses, sign, tx.nowMs, policy?.halfLifeMs as number));
  }
  await tx.query(update, [[...usages.keys()], [...usages.values()].map(({ keys }) => JSON.stringify(keys))]);
}

async function lockUsage(tx: Tx, paths: readonly string[]): Promise<ProjectUsage[]> {
  const rows = await tx.query<ProjectUsage>(lock, [paths]);
  if (rows.length === paths.length) return rows;
  await tx.query(create, [paths]);
  return tx.query<ProjectUsage>(lock, [paths]);
}

const all = { name: 'engine-usage', text: 'SELECT project, keys FROM project_usage ORDER BY project' };

export function loadUsage(reader: Reader): Promise<ProjectUsage[]> {
  return reader.query<ProjectUsage>(all);
}
