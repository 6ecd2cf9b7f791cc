// Policy, projects and tokens. Tokens are known only by their SHA-256.
import type { Policy, TokenId } from '@muster/model';
import type { NewToken, Outcome, ProjectRow, TokenRow } from '../contract.ts';
import type { Database } from '../database.ts';
import { latestPolicy } from './read-log.ts';

export async function policy(
  database: Database,
): Promise<{ readonly version: number; readonly policy: Policy }> {
  const [row] = await database.query<{ version: number; policy: Policy }>(latestPolicy);
  if (!row) throw new Error('there is no policy');
  return row;
}

const insertProject = {
  name: 'insert-project',
  text: `
INSERT INTO project (path, created_ms, created_by) VALUES ($1, now_ms(), $2) ON CONFLICT (path) DO NOTHING RETURNING path`,
};
const projectExists = { name: 'project-exists', text: 'SELECT path FROM project WHERE path = $1' };

export async function createProject(
  database: Database,
  path: string,
  by: string,
): Promise<Outcome<null, 'exists' | 'no-parent'>> {
  const { value, sequence } = await database.write<null | 'exists' | 'no-parent'>(async (tx) => {
    const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : null;
    if (parent !== null && (await tx.query(projectExists, [parent])).length === 0) return 'no-parent';
    if ((await tx.query(insertProject, [path, by])).length === 0) return 'exists';
    tx.append([{ body: { kind: 'project.created', project: path, by }, project: path }]);
    return null;
  });
  return value === null ? { outcome: 'committed', sequence, value } : { outcome: 'refused', refusal: value };
}

const listProjects = {
  name: 'projects',
  text: `
SELECT path, created_ms AS "createdMs", created_by AS "createdBy" FROM project
WHERE $1::text IS NULL OR path = $1 OR starts_with(path, $1 || '/') ORDER BY path`,
};

export async function projects(database: Database, scope: string | null): Promise<readonly ProjectRow[]> {
  return database.query<ProjectRow>(listProjects, [scope]);
}

const insertToken = {
  name: 'insert-token',
  text: `
INSERT INTO token (id, name, hash, role, project, created_ms, created_by, expires_ms)
VALUES ($1, $2, $3, $4, $5, now_ms(), $6, $7)`,
};

export async function createToken(database: Database, token: NewToken): Promise<void> {
  const { id, name, hash, role, project, by, expiresMs } = token;
  await database.change(insertToken, [id, name, hash, role, project, by, expiresMs]);
}

const tokenColumns = `id, name, role, project, created_ms AS "createdMs", created_by AS "createdBy",
  expires_ms AS "expiresMs", last_used_ms AS "lastUsedMs", revoked_ms AS "revokedMs"`;
const liveToken = {
  name: 'live-token',
  text: `
SELECT ${tokenColumns}, coalesce(last_used_ms < now_ms() - 60000, true) AS stale FROM token
WHERE hash = $1 AND revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > now_ms())`,
};
// At most once a minute: reading a token must not cost a write.
const touchToken = {
  name: 'touch-token',
  text: `
UPDATE token SET last_used_ms = now_ms()
WHERE id = $1 AND coalesce(last_used_ms < now_ms() - 60000, true) RETURNING last_used_ms AS "lastUsedMs"`,
};

export async function tokenByHash(database: Database, hash: string): Promise<TokenRow | null> {
  const [row] = await database.query<TokenRow & { stale: boolean }>(liveToken, [hash]);
  if (!row) return null;
  const { stale, ...token } = row;
  const [touched] = stale ? await database.query<{ lastUsedMs: number }>(touchToken, [token.id]) : [];
  return { ...token, lastUsedMs: touched?.lastUsedMs ?? token.lastUsedMs };
}

const allTokens = { name: 'tokens', text: `SELECT ${tokenColumns} FROM token ORDER BY created_ms, id` };
const revoke = {
  name: 'revoke-token',
  text: 'UPDATE token SET revoked_ms = now_ms() WHERE id = $1 AND revoked_ms IS NULL RETURNING id',
};

export async function tokens(database: Database): Promise<readonly TokenRow[]> {
  return database.query<TokenRow>(allTokens);
}

export async function revokeToken(database: Database, id: TokenId): Promise<boolean> {
  return (await database.change(revoke, [id])).length > 0;
}
