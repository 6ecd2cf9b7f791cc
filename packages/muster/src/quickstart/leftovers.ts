// Everything the quickstart started carries its folder in its command line or environment: supervisors, tasks, the database. So it
// can prove that nothing is left, and end by id what is.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export function processesOf(dir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter(
      (pid) => mentions(`/proc/${pid}/environ`, `=${dir}/`) || mentions(`/proc/${pid}/cmdline`, `${dir}/`),
    )
    .map(Number);
}

function mentions(file: string, text: string): boolean {
  try {
    return readFileSync(file, 'latin1').includes(text);
  } catch {
    // Gone meanwhile, or not ours to read.
    return false;
  }
}

const politeMs = 3000;

/** Asks, waits a little, insists. Returns what is still there. */
export async function endProcessesOf(dir: string): Promise<number[]> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (const pid of processesOf(dir)) send(pid, signal);
    for (const deadline = performance.now() + politeMs; performance.now() < deadline; await sleep(50))
      if (processesOf(dir).length === 0) return [];
  }
  return processesOf(dir);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone meanwhile.
  }
}
