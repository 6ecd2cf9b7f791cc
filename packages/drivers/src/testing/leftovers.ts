// Processes that belong to a test's directory: supervisors by their command line, tasks by their environment. Found so that
// a test can prove nothing was left running, and ended by id when it is over.
import { readdirSync, readFileSync } from 'node:fs';

export function processesOf(dir: string): number[] {
  return processes().filter(
    (pid) => mentions(`/proc/${pid}/environ`, `=${dir}/`) || mentions(`/proc/${pid}/cmdline`, `${dir}/`),
  );
}

/** Processes whose command line has this text in it. */
export function processesWith(text: string): number[] {
  return processes().filter((pid) => mentions(`/proc/${pid}/cmdline`, text));
}

function processes(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number);
}

function mentions(file: string, text: string): boolean {
  try {
    return readFileSync(file, 'latin1').includes(text);
  } catch {
    return false;
  }
}

export function endProcessesOf(dir: string): void {
  for (const pid of processesOf(dir)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone meanwhile.
    }
  }
}
