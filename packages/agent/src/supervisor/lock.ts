// One supervisor a directory. An agent that dies while its supervisor starts, or one that loses patience with a slow
// recovery, starts a second one; two of them would each replace the journal and promise claims the other never sees.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isAlive, startTicks } from './processes.ts';

/** Longer than another starter needs between looking at a dead holder's lock and taking it. */
const settleMs = 100;

export const ownName = (): string => `${process.pid} ${startTicks(process.pid) ?? 0}`;

/** False: another process holds it. */
export async function takeLock(path: string, mine = ownName()): Promise<boolean> {
  // Linked or renamed into place, so that nobody ever reads half of it.
  const own = `${path}.${mine.replace(' ', '-')}`;
  writeFileSync(own, mine, { mode: 0o600 });
  try {
    let holder: string | null = null;
    while (holder === null) {
      if (linked(own, path)) return true;
      holder = readHolder(path);
    }
    const [pid = 0, ticks = 0] = holder.split(' ').map(Number);
    if (isAlive(pid, ticks)) return false;
    // Two may see the same dead holder: the last to take it has it, and the other finds out.
    renameSync(own, path);
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    return readFileSync(path, 'utf8') === mine;
  } finally {
    rmSync(own, { force: true });
  }
}

export function releaseLock(path: string, mine = ownName()): void {
  try {
    if (readFileSync(path, 'utf8') === mine) rmSync(path);
  } catch {
    // Gone already.
  }
}

function linked(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
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
