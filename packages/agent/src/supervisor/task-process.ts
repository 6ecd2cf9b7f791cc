// One started task, from its launch to the proof that nothing of it is left. The order at the end is the promise: the
// main process is gone, everything it left is killed and gone, the output is on disk, and only then is the end told.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fchownSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskExit } from '@muster/model';
import type { Cgroups } from './cgroups.ts';
import { exitOf, exitOfSpawnError, exitUnstarted, infrastructure } from './exit.ts';
import { type Launch, planLaunch } from './launch.ts';
import type { Leftovers } from './leftovers.ts';
import type { Pipe, Pipes } from './pipes.ts';
import { signalPid } from './processes.ts';
import type { Lease, StopRequest, TaskKey, TaskSpec } from './protocol.ts';
import { leaveScratch, makeScratch } from './scratch.ts';
import type { TaskCgroup } from './task-cgroup.ts';
import { TaskOutput } from './task-output.ts';
import { type DueStop, leaseStop, timeLimitStop } from './time-limits.ts';

export interface TaskDeps {
  readonly cgroups: Cgroups;
  readonly pipes: Pipes;
  readonly leftovers: Leftovers;
  readonly outputDir: string;
  /** Private room for short-lived files of launches. */
  readonly launchDir: string;
  readonly nowMs: () => number;
}

export interface TaskHooks {
  readonly started: (pid: number) => void;
  readonly grew: () => void;
  readonly ended: (exit: TaskExit) => void;
}

export class TaskProcess {
  readonly key: TaskKey;
  readonly spec: TaskSpec;
  readonly #deps: TaskDeps;
  readonly #hooks: TaskHooks;
  readonly #output: TaskOutput;
  #cgroup: TaskCgroup | null = null;
  #lease: Lease;
  #startedMs = 0;
  #stop: { readonly request: StopRequest; killAtMs: number; killed: boolean } | null = null;
  /** Asked for a checkpoint, to be stopped at this time. */
  #asked: { readonly request: StopRequest; readonly untilMs: number } | null = null;
  #ending = false;
  pid = 0;

  constructor(key: TaskKey, spec: TaskSpec, lease: Lease, deps: TaskDeps, hooks: TaskHooks) {
    this.key = key;
    this.spec = spec;
    this.#lease = lease;
    this.#deps = deps;
    this.#hooks = hooks;
    this.#output = new TaskOutput(join(deps.outputDir, key), spec.outputLimitMib, hooks.grew);
  }

  get outputSize(): number {
    return this.#output.size;
  }

  async start(): Promise<void> {
    let pipe: Pipe | null = null;
    try {
      // On a disk that others keep busy a directory takes milliseconds: many tasks wait for theirs at the same time.
      const scratch = makeScratch(this.spec);
      scratch.catch(() => {});
      pipe = await this.#deps.pipes.take();
      await scratch;
      const unwanted = this.#noLongerWanted();
      if (unwanted) {
        closePipe(pipe);
        return await this.#ended(exitUnstarted(unwanted));
      }
      this.#cgroup = this.#deps.cgroups.open(this.key, this.spec);
      this.#startedMs = this.#deps.nowMs();
      const child = this.#spawn(pipe);
      if (child.pid === undefined) return;
      this.pid = child.pid;
      this.#hooks.started(child.pid);
    } catch (error) {
      if (pipe) closePipe(pipe);
      this.#cgroup?.remove();
      const failure = error as NodeJS.ErrnoException;
      const message = `the task could not be set up: ${failure.message}`;
      // Node tells some failures of a spawn by an event and throws the others (ENOTDIR, E2BIG); both mean the same.
      const ofSpawn = failure.syscall?.startsWith('spawn') === true;
      await this.#ended(
        ofSpawn ? exitOfSpawnError(failure, this.spec) : infrastructure('start-failed', message),
      );
    }
  }

  /** Stopped, or its lease run out, while its directory was being made. */
  #noLongerWanted(): StopRequest | null {
    if (this.#stop) return this.#stop.request;
    const due = leaseStop(this.#lease, this.spec.stop.graceMs);
    return due && this.#deps.nowMs() >= due.signalAtMs ? due.request : null;
  }

  renew(lease: Lease): void {
    this.#lease = lease;
  }

  /** The first stop names the reason; a later one can only bring the kill forward. */
  stop(request: StopRequest): void {
    if (this.#asks(request)) return;
    this.#stopNow(this.#asked?.request ?? request);
  }

  /**
   * A stop that asks for a checkpoint first: the program gets its signal once and time to save its work. The stop itself
   * comes when that time is over, or with another stop that asks no more.
   */
  #asks(request: StopRequest): boolean {
    const { ask } = request;
    if (!ask || this.#stop || this.#ending || this.pid === 0) return false;
    if (this.#asked) return true;
    this.#asked = { request, untilMs: this.#deps.nowMs() + ask.waitMs };
    // The program itself and not its children: the default of most signals is to die, and data loaders have no handler.
    signalPid(this.pid, `SIG${ask.signal}` as NodeJS.Signals);
    return true;
  }

  #stopNow(request: StopRequest): void {
    const { signal, graceMs } = request.how ?? this.spec.stop;
    this.#stopUntil(request, signal, this.#deps.nowMs() + graceMs);
  }

  /** Carries out what is due, and says when to look again. */
  check(nowMs: number): number {
    if (this.#ending || this.pid === 0) return Number.POSITIVE_INFINITY;
    const due: (DueStop | null)[] = [
      leaseStop(this.#lease, this.spec.stop.graceMs),
      timeLimitStop(this.spec, this.#startedMs),
    ];
    let nextMs = Number.POSITIVE_INFINITY;
    for (const stop of due) {
      if (!stop) continue;
      if (nowMs >= stop.signalAtMs) this.#stopUntil(stop.request, this.spec.stop.signal, stop.killAtMs);
      else nextMs = Math.min(nextMs, stop.signalAtMs);
    }
    if (this.#asked && !this.#stop) {
      if (nowMs >= this.#asked.untilMs) this.#stopNow(this.#asked.request);
      else nextMs = Math.min(nextMs, this.#asked.untilMs);
    }
    if (!this.#stop || this.#stop.killed) return nextMs;
    if (nowMs >= this.#stop.killAtMs) this.#kill();
    else nextMs = Math.min(nextMs, this.#stop.killAtMs);
    return nextMs;
  }

  #stopUntil(request: StopRequest, signal: string, killAtMs: number): void {
    if (this.#ending) return;
    if (this.#stop) {
      this.#stop.killAtMs = Math.min(this.#stop.killAtMs, killAtMs);
    } else {
      this.#stop = { request, killAtMs, killed: false };
      if (signal !== 'KILL') this.#signal(`SIG${signal}` as NodeJS.Signals);
      else this.#stop.killAtMs = 0;
    }
    if (this.#stop.killAtMs <= this.#deps.nowMs()) this.#kill();
  }

  #signal(signal: NodeJS.Signals): void {
    if (!this.#cgroup) {
      signalPid(-this.pid, signal);
      return;
    }
    // Each process once, because a second SIGTERM means "hurry" to some programs; and the first one by its number, because
    // it may not have joined its group yet.
    for (const pid of new Set([this.pid, ...this.#cgroup.pids()])) signalPid(pid, signal);
  }

  #kill(): void {
    if (this.#stop) this.#stop.killed = true;
    this.#cgroup?.kill();
    if (this.pid !== 0) signalPid(-this.pid, 'SIGKILL');
  }

  #spawn(pipe: Pipe): ChildProcess {
    const { spec } = this;
    // So that `> /dev/stdout` works for the task's user: it opens the pipe anew.
    if (spec.user) fchownSync(pipe.readFd, spec.user.uid, spec.user.gid);
    const launch = planLaunch(spec, this.#cgroup?.joinFiles ?? [], this.#failureFile());
    const input = launch.script === null ? 'ignore' : this.#openScript(launch.script);
    try {
      const child = startProcess(launch, input, pipe.writeFd);
      child.once('error', (error) => {
        if (this.pid === 0) this.#notSpawned(error);
      });
      child.once('exit', (code, signal) => void this.#exited(code, signal));
      this.#output.readFrom(pipe.readFd);
      return child;
    } finally {
      closeSync(pipe.writeFd);
      if (input !== 'ignore') closeSync(input);
    }
  }

  #failureFile(): string {
    return join(this.#deps.launchDir, `${this.key}.failed`);
  }

  #openScript(script: string): number {
    const path = join(this.#deps.launchDir, `${this.key}.sh`);
    writeFileSync(path, script, { mode: 0o600 });
    const fd = openSync(path, 'r');
    unlinkSync(path);
    return fd;
  }

  #notSpawned(error: NodeJS.ErrnoException): void {
    this.#cgroup?.remove();
    void this.#ended(exitOfSpawnError(error, this.spec));
  }

  async #exited(code: number | null, signal: string | null): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    await this.#clearLeftovers();
    await this.#output.drain();
    const exit = exitOf(
      {
        code,
        signal,
        stop: this.#stop?.request ?? this.#asked?.request ?? null,
        oomKilled: this.#cgroup?.oomKilled() ?? false,
        launchFailure: code === 125 ? this.#launchFailure() : null,
      },
      this.spec,
    );
    await this.#removeCgroup();
    await this.#ended(exit);
  }

  async #clearLeftovers(): Promise<void> {
    if (!this.#cgroup) {
      signalPid(-this.pid, 'SIGKILL');
      return this.#deps.leftovers.clear(this.key);
    }
    for (let pauseMs = 1; this.#cgroup.pids().length > 0; pauseMs = Math.min(pauseMs * 2, 500)) {
      this.#cgroup.kill();
      await pause(pauseMs);
    }
  }

  #launchFailure(): string | null {
    try {
      const text = readFileSync(this.#failureFile(), 'utf8').trim();
      unlinkSync(this.#failureFile());
      return text;
    } catch {
      return null;
    }
  }

  async #removeCgroup(): Promise<void> {
    // A group may count as busy for a moment after its last process has gone.
    for (let i = 0; this.#cgroup && !this.#cgroup.remove() && i < 10; i++) await pause(2 ** i);
  }

  async #ended(exit: TaskExit): Promise<void> {
    this.#ending = true;
    await leaveScratch(this.spec);
    this.#hooks.ended(exit);
  }
}

function startProcess(launch: Launch, input: number | 'ignore', outputFd: number): ChildProcess {
  return spawn(launch.file, [...launch.args], {
    cwd: launch.cwd,
    env: launch.env,
    stdio: [input, outputFd, outputFd],
    // A session and process group of its own: signals reach all of it, and none from our terminal do.
    detached: true,
    ...launch.ids,
  });
}

function closePipe(pipe: Pipe): void {
  for (const fd of [pipe.readFd, pipe.writeFd]) {
    try {
      closeSync(fd);
    } catch {
      // Closed already by the half of the launch that worked.
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
