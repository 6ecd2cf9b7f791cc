// A real PostgreSQL from npm for those who gave no DATABASE_URL. `dir` holds everything: the lock, the password, the
// data and the socket. Starting is the same whether the server is new, was stopped, or survived the crash of its
// parent: lock, look, start what does not run, wait until it answers.
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperationalError } from '@muster/model';
import pg from 'pg';
import { checkReach, makePassable, reachablePrograms, serverAccount } from './account.ts';
import { type DirectoryLock, lockDirectory } from './directory-lock.ts';
import { keepRunning } from './keeper.ts';
import { type Cluster, initialise, runningPid, start, stop } from './postmaster.ts';
import { findPrograms } from './programs.ts';

export interface EmbeddedOptions {
  readonly dir: string;
  readonly log?: (line: string) => void;
  /** Start the server again when it dies while this process lives. */
  readonly keep?: boolean;
  /** PostgreSQL settings that win over ours. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Embedded {
  readonly url: string;
  /** True when a server of an earlier control plane was still running here. */
  readonly adopted: boolean;
  readonly pid: number;
  /** Fast shutdown, then the directory is free for another control plane. */
  stop(): Promise<void>;
  /** Lets go of the directory and leaves the server running, for the next control plane to adopt. */
  release(): Promise<void>;
}

const user = 'muster';
const database = 'muster';
/** sun_path has 108 bytes; the socket's own name takes 16. */
const socketDirectoryMax = 90;
const readyWithinMs = 60_000;

export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const account = serverAccount();
  if (account) makePassable(options.dir);
  else mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const dir = realpathSync(options.dir);
  if (account) chmodSync(dir, 0o711);
  checkReach(dir, account);
  const lock = lockDirectory(dir);
  try {
    const { native, version } = findPrograms();
    const cluster: Cluster = {
      programs: reachablePrograms(native, dir, version, account),
      data: join(dir, 'data'),
      socket: socketDirectory(dir),
      logFile: join(dir, 'postgres.log'),
      account,
      user,
      password: password(dir),
      settings: options.settings ?? {},
    };
    return await startCluster(cluster, lock, options.log ?? (() => {}), options.keep ?? false);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function startCluster(
  cluster: Cluster,
  lock: DirectoryLock,
  log: (line: string) => void,
  keep: boolean,
): Promise<Embedded> {
  if (!existsSync(cluster.data)) {
    log(`creating an embedded PostgreSQL in ${cluster.data}`);
    await initialise(cluster);
  }
  const running = runningPid(cluster);
  const started =
    running === null ? await start(cluster) : { pid: running, gone: () => runningPid(cluster) === null };
  log(`${running === null ? 'started' : 'adopted'} the embedded PostgreSQL, process ${started.pid}`);
  await waitReady(cluster, started.gone);
  await createDatabase(cluster);
  const keeper = keep ? keepRunning({ started, start: () => start(cluster), log }) : null;
  const pid = (): number => keeper?.pid ?? started.pid;
  return {
    url: urlOf(cluster, database),
    adopted: running !== null,
    get pid() {
      return pid();
    },
    async stop() {
      await keeper?.end();
      await stop(pid());
      lock.release();
    },
    async release() {
      await keeper?.end();
      lock.release();
    },
  };
}

function socketDirectory(dir: string): string {
  const inside = join(dir, 'run');
  if (Buffer.byteLength(inside) <= socketDirectoryMax) return inside;
  const name = createHash('sha256').update(dir).digest('hex').slice(0, 16);
  return join(realpathSync(tmpdir()), `muster-${process.getuid?.() ?? 0}-${name}`);
}

function password(dir: string): string {
  const file = join(dir, 'password');
  if (!existsSync(file)) {
    const draft = `${file}.new`;
    writeFileSync(draft, randomBytes(24).toString('base64url'), { mode: 0o600 });
    renameSync(draft, file);
  }
  return readFileSync(file, 'utf8').trim();
}

function urlOf(cluster: Cluster, name: string): string {
  return `postgres://${cluster.user}:${cluster.password}@/${name}?host=${encodeURIComponent(cluster.socket)}`;
}

async function waitReady(cluster: Cluster, gone: () => boolean): Promise<void> {
  let last: unknown = null;
  for (const endMs = performance.now() + readyWithinMs; performance.now() < endMs; await sleep(25)) {
    const client = new pg.Client({
      connectionString: urlOf(cluster, 'postgres'),
      connectionTimeoutMillis: 5000,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('SELECT 1');
      return;
    } catch (error) {
      last = error;
      if ((error as { code?: string }).code === '28P01') break;
      if (gone()) break;
    } finally {
      await client.end().catch(() => {});
    }
  }
  throw new OperationalError(
    'unavailable',
    `the embedded PostgreSQL in ${cluster.data} does not answer: ${(last as Error)?.message}. Its log: ${tail(cluster.logFile)}`,
    { cause: last },
  );
}

function tail(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').slice(-5).join(' | ') : '(none)';
}

async function createDatabase(cluster: Cluster): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf(cluster, 'postgres') });
  client.on('error', () => {});
  await client.connect();
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${database}`);
  } finally {
    await client.end();
  }
}
