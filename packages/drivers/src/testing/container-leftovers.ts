// What containers leave behind outside of their cluster's directory: processes, mounts, control groups and stray files. Found by the
// directory's name, so that a test can prove that nothing was left, and taken away when a cluster stops or its run was killed.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { systemPath } from './components.ts';
import { processesOf } from './leftovers.ts';

export const cgroupRoot = '/sys/fs/cgroup';

/** Version 1 has a tree for each of them. */
export function controllers(): string[] {
  return readdirSync(cgroupRoot, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'unified')
    .map(({ name }) => name);
}

export interface Leftovers {
  readonly processes: readonly number[];
  readonly mounts: readonly string[];
  readonly cgroups: readonly string[];
}

/** What there is of the nodes of a Kubernetes in this directory, outside of it. */
export function leftoversOf(dir: string): Leftovers {
  const own = processesOf(dir);
  const name = basename(dir);
  return {
    // Containers are children of their shims, and know nothing of the directory.
    processes: [...own.flatMap(descendants), ...own],
    mounts: readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '')
      .filter((mount) => mount.startsWith(`${dir}/`)),
    cgroups: controllers().flatMap((controller) =>
      readdirSync(join(cgroupRoot, controller))
        .filter((group) => group.startsWith(`${name}-`))
        .map((group) => join(cgroupRoot, controller, group)),
    ),
  };
}

export function cleanUp(dir: string): void {
  const { cgroups } = leftoversOf(dir);
  const files = strayFiles(dir);
  endAll(dir);
  for (const mount of leftoversOf(dir).mounts.toReversed())
    execFileSync('umount', ['--lazy', mount], { env: { PATH: systemPath }, stdio: 'ignore' });
  for (const group of cgroups) removeGroup(group);
  for (const file of files) rmSync(file, { force: true });
}

/** Files that the programs keep outside of any directory they are told: sockets of shims, results of network plugins, links to logs. */
function strayFiles(dir: string): string[] {
  const within = (folder: string, isOurs: (file: string) => boolean): string[] =>
    namesIn(folder)
      .map((name) => join(folder, name))
      .filter((file) => isOurs(file));
  const shims = namesIn(dir).flatMap((node) => {
    const tasks = join(dir, node, 'state', 'io.containerd.runtime.v2.task', 'k8s.io');
    return namesIn(tasks).map((id) => textOf(join(tasks, id, 'address')).replace('unix://', ''));
  });
  return [
    ...shims.filter((socket) => socket.startsWith('/run/containerd/s/')),
    ...within('/var/lib/cni/results', (file) => textOf(file).includes(`${dir}/`)),
    ...within('/var/log/containers', (file) => linkOf(file).startsWith(`${dir}/`)),
  ];
}

const namesIn = (folder: string): string[] => attempt(() => readdirSync(folder), []);
const textOf = (file: string): string => attempt(() => readFileSync(file, 'utf8'), '');
const linkOf = (file: string): string => attempt(() => readlinkSync(file), '');

/** What others remove meanwhile is not there. */
function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

export function descendants(pid: number): number[] {
  const children = textOf(`/proc/${pid}/task/${pid}/children`).trim().split(' ');
  const own = children.filter((text) => text !== '').map(Number);
  return [...own.flatMap(descendants), ...own];
}

/** Until there are none: who is killed is there for a moment longer, and may have started another. */
function endAll(dir: string): void {
  for (let tries = 0; tries < 100; tries++) {
    const { processes } = leftoversOf(dir);
    if (processes.length === 0) return;
    for (const pid of processes) endNow(pid);
    waitShortly();
  }
}

/** Also where nothing asynchronous can be done, as when the process exits. */
function waitShortly(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone meanwhile.
  }
}

/** Deepest first; a process that was just killed may hold it for a moment. */
function removeGroup(group: string): void {
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(group, entry.name));
  for (let tries = 0; ; tries++)
    try {
      rmdirSync(group);
      return;
    } catch (error) {
      if (tries === 100) throw error;
      waitShortly();
    }
}
