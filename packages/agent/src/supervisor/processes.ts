// What /proc tells about processes: whether a pid is still the same process (its start time never repeats within a
// boot), and which processes carry a task's key in their environment, wherever they have gone since.
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Start time in clock ticks since boot; null when there is no such process. */
export function startTicks(pid: number): number | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name may hold spaces and brackets; the fields after its last bracket do not.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : Number(fields[19]);
  } catch {
    return null;
  }
}

export function isAlive(pid: number, ticks: number): boolean {
  return startTicks(pid) === ticks;
}

/** Sends a signal and says whether there was anything to send it to. */
export function signalPid(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

const keyVariable = 'MUSTER_TASK_KEY=';

/** Pids by task key, for the wanted keys. One pass over /proc, whatever the number of keys. */
export async function pidsByKey(wanted: ReadonlySet<string>): Promise<Map<string, number[]>> {
  const found = new Map<string, number[]>();
  const pids = readdirSync('/proc').filter((name) => name.charCodeAt(0) >= 49 && name.charCodeAt(0) <= 57);
  const batch = 64;
  for (let i = 0; i < pids.length; i += batch) {
    await Promise.all(pids.slice(i, i + batch).map((pid) => look(pid)));
  }
  return found;

  async function look(pid: string): Promise<void> {
    // Gone, a kernel thread, or another user's: none of them is a task of ours.
    const text = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    const at = text.startsWith(keyVariable) ? 0 : text.indexOf(`\0${keyVariable}`) + 1;
    if (at === 0 && !text.startsWith(keyVariable)) return;
    const end = text.indexOf('\0', at);
    const key = text.slice(at + keyVariable.length, end < 0 ? undefined : end);
    if (!wanted.has(key)) return;
    const list = found.get(key);
    if (list) list.push(Number(pid));
    else found.set(key, [Number(pid)]);
  }
}
