// Control groups, where this machine lets us have them: a task's processes can then be counted, limited and killed
// together, wherever they went. Version 2 gives `cgroup.kill`; version 1 and mixed machines give the memory and pids
// controllers in hierarchies of their own. What works is found by trying at start, once, and told in one line.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TaskCgroup } from './task-cgroup.ts';

export interface Hierarchy {
  readonly kind: 'v2' | 'v1-memory' | 'v1-pids' | 'v1-freezer';
  /** Our own directory in it; tasks get one each below. */
  readonly base: string;
}

export interface CgroupLimits {
  readonly memoryMib: number;
  readonly cpuMilli: number;
}

export class Cgroups {
  readonly #hierarchies: readonly Hierarchy[];
  /** What is enforced, in words for the log: memory, pids, cpu, kill. */
  readonly enforced: readonly string[];

  private constructor(hierarchies: readonly Hierarchy[]) {
    this.#hierarchies = hierarchies;
    this.enforced = hierarchies.length === 0 ? [] : [...new Set(hierarchies.flatMap(whatItEnforces))].sort();
  }

  static none(): Cgroups {
    return new Cgroups([]);
  }

  static probe(node: string): Cgroups {
    const usable = findHierarchies(`muster-${node}`).filter(prepare);
    // The freezer only makes killing sure where there is no cgroup.kill.
    const canKill = usable.some(({ kind }) => kind === 'v2');
    return new Cgroups(usable.filter(({ kind }) => kind !== 'v1-freezer' || !canKill));
  }

  /** The task's groups, made if need be; null when there are none here. */
  open(key: string, limits: CgroupLimits): TaskCgroup | null {
    return this.#hierarchies.length === 0 ? null : TaskCgroup.make(this.#hierarchies, key, limits);
  }

  remove(): void {
    for (const { base } of this.#hierarchies) {
      try {
        rmdirSync(base);
      } catch {
        // Something still lives there; the next supervisor uses it again.
      }
    }
  }
}

function findHierarchies(name: string): Hierarchy[] {
  const own = new Map<string, string>();
  for (const line of lines('/proc/self/cgroup')) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const controller of controllers.split(',')) own.set(controller, path);
  }
  const found: Hierarchy[] = [];
  for (const line of lines('/proc/mounts')) {
    const [, mount = '', type, options = ''] = line.split(' ');
    if (type === 'cgroup2') {
      // Root makes its groups at the top, because controllers pass only through groups without processes of their own.
      const parent = process.getuid?.() === 0 ? mount : join(mount, own.get('') ?? '/');
      found.push({ kind: 'v2', base: join(parent, name) });
    }
    if (type !== 'cgroup') continue;
    for (const controller of ['memory', 'pids', 'freezer'] as const) {
      if (!options.split(',').includes(controller)) continue;
      const inside = join(mount, own.get(controller) ?? '/');
      found.push({ kind: `v1-${controller}`, base: join(existsSync(inside) ? inside : mount, name) });
    }
  }
  return found;
}

/** Makes our directory and proves that a process can be put below it. */
function prepare({ kind, base }: Hierarchy): boolean {
  const probe = join(base, 'probe');
  try {
    if (kind === 'v2') enableControllers(join(base, '..'));
    mkdirSync(base, { recursive: true });
    if (kind === 'v2') enableControllers(base);
    mkdirSync(probe, { recursive: true });
    if (kind === 'v2' && !existsSync(join(probe, 'cgroup.kill'))) return false;
    const joined = spawnSync('/bin/sh', ['-c', 'echo 0 > "$1"/cgroup.procs', 'sh', probe], {
      stdio: 'ignore',
    });
    return joined.status === 0;
  } catch {
    return false;
  } finally {
    try {
      rmdirSync(probe);
    } catch {
      // Never made.
    }
  }
}

function enableControllers(dir: string): void {
  for (const controller of ['memory', 'pids', 'cpu']) {
    try {
      writeFileSync(join(dir, 'cgroup.subtree_control'), `+${controller}`);
    } catch {
      // Not delegated to us, or used by version 1: then this one is not enforced here.
    }
  }
}

function whatItEnforces({ kind, base }: Hierarchy): string[] {
  switch (kind) {
    case 'v1-memory':
      return ['memory'];
    case 'v1-pids':
      return ['pids'];
    case 'v1-freezer':
      return ['kill'];
    case 'v2': {
      const enabled = lines(join(base, 'cgroup.subtree_control')).join(' ').split(' ');
      return ['kill', ...enabled.filter((name) => ['memory', 'pids', 'cpu'].includes(name))];
    }
  }
}

function lines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  }
}
