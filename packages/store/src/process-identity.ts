// Names one process for ever: a pid alone is reused, a pid with its start time is not. On Linux the start time is in
// clock ticks since boot, so the boot id goes with it; elsewhere `ps` tells the time of day it started.
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  readonly start: string;
  /** Pids mean nothing in another pid namespace (container); null where there are none. */
  readonly namespace: string | null;
}

export function ownIdentity(): ProcessIdentity {
  const start = startOf(process.pid);
  if (start === null) throw new Error('cannot read the start time of this process');
  return { pid: process.pid, start, namespace: pidNamespace() };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return startOf(identity.pid) === identity.start;
}

export function pidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
}

/** Null when there is no such process, or only its unreaped remains. */
export function startOf(pid: number): string | null {
  return process.platform === 'linux' ? linuxStart(pid) : psStart(pid);
}

function linuxStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name may hold spaces and brackets; fields are counted from its last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return fields[0] === 'Z' || fields[0] === 'X' ? null : `${boot}:${fields[19]}`;
  } catch {
    return null;
  }
}

function psStart(pid: number): string | null {
  try {
    const text = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return text === '' ? null : text;
  } catch {
    return null;
  }
}
