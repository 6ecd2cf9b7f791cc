// The supervisor: one process a node that keeps the processes of all tasks. It is started detached by the agent and
// outlives it; a restarted agent connects to its socket and goes on. It imports only `node:` modules, because it forks
// for every task and a fork costs what the parent's memory is. Started as `node main.ts <config as JSON>`.
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { AgentPort } from './agent-port.ts';
import { Cgroups } from './cgroups.ts';
import { bootClockMs, bootId } from './clock.ts';
import { Journal } from './journal.ts';
import { Leftovers } from './leftovers.ts';
import { releaseLock, takeLock } from './lock.ts';
import { Pipes } from './pipes.ts';
import { startTicks } from './processes.ts';
import { type SupervisorConfig, type SupervisorFile, supervisorVersion } from './protocol.ts';
import { recover, snapshot } from './recover.ts';
import { Tasks } from './tasks.ts';

/** The boot clock is looked at this often even when nothing is due, because timers do not run in suspend. */
const longestSleepMs = 1000;

async function main(config: SupervisorConfig): Promise<void> {
  protectFromOom();
  const lock = join(config.dir, 'supervisor.lock');
  if (!takeLock(lock)) {
    console.error('another supervisor keeps this directory, or is about to; leaving it to that one');
    return process.exit(0);
  }
  const boot = bootId();
  const path = join(config.dir, 'journal');
  const cgroups = config.cgroups ? Cgroups.probe(config.node) : Cgroups.none();
  const leftovers = new Leftovers();
  const recovered = await recover(await Journal.read(path), { bootId: boot, cgroups, leftovers });
  const records = snapshot(
    boot,
    recovered.claims,
    recovered.tasks.map((task) => ({ ...task, started: false, pid: 0 })),
  );
  const journal = await Journal.create(path, records);
  const deps = {
    cgroups,
    leftovers,
    pipes: new Pipes(join(config.dir, 'pipes')),
    outputDir: join(config.dir, 'output'),
    launchDir: freshDir(join(config.dir, 'launch')),
    nowMs: bootClockMs,
  };
  const port = new AgentPort(config, cgroups.enforced);
  const alarm = new Alarm((nowMs) => tasks.check(nowMs));
  const tasks = new Tasks(journal, recovered, boot, deps, { ...port.events, poke: () => alarm.poke() });
  const server = createServer((socket) => port.adopt(socket, tasks));
  await listen(server, join(config.dir, 'supervisor.sock'));
  writeFile(config, boot);
  // At exit would be too late: this process is meant to live long. The next one then need not strip types, which takes
  // 30 MiB of memory that every fork would have to copy the tables of.
  flushCompileCache();
  port.onIdle(tasks, () => {
    deps.pipes.dispose();
    cgroups.remove();
    releaseLock(lock);
    process.exit(0);
  });
}

/** Wakes for the next deadline. */
class Alarm {
  readonly #check: (nowMs: number) => number;
  #timer: NodeJS.Timeout | null = null;
  #poked = false;

  constructor(check: (nowMs: number) => number) {
    this.#check = check;
  }

  /** Something may be due earlier than it was. */
  poke(): void {
    if (this.#poked) return;
    this.#poked = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#poked = false;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const nowMs = bootClockMs();
    const nextMs = this.#check(nowMs);
    if (nextMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.#run(), Math.min(longestSleepMs, Math.max(1, nextMs - nowMs)));
  }
}

/** Losing this process loses every task on the node, so the kernel should look elsewhere first. Only root may ask. */
function protectFromOom(): void {
  if (process.getuid?.() !== 0) return;
  try {
    writeFileSync('/proc/self/oom_score_adj', '-900');
  } catch {
    // A container may forbid it.
  }
}

function freshDir(path: string): string {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { mode: 0o700 });
  return path;
}

function listen(server: Server, path: string): Promise<void> {
  rmSync(path, { force: true });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      chmodSync(path, 0o600);
      resolve();
    });
  });
}

function writeFile(config: SupervisorConfig, boot: string): void {
  const file: SupervisorFile = {
    version: supervisorVersion,
    code: config.code,
    pid: process.pid,
    startTicks: startTicks(process.pid) ?? 0,
    bootId: boot,
  };
  // In one step: an agent may be reading it.
  const path = join(config.dir, 'supervisor.json');
  writeFileSync(`${path}.new`, JSON.stringify(file), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

// Elsewhere a bug stops the process. Here that would end every task on the node, most of which it does not concern.
process.on('uncaughtException', (error) => console.error('bug:', error));
// Signals for an agent in the same terminal or unit are not meant for the tasks; SIGKILL still works.
for (const signal of ['SIGHUP', 'SIGINT'] as const) process.on(signal, () => {});

main(JSON.parse(process.argv[2] ?? '{}') as SupervisorConfig).catch((error: unknown) => {
  console.error('cannot start:', error);
  process.exit(1);
});
