// Supervisors outlive their agent on purpose. Those of this run name its directory in their command line or environment,
// and so do their tasks; each is ended by its id.
import { readdirSync, readFileSync } from 'node:fs';

export function endProcessesOf(dir: string): void {
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    if (!mentions(`/proc/${pid}/cmdline`, `${dir}/`) && !mentions(`/proc/${pid}/environ`, `=${dir}/`))
      continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone meanwhile.
    }
  }
}

function mentions(file: string, text: string): boolean {
  try {
    return readFileSync(file, 'latin1').includes(text);
  } catch {
    return false;
  }
}
