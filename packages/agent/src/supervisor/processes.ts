// What /proc tells about processes: whether a pid is still the same process (its start time never repeats within a
// boot), and which processes carry a task's key in their environment, wherever they have gone since.
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';

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

/** Sends a signal (to a group, when negative) and says whether there was anything to send it to. */
export function signalPid(pid: number, signal: NodeJS.Signals): boolean {
  // 0 would be our own group, -1 every process there is.
  if (pid === 0 || pid === -1) return false;
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

const keyVariable = 'MUSTER_TASK_KEY=';
const longestEnviron = 4 * 1024 * 1024;

/** The task whose key a process carries in its environment; null for processes that are no task's, or not ours to see. */
function keyOf(pid: string, buffer: Buffer): string | null {
  let text: string;
  try {
    const file = openSync(`/proc/${pid}/environ`, 'r');
    try {
      text = readAll(file, buffer);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return null;
    // Out of file descriptors, say: nothing was seen, and nothing may be concluded.
    throw error;
  }
  const at = text.startsWith(keyVariable) ? 0 : text.indexOf(`\0${keyVariable}`) + 1;
  if (at === 0 && !text.startsWith(keyVariable)) return null;
  const end = text.indexOf('\0', at);
  return text.slice(at + keyVariable.length, end < 0 ? undefined : end);
}

function readAll(file: number, buffer: Buffer): string {
  let text = '';
  for (;;) {
    const length = readSync(file, buffer, 0, buffer.length, null);
    text += buffer.toString('latin1', 0, length);
    if (length === 0 || text.length > longestEnviron) return text;
  }
}

const strangersKnownMs = 1000;
const lookAtOnce = 50;

/**
 * Finds processes by the key in their environment. Most of a machine's processes are no task's and stay; they are known
 * for a second, so that ends that follow each other closely look only at what is new. (A pid cannot come round again in
 * that time.)
 */
export class ProcessScan {
  readonly #buffer = Buffer.alloc(64 * 1024);
  #strangers = new Set<string>();
  #sinceMs = 0;

  /** Pids by task key, for the wanted keys: one pass over /proc, whatever the number of keys. */
  async find(wanted: ReadonlySet<string>): Promise<Map<string, number[]>> {
    const nowMs = performance.now();
    if (nowMs - this.#sinceMs > strangersKnownMs) {
      this.#strangers = new Set();
      this.#sinceMs = nowMs;
    }
    const found = new Map<string, number[]>();
    let looked = 0;
    for (const pid of readdirSync('/proc')) {
      if (pid > '9~' || pid < '1' || this.#strangers.has(pid)) continue;
      // These files are the kernel's memory; still, a machine may have ten thousand processes.
      if (++looked % lookAtOnce === 0) await new Promise((resolve) => setImmediate(resolve));
      const key = keyOf(pid, this.#buffer);
      if (key === null) this.#strangers.add(pid);
      else if (wanted.has(key)) found.set(key, [...(found.get(key) ?? []), Number(pid)]);
    }
    return found;
  }
}

export function pidsByKey(wanted: ReadonlySet<string>): Promise<Map<string, number[]>> {
  return new ProcessScan().find(wanted);
}
