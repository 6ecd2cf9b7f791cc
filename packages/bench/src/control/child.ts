// Processes of a benchmark: what is measured runs in its own, so that its memory and its time are its own.
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Lifetime } from '../lifetime.ts';

/** The checkout: this file is packages/bench/src/control/child.ts. */
export const repository = join(fileURLToPath(import.meta.url), '../../../../..');

export interface Child {
  readonly process: ChildProcess;
  readonly pid: number;
  /** The last of what it printed, for the message when it breaks. */
  output(): string;
  stop(): Promise<void>;
}

const stopWithinMs = 10_000;
const keptOutput = 4000;

export interface ChildOptions {
  readonly file: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
}

/** With a channel, so that a child of ours ends when we are gone. */
export function startChild(
  lifetime: Lifetime,
  { file, args = [], env = {}, execArgv = [] }: ChildOptions,
): Child {
  const options: ForkOptions = {
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [...execArgv],
    // Its own group: Ctrl-C reaches us only, and we end our children in order.
    detached: true,
  };
  const child = fork(file, [...args], options);
  let output = '';
  const take = (data: Buffer): void => {
    output = (output + data.toString()).slice(-keptOutput);
  };
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  const { pid } = child;
  if (pid === undefined) throw new Error(`could not start ${file}`);
  lifetime.addProcess(pid);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      lifetime.removeProcess(pid);
      resolve();
    });
  });
  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
    await exited;
    clearTimeout(timer);
  }
  lifetime.add(stop);
  return { process: child, pid, output: () => output, stop };
}

export function messageOf<T>(
  child: Child,
  withinMs: number,
  wanted: (message: unknown) => message is T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      child.process.off('message', onMessage);
      child.process.off('exit', onExit);
    };
    const onMessage = (message: unknown): void => {
      if (!wanted(message)) return;
      settle();
      resolve(message);
    };
    const fail = (what: string): void => {
      settle();
      reject(new Error(`a child process ${what}: ${child.output()}`));
    };
    const onExit = (): void => fail('ended too early');
    const timer = setTimeout(() => fail(`said nothing for ${withinMs} ms`), withinMs);
    child.process.on('message', onMessage);
    child.process.on('exit', onExit);
  });
}

export function rssMb(pid: number): number {
  const mb = rssMbOrNull(pid);
  if (mb === null) throw new Error(`process ${pid} has ended`);
  return mb;
}

/** Null for a process that has ended. */
export function rssMbOrNull(pid: number): number | null {
  const file = `/proc/${pid}/status`;
  try {
    // One that nobody has waited for yet still has a status, without memory.
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(file, 'utf8'));
    return found && Number(found[1]) / 1024;
  } catch (error) {
    // ESRCH when it goes between the open and the read.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/** Time on a core so far. The kernel counts in ticks of 10 ms. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Of a process and of those it started that still run. */
export function familyCpuMs(pid: number): number {
  let sum = cpuMs(pid);
  for (const other of readdirSync('/proc')) {
    if (!/^\d+$/.test(other)) continue;
    try {
      if (parentOf(other) === pid) sum += cpuMs(Number(other));
    } catch {
      // Ended meanwhile.
    }
  }
  return sum;
}

function parentOf(pid: string): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

const quietWindowMs = 300;

/** Waits until a process does next to nothing, so that its backlog is not measured as somebody else's work. */
export async function quiet(pid: number, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const before = cpuMs(pid);
    await sleep(quietWindowMs);
    if (cpuMs(pid) - before <= quietWindowMs / 10 || performance.now() > endMs) return;
  }
}
