// The server process itself: initdb, start, find one that is still running, stop. It runs detached, in a session of its own, so that
// neither our death nor a Ctrl-C in our terminal reaches it.
import { spawn } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperationalError } from '@muster/model';
import { startOf } from '../process-identity.ts';
import { type Account, giveTo, privateDirectory } from './account.ts';

export interface Cluster {
  /** Folder with bin/initdb and bin/postgres. */
  readonly programs: string;
  readonly data: string;
  readonly socket: string;
  readonly logFile: string;
  readonly account: Account | null;
  readonly user: string;
  readonly password: string;
  /** Win over ours. */
  readonly settings: Readonly<Record<string, string>>;
}

// Small enough for a laptop, large enough that a million queued jobs stay in memory. synchronous_commit and fsync stay
// on: an acknowledged submit is never lost. Plans change hundreds of rows at once, so JIT only adds latency.
const ourSettings: Readonly<Record<string, string>> = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '100',
  shared_buffers: '128MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_wal_size: '2GB',
  min_wal_size: '256MB',
  checkpoint_timeout: '15min',
  autovacuum_naptime: '15s',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
};

/** Made aside and renamed, so that a crash in the middle leaves no half-made data directory behind. */
export async function initialise(cluster: Cluster): Promise<void> {
  const draft = `${cluster.data}.new`;
  rmSync(draft, { recursive: true, force: true });
  privateDirectory(draft, cluster.account);
  const passwordFile = `${cluster.data}.pw`;
  writeFileSync(passwordFile, `${cluster.password}\n`, { mode: 0o600 });
  if (cluster.account) chownSync(passwordFile, cluster.account.uid, cluster.account.gid);
  try {
    await runInitdb(cluster, draft, passwordFile);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, cluster.data);
}

async function runInitdb(cluster: Cluster, draft: string, passwordFile: string): Promise<void> {
  const child = spawn(
    join(cluster.programs, 'bin', 'initdb'),
    [
      `--pgdata=${draft}`,
      '--auth=scram-sha-256',
      `--username=${cluster.user}`,
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--locale=C',
    ],
    { ...cluster.account, env: serverEnv(), cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const code = await exitOf(child);
  if (code === 0) return;
  throw new OperationalError(
    'unavailable',
    `initdb of the embedded PostgreSQL failed in ${draft}: ${errors.trim()}`,
  );
}

function exitOf(child: ReturnType<typeof spawn>): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code));
  });
}

function serverEnv(): Record<string, string> {
  return { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

export interface Started {
  readonly pid: number;
  /** Whether the process is gone, and so will never be ready. */
  readonly gone: () => boolean;
}

export async function start(cluster: Cluster): Promise<Started> {
  privateDirectory(cluster.socket, cluster.account);
  giveTo(cluster.data, cluster.account);
  const log = openSync(cluster.logFile, 'a', 0o600);
  const flags = Object.entries({
    ...ourSettings,
    ...cluster.settings,
    unix_socket_directories: cluster.socket,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  try {
    const child = spawn(join(cluster.programs, 'bin', 'postgres'), ['-D', cluster.data, ...flags], {
      ...cluster.account,
      cwd: cluster.data,
      env: serverEnv(),
      detached: true,
      stdio: ['ignore', log, log],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    return { pid: child.pid as number, gone: () => child.exitCode !== null || child.signalCode !== null };
  } finally {
    closeSync(log);
  }
}

/**
 * The pid of a server that still runs on this data directory, or null. A postmaster.pid whose number now belongs to another program is removed:
 * PostgreSQL itself would take that program for a server and refuse to start.
 */
export function runningPid(cluster: Cluster): number | null {
  const file = join(cluster.data, 'postmaster.pid');
  if (!existsSync(file)) return null;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 0 || startOf(pid) === null) return null;
  if (servesDirectory(pid, cluster.data)) return pid;
  rmSync(file, { force: true });
  return null;
}

/** A postmaster's working directory is its data directory. */
function servesDirectory(pid: number, data: string): boolean {
  if (process.platform !== 'linux') return true;
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data);
  } catch {
    return false;
  }
}

const stopWithinMs = 60_000;

/** SIGINT is PostgreSQL's fast shutdown: connections are cut, everything is written, no recovery is needed. */
export async function stop(pid: number): Promise<void> {
  const start = startOf(pid);
  if (start === null) return;
  process.kill(pid, 'SIGINT');
  for (const endMs = performance.now() + stopWithinMs; performance.now() < endMs; await sleep(20))
    if (startOf(pid) !== start) return;
  throw new OperationalError(
    'unavailable',
    `the embedded PostgreSQL (process ${pid}) did not stop within 60 s`,
  );
}
