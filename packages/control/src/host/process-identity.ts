// Names one process for ever: the machine's boot, the pid, and the tick at which the process started. A pid alone is
// reused; the three together are not.
import { readFileSync } from 'node:fs';
import type { ServerInfo } from '@muster/store';

export type ProcessIdentity = Pick<ServerInfo, 'bootId' | 'pid' | 'pidStart'>;

export function thisProcess(): ProcessIdentity {
  return { bootId: bootId() ?? 'unknown', pid: process.pid, pidStart: startTicks(process.pid) ?? 'unknown' };
}

/** True only when the process ran on this boot of this machine and is gone. */
export function isProcessDead(identity: ProcessIdentity): boolean {
  const boot = bootId();
  if (boot === null || boot !== identity.bootId || identity.pidStart === 'unknown') return false;
  return startTicks(identity.pid) !== identity.pidStart;
}

function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

function startTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name may contain spaces and brackets; the fields after its last bracket are fixed. A zombie is gone.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
