// Brings a database to this binary's schema: plain SQL files in order, each in one transaction together with its row in
// `schema_version`, so that a crash in the middle leaves the version before. A transaction-level advisory lock keeps
// several starting servers apart and works through poolers. A newer schema than this binary knows is refused, and so is one
// whose migrations had another text when they were applied: its columns would be missing only once a statement asks for them.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { defaultPolicy, invariant, OperationalError } from '@muster/model';
import pg from 'pg';

const folder = new URL('./migrations/', import.meta.url);
const oldestServer = 15;

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
}

export function migrations(): readonly Migration[] {
  const found = readdirSync(folder)
    .filter((name) => /^\d{4}-.*\.sql$/.test(name))
    .sort()
    .map((name) => ({
      version: Number(name.slice(0, 4)),
      name: name.slice(0, -'.sql'.length),
      text: readFileSync(new URL(name, folder), 'utf8'),
    }));
  found.forEach((migration, i) => {
    invariant(migration.version === i + 1, `migration ${migration.name} is out of order`);
  });
  return found;
}

export interface MigrateOptions {
  readonly url: string;
  readonly log?: (line: string) => void;
  /** For tests: what this binary knows. */
  readonly known?: readonly Migration[];
  readonly connectTimeoutMs?: number;
}

/** Host and name, never the password; nothing for a URL that only the driver understands. */
function where(url: string): string {
  if (!URL.canParse(url)) return '';
  const { host, pathname } = new URL(url);
  return host === '' ? '' : `${host}${pathname} `;
}

export async function migrate(options: MigrateOptions): Promise<number> {
  const known = options.known ?? migrations();
  const client = new pg.Client({
    connectionString: options.url,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
    application_name: 'muster-migrate',
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await checkServer(client);
    while (await step(client, known, options.log ?? (() => {})));
    return known.length;
  } catch (error) {
    if (error instanceof OperationalError) throw error;
    throw new OperationalError(
      'unavailable',
      `the database ${where(options.url)}could not be prepared: ${(error as Error).message}; check that it runs and that its URL is right`,
      {
        cause: error,
      },
    );
  } finally {
    await client.end().catch(() => {});
  }
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query('SHOW server_version_num');
  const major = Math.floor(Number(rows[0].server_version_num) / 10_000);
  if (major >= oldestServer) return;
  throw new OperationalError(
    'unavailable',
    `this PostgreSQL is version ${major}; Muster needs ${oldestServer} or later`,
  );
}

/** Runs the next migration; false when there is none. */
async function step(
  client: pg.Client,
  known: readonly Migration[],
  log: (line: string) => void,
): Promise<boolean> {
  await client.query('BEGIN');
  try {
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('muster.migrate'))`);
    const version = await schemaVersion(client);
    refuseNewer(version, known.length);
    await refuseChanged(client, known);
    const next = known[version];
    if (next) {
      log(`preparing the database: ${next.name}`);
      await client.query(next.text);
      if (next.version === 1) await seed(client);
      await client.query(
        'INSERT INTO schema_version (version, name, applied_ms, hash) VALUES ($1, $2, now_ms(), $3)',
        [next.version, next.name, hashOf(next)],
      );
    }
    await client.query('COMMIT');
    return next !== undefined;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function schemaVersion(client: pg.Client): Promise<number> {
  await client.query(
    'CREATE TABLE IF NOT EXISTS schema_version (version integer PRIMARY KEY, name text NOT NULL, applied_ms bigint NOT NULL, hash text)',
  );
  await client.query('ALTER TABLE schema_version ADD COLUMN IF NOT EXISTS hash text');
  const { rows } = await client.query('SELECT coalesce(max(version), 0) AS version FROM schema_version');
  return rows[0].version as number;
}

function refuseNewer(version: number, known: number): void {
  if (version <= known) return;
  throw new OperationalError(
    'unavailable',
    `the database has schema ${version} and this release of Muster knows ${known}: it was used by a newer release; start that one, or restore a backup made before the upgrade`,
  );
}

/** Of what the migration does to a database; a checkout may have other line ends. */
function hashOf({ text }: Migration): string {
  return createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex');
}

/** A row without a hash is older than hashes are, and nobody knows what its migration said. */
async function refuseChanged(client: pg.Client, known: readonly Migration[]): Promise<void> {
  const { rows } = await client.query<{ version: number; hash: string | null }>(
    'SELECT version, hash FROM schema_version ORDER BY version',
  );
  for (const { version, hash } of rows) {
    const migration = known[version - 1];
    if (!migration || hash === hashOf(migration)) continue;
    throw new OperationalError(
      'unavailable',
      `the database was prepared by another version of the code: its schema ${migration.name} is not the one of this Muster; start the version that made it, or give this one an empty database (a new --dir)`,
    );
  }
}

async function seed(client: pg.Client): Promise<void> {
  await client.query(`INSERT INTO policy VALUES (1, $1, now_ms(), 'muster')`, [
    JSON.stringify(defaultPolicy),
  ]);
  await client.query(`INSERT INTO project VALUES ('default', now_ms(), 'muster')`);
}
