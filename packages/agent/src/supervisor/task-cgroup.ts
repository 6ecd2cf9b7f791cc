// One task's control groups: the same name in every hierarchy in use. Files here are the kernel's memory, not a disk, so
// they are read and written synchronously.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupLimits, Hierarchy } from './cgroups.ts';
import { signalPid } from './processes.ts';

const mib = 1024 * 1024;

export class TaskCgroup {
  readonly #members: readonly Hierarchy[];

  private constructor(members: readonly Hierarchy[]) {
    this.#members = members;
  }

  static make(hierarchies: readonly Hierarchy[], key: string, limits: CgroupLimits): TaskCgroup {
    const members = hierarchies.map(({ kind, base }) => ({ kind, base: join(base, key) }));
    for (const { kind, base } of members) {
      mkdirSync(base, { recursive: true });
      limit(kind, base, limits);
    }
    return new TaskCgroup(members);
  }

  /** Where a process joins, one file each. */
  get joinFiles(): readonly string[] {
    return this.#members.map(({ base }) => join(base, 'cgroup.procs'));
  }

  pids(): number[] {
    const pids = new Set<number>();
    for (const { base } of this.#members) {
      for (const pid of text(join(base, 'cgroup.procs')).split('\n')) if (pid !== '') pids.add(Number(pid));
    }
    return [...pids];
  }

  kill(): void {
    const freezer = this.#members.find(({ kind }) => kind === 'v1-freezer');
    const killer = this.#members.find(({ kind }) => kind === 'v2');
    if (killer) set(killer.base, 'cgroup.kill', '1');
    // What is frozen forks no more; signals are delivered on thaw.
    if (freezer) set(freezer.base, 'freezer.state', 'FROZEN');
    for (const pid of this.pids()) signalPid(pid, 'SIGKILL');
    if (freezer) set(freezer.base, 'freezer.state', 'THAWED');
  }

  /** Whether the kernel killed something in here for memory. */
  oomKilled(): boolean {
    return this.#members.some(({ kind, base }) => {
      if (kind === 'v2') return /^oom_kill [1-9]/m.test(text(join(base, 'memory.events')));
      if (kind === 'v1-memory') return /^oom_kill [1-9]/m.test(text(join(base, 'memory.oom_control')));
      return false;
    });
  }

  /** False while something is still inside. */
  remove(): boolean {
    let gone = true;
    for (const { base } of this.#members) {
      try {
        rmdirSync(base);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') gone = false;
      }
    }
    return gone;
  }
}

function limit(kind: Hierarchy['kind'], base: string, limits: CgroupLimits): void {
  const memory = String(limits.memoryMib * mib);
  switch (kind) {
    case 'v2':
      if (limits.memoryMib > 0) {
        set(base, 'memory.max', memory);
        set(base, 'memory.swap.max', '0');
        // A task that lost one of its processes to the limit is broken; better that it ends whole and says why.
        set(base, 'memory.oom.group', '1');
      }
      set(base, 'pids.max', String(pidsMax()));
      set(base, 'cpu.weight', String(Math.min(10_000, Math.max(1, Math.round(limits.cpuMilli / 10)))));
      return;
    case 'v1-memory':
      if (limits.memoryMib > 0) {
        set(base, 'memory.limit_in_bytes', memory);
        set(base, 'memory.memsw.limit_in_bytes', memory);
      }
      return;
    case 'v1-pids':
      set(base, 'pids.max', String(pidsMax()));
      return;
    case 'v1-freezer':
  }
}

let pidsMaxFound = 0;

/** Half of what the machine has: one task's fork bomb leaves room for the agent, a login and the other tasks. */
function pidsMax(): number {
  if (pidsMaxFound === 0) {
    const limits = ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max'].map((path) =>
      Number(text(path)),
    );
    pidsMaxFound = Math.max(
      64,
      Math.min(32_768, ...limits.filter((n) => n > 0).map((n) => Math.floor(n / 2))),
    );
  }
  return pidsMaxFound;
}

/** Files of controllers that are not in use here do not exist. */
function set(base: string, name: string, value: string): void {
  const path = join(base, name);
  try {
    if (existsSync(path)) writeFileSync(path, value);
  } catch {
    // A limit the kernel refuses (a machine without swap accounting) is one that is not enforced.
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
