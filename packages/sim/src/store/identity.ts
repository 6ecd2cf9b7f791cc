// Policy, projects, tokens and the audit trail.
import type { Policy, TokenId } from '@muster/model';
import type { NewAudit, NewToken, Outcome, PolicyRow, ProjectRow, TokenRow } from '@muster/store';
import { check, type MemoryDatabase } from './database.ts';

export function setPolicy(
  database: MemoryDatabase,
  policy: Policy,
  expectedVersion: number,
  by: string,
): Outcome<{ readonly version: number }, 'stale'> {
  const { value, sequence } = database.write((tx) => {
    if (tx.tables.policy().version !== expectedVersion) return null;
    const version = expectedVersion + 1;
    tx.tables.policies.push({ version, policy, createdMs: tx.nowMs, createdBy: by });
    tx.append([{ body: { kind: 'policy.changed', version, policy, by }, project: null }]);
    return { version };
  });
  return value === null
    ? { outcome: 'refused', refusal: 'stale' }
    : { outcome: 'committed', sequence, value };
}

export function policyVersions(
  { tables }: MemoryDatabase,
  before: number | null,
  limit: number,
): readonly PolicyRow[] {
  return tables.policies
    .filter(({ version }) => before === null || version < before)
    .reverse()
    .slice(0, limit);
}

export function createProject(
  database: MemoryDatabase,
  path: string,
  by: string,
): Outcome<null, 'exists' | 'no-parent'> {
  const { value, sequence } = database.write<null | 'exists' | 'no-parent'>((tx) => {
    const { projects } = tx.tables;
    const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : null;
    if (parent !== null && !projects.has(parent)) return 'no-parent';
    if (projects.has(path)) return 'exists';
    projects.set(path, { path, createdMs: tx.nowMs, createdBy: by });
    tx.append([{ body: { kind: 'project.created', project: path, by }, project: path }]);
    return null;
  });
  return value === null ? { outcome: 'committed', sequence, value } : { outcome: 'refused', refusal: value };
}

export function projects({ tables }: MemoryDatabase, scope: string | null): readonly ProjectRow[] {
  return [...tables.projects.values()]
    .filter(({ path }) => covers(scope, path))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A token for `a` covers `a` and `a/b`, never `a-b`. */
export function covers(scope: string | null, project: string | null): boolean {
  if (scope === null) return true;
  return project !== null && (project === scope || project.startsWith(`${scope}/`));
}

export function createToken(database: MemoryDatabase, token: NewToken): void {
  const { id, name, hash, role, project, by, expiresMs } = token;
  check(!database.tables.tokens.has(id), `token ${id} is new`);
  const row = { id, name, hash, role, project, expiresMs, createdBy: by, createdMs: database.nowMs() };
  database.tables.tokens.set(id, { ...row, lastUsedMs: null, revokedMs: null });
}

const touchEveryMs = 60_000;

/** The live token with this hash; that it was used is noted at most once a minute. */
export function tokenByHash(database: MemoryDatabase, hash: string): TokenRow | null {
  const nowMs = database.nowMs();
  for (const row of database.tables.tokens.values()) {
    if (row.hash !== hash || row.revokedMs !== null) continue;
    if (row.expiresMs !== null && row.expiresMs <= nowMs) continue;
    const stale = row.lastUsedMs === null || row.lastUsedMs < nowMs - touchEveryMs;
    const touched = stale ? { ...row, lastUsedMs: nowMs } : row;
    database.tables.tokens.set(row.id, touched);
    return tokenRow(touched);
  }
  return null;
}

export function tokens({ tables }: MemoryDatabase): readonly TokenRow[] {
  return [...tables.tokens.values()]
    .sort((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1))
    .map(tokenRow);
}

function tokenRow({ hash: _, ...row }: TokenRow & { readonly hash: string }): TokenRow {
  return row;
}

export function revokeToken(database: MemoryDatabase, id: TokenId): boolean {
  const row = database.tables.tokens.get(id);
  if (!row || row.revokedMs !== null) return false;
  database.tables.tokens.set(id, { ...row, revokedMs: database.nowMs() });
  return true;
}

export function audit(database: MemoryDatabase, entries: readonly NewAudit[]): void {
  const { audit: rows } = database.tables;
  for (const entry of entries)
    rows.push({
      ...entry,
      detail: JSON.parse(JSON.stringify(entry.detail)),
      id: (rows.at(-1)?.id ?? 0) + 1,
      atMs: database.nowMs(),
    });
}
