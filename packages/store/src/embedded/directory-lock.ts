// One control plane a directory. The lock is a numbered file, `lock.<n>`, made by link(2) and never overwritten: the
// holder is the living process named in the highest number. Taking over a dead holder's lock is making the next
// number, which only one taker can. Releasing rewrites the file as free instead of deleting it, because numbers that went back would let
// two takers with different views of the directory both succeed. (Deleting a stale file and making a new one has that hole:
// the second taker deletes the first one's fresh lock.)
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperationalError } from '@muster/model';
import { isAlive, ownIdentity, type ProcessIdentity, pidNamespace } from '../process-identity.ts';

export interface DirectoryLock {
  release(): void;
}

const attempts = 100;

export function lockDirectory(directory: string): DirectoryLock {
  const mine = ownIdentity();
  const draft = join(directory, `.lock-${mine.pid}-${Math.random().toString(36).slice(2)}`);
  writeFileSync(draft, JSON.stringify(mine), { mode: 0o600 });
  try {
    for (let i = 0; i < attempts; i++) {
      const highest = highestLock(directory);
      refuseLiving(directory, highest);
      const path = join(directory, `lock.${highest + 1}`);
      if (!linked(draft, path)) continue;
      if (highestLock(directory) === highest + 1) return held(directory, highest + 1);
      rmSync(path, { force: true });
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new OperationalError('unavailable', `the lock of ${directory} keeps changing hands; try again`);
}

function held(directory: string, number: number): DirectoryLock {
  for (const other of lockNumbers(directory))
    if (other < number) rmSync(join(directory, `lock.${other}`), { force: true });
  const path = join(directory, `lock.${number}`);
  return {
    release() {
      writeFileSync(`${path}.free`, '{}', { mode: 0o600 });
      renameSync(`${path}.free`, path);
    },
  };
}

function refuseLiving(directory: string, number: number): void {
  const holder = number === 0 ? null : holderOf(join(directory, `lock.${number}`));
  if (holder === null) return;
  const file = join(directory, `lock.${number}`);
  if (holder.namespace !== pidNamespace()) {
    throw new OperationalError(
      'unavailable',
      `${directory} is locked by process ${holder.pid} of another container, whose life cannot be checked from here; stop it, or delete ${file} if you are sure it is gone`,
    );
  }
  if (isAlive(holder)) {
    throw new OperationalError(
      'unavailable',
      `another control plane, process ${holder.pid}, is using ${directory}; stop it first, or give this one a directory or database of its own`,
    );
  }
}

function holderOf(path: string): ProcessIdentity | null {
  try {
    const value = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProcessIdentity>;
    if (typeof value.pid !== 'number' || typeof value.start !== 'string') return null;
    return { pid: value.pid, start: value.start, namespace: value.namespace ?? null };
  } catch {
    // Files are linked whole, so what cannot be read was not written by a living holder.
    return null;
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function highestLock(directory: string): number {
  return Math.max(0, ...lockNumbers(directory));
}

function lockNumbers(directory: string): number[] {
  return readdirSync(directory).flatMap((name) => {
    const match = /^lock\.(\d+)$/.exec(name);
    return match ? [Number(match[1])] : [];
  });
}
