// Real PostgreSQL servers for tests: the embedded one always, and a second one of another version where there is one
// (TEST_DATABASE_URL, or Debian's programs in /usr/lib/postgresql). Each test file starts its own, migrates one
// template database and clones it, which takes milliseconds.
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { serverAccount } from '../embedded/account.ts';
import { startEmbedded } from '../embedded/start-embedded.ts';
import { migrate } from '../migrate.ts';
import { type OpenOptions, openStore, type PgStore } from '../open-store.ts';
import { startOf } from '../process-identity.ts';
import { newId } from './builders.ts';

export interface TestServer {
  /** A fresh database; `migrated` unless told otherwise. */
  database(options?: { readonly migrated?: boolean }): Promise<string>;
  /** A store on a fresh database, closed by `stop`. */
  store(options?: Partial<OpenOptions>): Promise<PgStore>;
  /** One store, its database emptied at each call: for many small tests, one after another. */
  emptied(): Promise<PgStore>;
  /** Of the server process, to kill it; null for a server that is not ours. */
  readonly pid: number | null;
  stop(): Promise<void>;
}

export interface ServerKind {
  readonly name: string;
  readonly start: () => Promise<TestServer>;
}

/** What tests run on; a kind that is missing says in its name what was not run and how to get it. */
export function serverKinds(): { readonly kinds: readonly ServerKind[]; readonly missing: string | null } {
  const embedded: ServerKind = { name: 'embedded PostgreSQL', start: embeddedServer };
  const url = process.env.TEST_DATABASE_URL;
  if (url)
    return { kinds: [embedded, { name: 'TEST_DATABASE_URL', start: () => foreign(url) }], missing: null };
  const programs = debianPrograms();
  if (programs) {
    const name = `PostgreSQL ${programs.version} of this machine`;
    return { kinds: [embedded, { name, start: () => debianServer(programs.bin) }], missing: null };
  }
  const missing =
    'not run on a second PostgreSQL version: set TEST_DATABASE_URL, or scripts/install-components gets one';
  return { kinds: [embedded], missing };
}

function debianPrograms(): { readonly bin: string; readonly version: number } | null {
  const root = '/usr/lib/postgresql';
  if (!existsSync(root)) return null;
  const versions = readdirSync(root)
    .map(Number)
    .filter((version) => version >= 15 && existsSync(join(root, String(version), 'bin', 'postgres')));
  const version = Math.max(0, ...versions);
  return version === 0 ? null : { bin: join(root, String(version), 'bin'), version };
}

async function embeddedServer(): Promise<TestServer> {
  const dir = temporary();
  // Test data is thrown away: nothing waits for the disk, and the end does not either.
  const server = await startEmbedded({ dir, settings: { fsync: 'off', full_page_writes: 'off' } });
  return testServer(server.url, server.pid, async () => {
    await killed(server.pid);
    await server.release();
    rmSync(dir, { recursive: true, force: true });
  });
}

function foreign(url: string): Promise<TestServer> {
  return Promise.resolve(testServer(url, null, async () => {}));
}

async function debianServer(bin: string): Promise<TestServer> {
  const dir = temporary();
  const account = serverAccount();
  const data = join(dir, 'data');
  const passwords = join(dir, 'pw');
  writeFileSync(passwords, 'test\n', { mode: 0o600 });
  if (account) for (const path of [dir, passwords]) chownSync(path, account.uid, account.gid);
  const run = { ...account, cwd: dir, stdio: 'ignore' as const, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } };
  const initdb = spawn(
    join(bin, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'test',
      '--auth=scram-sha-256',
      `--pwfile=${passwords}`,
      '-N',
      '--encoding=UTF8',
      '--locale=C',
    ],
    run,
  );
  const code = await new Promise((resolve) => initdb.once('close', resolve));
  if (code !== 0) throw new Error(`initdb in ${dir} exited with ${code}`);
  const flags = ['listen_addresses=', `unix_socket_directories=${dir}`, 'fsync=off', 'max_connections=100'];
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...flags.flatMap((flag) => ['-c', flag])], run);
  const url = `postgres://test:test@/postgres?host=${encodeURIComponent(dir)}`;
  await answering(url);
  return testServer(url, server.pid as number, async () => {
    await killed(server.pid as number);
    rmSync(dir, { recursive: true, force: true });
  });
}

/** PostgreSQL's immediate shutdown, seen through to the end. */
export async function killed(pid: number): Promise<void> {
  const start = startOf(pid);
  if (start === null) return;
  process.kill(pid, 'SIGQUIT');
  while (startOf(pid) === start) await sleep(10);
}

function temporary(): string {
  const dir = mkdtempSync(join(tmpdir(), 'muster-test-'));
  chmodSync(dir, 0o711);
  return dir;
}

/** Waits until a server takes connections. */
export async function answering(url: string): Promise<void> {
  let last: unknown;
  for (const endMs = performance.now() + 30_000; performance.now() < endMs; await sleep(25)) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('SELECT 1');
      return;
    } catch (error) {
      last = error;
    } finally {
      await client.end().catch(() => {});
    }
  }
  throw last;
}

/** One statement, outside any store. */
export async function statement<Row = Record<string, unknown>>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows as Row[];
  } finally {
    await client.end().catch(() => {});
  }
}

/** Runs the statement in a transaction that stays open, with its locks, until the returned function is called. */
export async function held(url: string, text: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  await client.query('BEGIN');
  await client.query(text);
  return () => client.end();
}

/** Statements one after the other on a connection of their own, outside any store. */
export async function statements(url: string) {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return {
    run: async (text: string, values: readonly unknown[] = []) =>
      void (await client.query(text, [...values])),
    end: () => client.end(),
  };
}

// Everything a test can have left behind; what migrations put there stays.
const emptying = `
${['job', 'idempotency', 'entry', 'run', 'task', 'node', 'inventory', 'enrolment', 'cluster', 'frozen', 'outbox', 'server', 'decision', 'event', 'token', 'audit'].map((table) => `DELETE FROM ${table};`).join('\n')}
DELETE FROM project WHERE path <> 'default';
UPDATE leader SET epoch = 0, server = NULL, holder = NULL, expires_ms = 0;
UPDATE log_head SET sequence = 0`;

function testServer(url: string, pid: number | null, end: () => Promise<void>): TestServer {
  let template: Promise<string> | null = null;
  const made: string[] = [];
  let shared: { readonly url: string; readonly store: PgStore } | null = null;
  const stores: PgStore[] = [];
  const create = async (from: string): Promise<string> => {
    const name = `test_${newId.text()}`;
    made.push(name);
    await statement(url, `CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY file_copy`);
    return name;
  };
  const migratedTemplate = async (): Promise<string> => {
    const name = await create('template0');
    await migrate({ url: databaseUrl(url, name) });
    return name;
  };
  const server: TestServer = {
    pid,
    async database({ migrated = true } = {}) {
      if (!migrated) return databaseUrl(url, await create('template0'));
      template ??= migratedTemplate();
      return databaseUrl(url, await create(await template));
    },
    async store(options = {}) {
      const store = await openStore({ url: options.url ?? (await server.database()), ...options });
      stores.push(store);
      return store;
    },
    async emptied() {
      if (shared === null) {
        const emptiedUrl = await server.database();
        shared = { url: emptiedUrl, store: await server.store({ url: emptiedUrl }) };
      } else await statement(shared.url, emptying);
      return shared.store;
    },
    async stop() {
      await Promise.all(stores.map((store) => store.close()));
      // A server that is not ours keeps nothing of ours.
      if (pid === null) for (const name of made) await statement(url, `DROP DATABASE ${name} WITH (FORCE)`);
      await end();
    },
  };
  return server;
}

/** The same server, another database. Kept as text: a URL without a host is not one that `URL` takes. */
export function databaseUrl(url: string, name: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/[^/]*\/)[^?]*/, `$1${name}`);
}
