// The agent's end of the supervisor's socket. Finds the supervisor that is there, or starts one, and does so again
// whenever it is lost. Requests that were not answered are sent again to the next one: all of them are idempotent.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { OperationalError, type RunId } from '@muster/model';
import type { Logger } from './options.ts';
import { bootId } from './supervisor/clock.ts';
import { onLines, sendLine } from './supervisor/lines.ts';
import { isAlive } from './supervisor/processes.ts';
import {
  type FromSupervisor,
  type Lease,
  type StopRequest,
  type SupervisorConfig,
  type SupervisorFile,
  supervisorVersion,
  type TaskKey,
  type TaskSpec,
  type ToSupervisor,
} from './supervisor/protocol.ts';

import { SupervisorWatch } from './supervisor-watch.ts';

export type SupervisorState = Extract<FromSupervisor, { t: 'state' }>;
export type Looked = Extract<FromSupervisor, { t: 'looked' }>;
export type TaskNews = Extract<FromSupervisor, { t: 'accepted' | 'started' | 'ended' }>;

export interface LinkHooks {
  /** The whole truth, at every (re)connection. */
  readonly state: (state: SupervisorState) => void;
  readonly news: (news: TaskNews) => void;
}

type Request = Extract<ToSupervisor, { t: 'prepare' | 'stop' | 'look' }>;
interface Pending {
  readonly request: Request;
  readonly resolve: (answer: FromSupervisor) => void;
}

// A small young generation keeps a process that lives for months and mostly waits at a third of the memory.
const nodeFlags = ['--max-semi-space-size=2', '--disable-warning=ExperimentalWarning'];
const defaultReadyWithinMs = 20_000;
const lookEveryMs = 100;
/** Without type names in the path: the release build has .js files. */
const mainPath = fileURLToPath(
  new URL(`./supervisor/main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
);

export class SupervisorLink {
  readonly #config: SupervisorConfig;
  readonly #readyWithinMs: number;
  readonly #log: Logger;
  readonly #hooks: LinkHooks;
  readonly #watch: SupervisorWatch;
  readonly #pending = new Map<number, Pending>();
  #socket: Socket | null = null;
  #nextId = 1;
  #closed = false;

  constructor(config: SupervisorConfig, log: Logger, hooks: LinkHooks, readyWithinMs = defaultReadyWithinMs) {
    this.#config = config;
    this.#readyWithinMs = readyWithinMs;
    this.#log = log;
    this.#hooks = hooks;
    this.#watch = new SupervisorWatch({
      log,
      ask: () => this.look('', 0, 0),
      process: () => (this.#socket ? this.#readFile() : null),
    });
  }

  async open(): Promise<void> {
    const deadline = performance.now() + this.#readyWithinMs;
    let started = false;
    for (;;) {
      const file = this.#readFile();
      // Of this boot: another process may have its number and, counted from a boot, its start time.
      const alive = file?.bootId === bootId() && isAlive(file.pid, file.startTicks);
      if (alive && file.version !== supervisorVersion) throw this.#otherVersion(file);
      if (alive && (await this.#connect(file))) return;
      if (!alive && !started) {
        this.#start();
        started = true;
      }
      if (performance.now() > deadline)
        throw new OperationalError('unavailable', `the supervisor did not start; see ${this.#logPath()}`);
      await pause(10);
    }
  }

  async prepare(tasks: readonly TaskSpec[]): Promise<string | null> {
    const answer = await this.#ask({ t: 'prepare', id: this.#nextId++, tasks });
    return answer.t === 'answer' ? answer.error : 'unexpected answer';
  }

  async stop(run: RunId, stop: StopRequest): Promise<void> {
    await this.#ask({ t: 'stop', id: this.#nextId++, run, stop });
  }

  renew(runs: readonly ({ readonly run: RunId } & Lease)[]): void {
    this.#watch.renewed(runs);
    this.#send({ t: 'renew', runs });
  }

  acknowledge(keys: readonly TaskKey[]): void {
    this.#send({ t: 'ack', keys });
  }

  /** With a wait, when there is output beyond `from`, the task is over, or the wait is. */
  async look(key: TaskKey, from: number, waitMs: number): Promise<Looked> {
    const id = this.#nextId++;
    const answer = this.#ask({ t: 'look', id, key, from, wait: waitMs > 0 });
    const timer = waitMs > 0 ? setTimeout(() => this.#hurry(id), waitMs) : undefined;
    const looked = await answer;
    clearTimeout(timer);
    return looked as Looked;
  }

  /** Leaves the tasks to the supervisor, which goes when there are none. */
  close(): void {
    this.#send({ t: 'leave' });
    this.detach();
  }

  /** Lets go of it without a word, as a crash does. */
  detach(): void {
    this.#closed = true;
    this.#watch.stop();
    this.#socket?.end();
    this.#socket = null;
  }

  /** The wait is over: the same question again, to be answered at once. */
  #hurry(id: number): void {
    const pending = this.#pending.get(id);
    if (pending?.request.t !== 'look') return;
    const request = { ...pending.request, wait: false };
    this.#pending.set(id, { request, resolve: pending.resolve });
    this.#send({ t: 'unlook', id });
    this.#send(request);
  }

  #ask(request: Request): Promise<FromSupervisor> {
    return new Promise((resolve) => {
      this.#pending.set(request.id, { request, resolve });
      this.#send(request);
    });
  }

  #send(message: ToSupervisor): void {
    if (this.#socket) sendLine(this.#socket, message);
  }

  #connect(file: SupervisorFile): Promise<boolean> {
    const socket = connect(join(this.#config.dir, 'supervisor.sock'));
    return new Promise((resolve, reject) => {
      // One that hangs is connected to all the same, and says nothing. Counted in looks and not in time: after a pause of the
      // whole machine its word must not come too late.
      let looks = 0;
      const patience = setInterval(() => {
        if (++looks * lookEveryMs < this.#readyWithinMs) return;
        reject(this.#hangs(file));
        socket.destroy();
      }, lookEveryMs);
      const failed = (): void => {
        clearInterval(patience);
        resolve(false);
      };
      socket.once('error', failed);
      socket.once('close', failed);
      onLines<FromSupervisor>(socket, (message) => {
        if (message.t !== 'state') return this.#receive(message);
        // Of another release and with nothing to keep: it makes room for one of ours.
        if (message.code !== this.#config.code && message.tasks.every(({ state }) => state !== 'running'))
          return sendLine(socket, { t: 'leave' } satisfies ToSupervisor);
        clearInterval(patience);
        socket.off('close', failed);
        this.#adopted(socket, message);
        resolve(true);
      });
    });
  }

  #adopted(socket: Socket, state: SupervisorState): void {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.once('close', () => {
      if (this.#socket === socket) void this.#lost();
    });
    this.#watch.adopted();
    this.#hooks.state(state);
    for (const { request } of this.#pending.values()) this.#send(request);
  }

  #receive(message: FromSupervisor): void {
    switch (message.t) {
      case 'accepted':
      case 'started':
      case 'ended':
        this.#hooks.news(message);
        return;
      case 'answer':
      case 'looked': {
        const pending = this.#pending.get(message.id);
        this.#pending.delete(message.id);
        pending?.resolve(message);
      }
    }
  }

  async #lost(): Promise<void> {
    this.#socket = null;
    while (!this.#closed && !this.#socket) {
      this.#log.warn({}, 'lost the supervisor; starting another one');
      try {
        await this.open();
      } catch (error) {
        this.#log.error({ error: String(error) }, 'the supervisor cannot be started; trying again');
        await pause(1000);
      }
    }
    // Closed while it was being started.
    if (this.#closed) this.close();
  }

  #readFile(): SupervisorFile | null {
    try {
      return JSON.parse(readFileSync(join(this.#config.dir, 'supervisor.json'), 'utf8')) as SupervisorFile;
    } catch {
      return null;
    }
  }

  #hangs({ pid }: SupervisorFile): OperationalError {
    return new OperationalError(
      'unavailable',
      `the supervisor (pid ${pid}) does not answer, and nobody sees to the tasks it keeps: let it go on, or kill it and them with it; see ${this.#logPath()}`,
    );
  }

  #logPath(): string {
    return join(this.#config.dir, 'supervisor.log');
  }

  #otherVersion(file: SupervisorFile): OperationalError {
    return new OperationalError(
      'conflict',
      `a supervisor of version ${file.version} (release ${file.code}, pid ${file.pid}) still keeps tasks here, and this agent ` +
        `speaks version ${supervisorVersion}: run the agent of that release until they have ended`,
    );
  }

  #start(): void {
    const log = openSync(this.#logPath(), 'a', 0o600);
    const child = spawn(process.execPath, [...nodeFlags, mainPath, JSON.stringify(this.#config)], {
      cwd: '/',
      detached: true,
      stdio: ['ignore', log, log],
      // Nothing of the agent's own environment: it may hold secrets.
      env: {
        PATH: process.env.PATH ?? '',
        // As trusted as where our own code comes from, or private.
        NODE_COMPILE_CACHE: getCompileCacheDir() ?? join(this.#config.dir, 'compiled'),
      },
    });
    child.on('error', (error) =>
      this.#log.error({ error: String(error) }, 'the supervisor cannot be started'),
    );
    child.unref();
    closeSync(log);
  }
}
