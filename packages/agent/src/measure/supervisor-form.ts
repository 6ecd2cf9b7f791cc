// Measures what a supervisor costs in each form, for docs/decisions/0003: run `node packages/agent/src/measure/supervisor-form.ts`.
//   a  `true` by child_process.spawn, nothing kept: the limit of this machine
//   b  one supervisor a node, as built: claims on disk, clean environment, output pipes, leftovers cleared
//   c  one small Node process a task that starts it and waits
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunId } from '@muster/model';
import { openStateDir } from '../state-dir.ts';
import type { TaskSpec } from '../supervisor/protocol.ts';
import { SupervisorLink } from '../supervisor-link.ts';

const count = Number(process.argv[2] ?? 500);
const parallel = 8;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

interface Row {
  readonly form: string;
  readonly perSecond: number;
  /** Processor time of parent and children; unlike the rate, about the same on a busy machine. */
  readonly cpuMs: number;
  readonly memory: string;
}

async function main(): Promise<void> {
  // As the launcher does; the first supervisor fills the cache, those that are measured use it.
  const cache = mkdtempSync(join(tmpdir(), 'muster-measure-cache-'));
  enableCompileCache(cache);
  process.once('exit', () => rmSync(cache, { recursive: true, force: true }));
  await (await supervisor(false)).close();
  const isRoot = process.getuid?.() === 0;
  const rows: Row[] = [await bare(), await onePerTask()];
  rows.push(await onePerNode('b  one a node, own user, no control groups', null, false));
  if (isRoot) {
    const nobody = { name: 'nobody', uid: 65_534, gid: 65_534 };
    rows.push(await onePerNode('b  one a node, as nobody, no control groups', nobody, false));
    rows.push(await onePerNode('b  one a node, as nobody, control groups', nobody, true));
  }
  console.table(
    rows.map(({ form, perSecond, cpuMs, memory }) => ({
      form,
      'tasks/s': Math.round(perSecond),
      'CPU ms/task': Number(cpuMs.toFixed(2)),
      memory,
    })),
  );
  await claims();
}

async function bare(): Promise<Row> {
  const before = cpuMs('self');
  const perSecond = await rate(count, () => exitOf('true', []));
  return { form: 'a  bare spawn', perSecond, cpuMs: (cpuMs('self') - before) / count, memory: '' };
}

async function onePerTask(): Promise<Row> {
  const script = `require('node:child_process').spawn(process.argv[1], process.argv.slice(2), { stdio: 'ignore' })`;
  const node = (command: readonly string[]) => exitOf(process.execPath, ['-e', script, ...command]);
  const some = Math.min(count, 100);
  const before = cpuMs('self');
  const perSecond = await rate(some, () => node(['true']));
  const cpu = (cpuMs('self') - before) / some;
  const child = spawn(process.execPath, ['-e', script, 'sleep', '1000'], { stdio: 'ignore', detached: true });
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const memory = `${ownMib(child.pid ?? 0)} MiB for each task`;
  process.kill(-(child.pid ?? 0), 'SIGKILL');
  return { form: 'c  one Node process a task', perSecond, cpuMs: cpu, memory };
}

async function onePerNode(form: string, user: TaskSpec['user'], cgroups: boolean): Promise<Row> {
  const { link, ended, pid, close, root } = await supervisor(cgroups);
  const tasks = Array.from({ length: count }, (_, i) => specOf(i, ['true'], root, user));
  const beganMs = performance.now();
  const beganCpuMs = cpuMs(pid());
  await runAll(link, tasks);
  await ended(count);
  const perSecond = (count * 1000) / (performance.now() - beganMs);
  const cpu = (cpuMs(pid()) - beganCpuMs) / count;
  const before = ownMib(pid());
  const sleepers = Array.from({ length: 100 }, (_, i) => specOf(count + i, ['sleep', '1000'], root, user));
  await runAll(link, sleepers);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const memory = `${before} MiB, ${ownMib(pid())} MiB with 100 tasks running`;
  const how = { signal: 'KILL', graceMs: 0 } as const;
  const stop = { class: 'cancelled', reason: { code: 'x', message: 'x' }, how } as const;
  await Promise.all(sleepers.map(({ run }) => link.stop(run, stop)));
  await ended(count + 100);
  await close();
  return { form, perSecond, cpuMs: cpu, memory };
}

async function claims(): Promise<void> {
  const { link, close, root } = await supervisor(false);
  const one = performance.now();
  for (let i = 0; i < 50; i++) await link.prepare([specOf(i, ['true'], root, null)]);
  const oneMs = (performance.now() - one) / 50;
  const many = performance.now();
  await Promise.all(
    Array.from({ length: 300 }, (_, i) => link.prepare([specOf(1000 + i, ['true'], root, null)])),
  );
  const manyMs = performance.now() - many;
  console.log(
    `a durable claim takes ${oneMs.toFixed(2)} ms alone; 300 at once take ${manyMs.toFixed(1)} ms together`,
  );
  await close();
}

async function supervisor(cgroups: boolean) {
  const root = mkdtempSync(join(tmpdir(), 'muster-measure-'));
  const dir = openStateDir(root).private;
  let ends = 0;
  let pid = 0;
  const config = { dir, node: `measure-${process.pid}`, code: 'measure', cgroups, lingerMs: 1000 };
  const link = new SupervisorLink(config, silent, {
    state: (state) => {
      pid = state.pid;
    },
    news: (news) => {
      if (news.t === 'ended') ends++;
    },
  });
  await link.open();
  return {
    link,
    root,
    pid: () => pid,
    ended: (wanted: number) => poll(() => ends >= wanted),
    close: async () => {
      link.close();
      await poll(() => !exists(pid));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function runAll(link: SupervisorLink, tasks: readonly TaskSpec[]): Promise<void> {
  await link.prepare(tasks);
  link.renew(tasks.map(({ run }) => ({ run, deadlineMs: null, stopAfterMs: null })));
}

function specOf(i: number, command: readonly string[], root: string, user: TaskSpec['user']): TaskSpec {
  const run = `run_${String(i).padStart(18, '0')}_1` as RunId;
  return {
    run,
    rank: 0,
    command,
    env: { PATH: '/usr/bin:/bin', MUSTER_TASK_KEY: `${run}.0` },
    workdir: null,
    scratch: join(root, `${run}.0`),
    user,
    cpuMilli: 1000,
    memoryMib: 64,
    outputLimitMib: 1,
    stop: { signal: 'TERM', graceMs: 0 },
    timeLimitMs: null,
    words: { memory: '64MiB', timeLimit: '' },
  };
}

async function rate(total: number, one: () => Promise<void>): Promise<number> {
  const beganMs = performance.now();
  let left = total;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return (total * 1000) / (performance.now() - beganMs);
}

function exitOf(file: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: 'ignore' });
    child.once('error', reject);
    child.once('exit', () => resolve());
  });
}

/** Memory that nobody else shares. */
function ownMib(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kib = [...text.matchAll(/^Private_\w+:\s+(\d+)/gm)].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );
  return Math.round(kib / 1024);
}

/** Of a process and the children it has waited for. */
function cpuMs(pid: number | 'self'): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // Ticks of 10 ms: user and system time, own and the children's.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}

async function poll(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 2));
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

await main();
