// One agent and one supervisor a directory. An agent that dies while its supervisor starts, or one that loses patience with a slow
// recovery, starts a second one; two of them would each replace the journal and promise claims the other never sees.
//
// A lock is a file that names its holder: pid, start time and boot, which no two processes ever share. Who finds a dead
// holder first takes the right to replace him, a lock of its own beside the first; only its holder may touch the lock of
// that dead one. So nothing depends on how long a starter takes between looking and taking.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { bootId } from './clock.ts';
import { isAlive, startTicks } from './processes.ts';

export const nameOf = (pid: number): string => `${pid} ${startTicks(pid) ?? 0} ${bootId()}`;

/** False: another process holds it, or is about to. */
export function takeLock(path: string, mine = nameOf(process.pid)): boolean {
  for (;;) {
    if (linked(path, mine)) return true;
    const holder = readHolder(path);
    if (holder === null) continue;
    if (isLiving(holder)) return false;
    const right = `${path}.after-${holder.replaceAll(/[^\w-]/g, '-')}`;
    if (!takeLock(right, mine)) return false;
    // Another one may have had the right, used it and given it back since we looked.
    const isOurs = readHolder(path) === holder;
    if (isOurs) write(mine, (own) => renameSync(own, path), path);
    rmSync(right, { force: true });
    if (isOurs) return true;
  }
}

export function releaseLock(path: string, mine = nameOf(process.pid)): void {
  if (readHolder(path) === mine) rmSync(path, { force: true });
}

/** The pid of whoever holds it; null when nobody does. */
export function lockHolder(path: string): number | null {
  const holder = readHolder(path);
  return holder === null ? null : Number(holder.split(' ')[0]);
}

function isLiving(holder: string): boolean {
  const [pid = '', ticks = '', boot = bootId()] = holder.split(' ');
  return boot === bootId() && isAlive(Number(pid), Number(ticks));
}

function linked(path: string, mine: string): boolean {
  try {
    write(mine, (own) => linkSync(own, path), path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/** Linked or renamed into place, so that nobody ever reads half of it. */
function write(mine: string, place: (own: string) => void, path: string): void {
  const own = `${path}.${mine.split(' ', 2).join('-')}`;
  writeFileSync(own, mine, { mode: 0o600 });
  try {
    place(own);
  } finally {
    rmSync(own, { force: true });
  }
}

/** Null: released since we looked. */
function readHolder(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}
