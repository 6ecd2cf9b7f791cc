// The agent's directory. Tasks must reach their scratch directories, and nothing else of ours:
//   <dir>          0711 for root (to be passed through, not listed), 0700 otherwise
//     agent/       0700: identity.json, epoch, agent.lock, journal, supervisor.*, output/
//     scratch/     0711: one directory a task, owned by its user
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type NodeId, OperationalError } from '@muster/model';
import { lockHolder, releaseLock, takeLock } from './supervisor/lock.ts';

export interface StateDir {
  readonly private: string;
  readonly output: string;
}

/** A unix socket's path may have 107 bytes. */
const longestSocketPath = 107;

export function openStateDir(path: string): StateDir {
  if (process.platform !== 'linux')
    throw new OperationalError('unavailable', `the agent runs on Linux, and this is ${process.platform}`);
  const dir = resolve(path);
  const inner = join(dir, 'agent');
  if (Buffer.byteLength(join(inner, 'supervisor.sock')) > longestSocketPath)
    throw new OperationalError('bad-request', `${dir} is too long for a socket: choose a shorter directory`);
  try {
    mkdirSync(inner, { recursive: true, mode: 0o700 });
    chmodSync(dir, process.getuid?.() === 0 ? 0o711 : 0o700);
    chmodSync(inner, 0o700);
    mkdirSync(join(inner, 'output'), { recursive: true, mode: 0o700 });
  } catch (cause) {
    const message = `the agent's directory ${dir} cannot be used: ${(cause as Error).message}`;
    throw new OperationalError('unavailable', message, { cause });
  }
  return { private: inner, output: join(inner, 'output') };
}

/**
 * Where tasks get their scratch directories: beside our own files, unless the tasks' users cannot get there (an agent
 * of root below /root); then in /var/tmp.
 */
export function openScratchRoot(path: string, node: NodeId): string {
  const dir = resolve(path);
  const reachable = process.getuid?.() !== 0 || everybodyMayPass(dirname(dir));
  const scratch = reachable ? join(dir, 'scratch') : join('/var/tmp', `muster-${node}`);
  mkdirSync(scratch, { recursive: true, mode: 0o711 });
  // In /var/tmp somebody else could have made it first, or a link to a directory of ours.
  const found = lstatSync(scratch);
  if (!found.isDirectory() || found.uid !== process.getuid?.())
    throw new OperationalError(
      'unavailable',
      `${scratch} is not a directory of our own: remove it or choose another directory`,
    );
  chmodSync(scratch, 0o711);
  return scratch;
}

function everybodyMayPass(path: string): boolean {
  for (let dir = path; ; dir = dirname(dir)) {
    if ((statSync(dir).mode & 0o001) === 0) return false;
    if (dir === dirname(dir)) return true;
  }
}

/** Two agents on one directory would each believe to hold its tasks. Returns the release of the lock. */
export function lockStateDir(dir: StateDir): () => void {
  const path = join(dir.private, 'agent.lock');
  if (takeLock(path)) return () => releaseLock(path);
  throw new OperationalError(
    'conflict',
    `another agent (pid ${lockHolder(path)}) already uses ${dirname(dir.private)}`,
  );
}

/** Replaces a small file so that after a crash it is wholly the old or wholly the new one. */
export function writeDurably(path: string, text: string): void {
  const next = `${path}.new`;
  const file = openSync(next, 'w', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(next, path);
  const dir = openSync(dirname(path), 'r');
  try {
    fsyncSync(dir);
  } finally {
    closeSync(dir);
  }
}

/** The highest epoch any server has shown us; commands below it come from a leader of the past. */
export class Epoch {
  readonly #path: string;
  #highest: number;
  #written: number;

  constructor(dir: StateDir) {
    this.#path = join(dir.private, 'epoch');
    this.#highest = existsSync(this.#path) ? Number(readFileSync(this.#path, 'utf8')) || 0 : 0;
    this.#written = this.#highest;
  }

  get highest(): number {
    return this.#highest;
  }

  /** False: stale. A new leader is rare, so the write may block. */
  admit(epoch: number): boolean {
    if (epoch < this.#highest) return false;
    this.#highest = epoch;
    if (epoch > this.#written) this.#write(epoch);
    return true;
  }

  #write(epoch: number): void {
    try {
      writeDurably(this.#path, String(epoch));
      this.#written = epoch;
    } catch {
      // A full disk must not cost the connection, and with it every lease. Memory serves until the next one tries again, and a
      // restarted agent hears today's epoch in its first welcome, before any command.
    }
  }
}
