// What this node holds, as its supervisor tells it: the agent decides nothing about tasks, it mirrors. From here come the
// keys of beats, the tasks of a hello, and the observations that are reported.
import { setTimeout as pause } from 'node:timers/promises';
import {
  clip,
  maxReasonChars,
  type Observation,
  type RunId,
  type TaskExit,
  type TaskReport,
} from '@muster/model';
import { infrastructure } from './supervisor/exit.ts';
import { type TaskKey, type TaskStatus, taskKey } from './supervisor/protocol.ts';
import type { TaskNews } from './supervisor-link.ts';

export class TaskBook {
  #tasks = new Map<TaskKey, TaskStatus>();
  readonly #arriving = new Map<RunId, number>();
  readonly #observe: (item: Observation) => void;

  constructor(observe: (item: Observation) => void) {
    this.#observe = observe;
  }

  /** Runs that beats name: what may be started or is running. */
  liveRuns(): RunId[] {
    const runs = new Set<RunId>(this.#arriving.keys());
    for (const { run, state } of this.#tasks.values()) if (state !== 'ended') runs.add(run);
    return [...runs];
  }

  /** Tasks that run now. */
  running(): TaskStatus[] {
    return [...this.#tasks.values()].filter(({ state }) => state === 'running');
  }

  isLive(key: TaskKey): boolean {
    const task = this.#tasks.get(key);
    return task !== undefined && task.state !== 'ended';
  }

  reports(): TaskReport[] {
    return [...this.#tasks.values()];
  }

  /** A start command is on its way to the supervisor. */
  async arriving<T>(run: RunId, taken: Promise<T>): Promise<T> {
    this.#arriving.set(run, (this.#arriving.get(run) ?? 0) + 1);
    try {
      return await taken;
    } finally {
      const left = (this.#arriving.get(run) ?? 1) - 1;
      if (left > 0) this.#arriving.set(run, left);
      else this.#arriving.delete(run);
    }
  }

  /** Start commands that are still on their way have a moment to arrive, so that a hello can tell of them. */
  async settled(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (this.#arriving.size > 0 && performance.now() < deadline) await pause(1);
  }

  news(news: TaskNews): void {
    const { run, rank } = news;
    const key = taskKey(run, rank);
    switch (news.t) {
      case 'accepted':
        this.#tasks.set(key, { run, rank, state: 'accepted', exit: null });
        return;
      case 'started':
        this.#tasks.set(key, { run, rank, state: 'running', exit: null });
        this.#observe({ kind: 'started', run, rank, pid: news.pid });
        return;
      case 'ended':
        this.#end({ run, rank, state: 'ended', exit: sayable(news.exit) });
        return;
    }
  }

  /** A supervisor was (re)adopted: what it says replaces what we believed, and ends we did not know are told. */
  replace(tasks: readonly TaskStatus[]): void {
    const before = this.#tasks;
    this.#tasks = new Map();
    for (const told of tasks) {
      const task = { ...told, exit: told.exit && sayable(told.exit) };
      const key = taskKey(task.run, task.rank);
      if (task.state === 'ended' && before.get(key)?.state !== 'ended') this.#end(task);
      else this.#tasks.set(key, task);
    }
    for (const [key, { run, rank, state }] of before) {
      if (this.#tasks.has(key) || state === 'ended') continue;
      const message = 'the supervisor of this node died and its record of this task is lost';
      this.#end({ run, rank, state: 'ended', exit: infrastructure('supervisor-lost', message) });
    }
  }

  /** The server has these ends. */
  acknowledged(items: readonly Observation[]): TaskKey[] {
    const keys = items.filter(({ kind }) => kind === 'ended').map(({ run, rank }) => taskKey(run, rank));
    for (const key of keys) this.#tasks.delete(key);
    return keys;
  }

  #end(task: TaskStatus): void {
    this.#tasks.set(taskKey(task.run, task.rank), task);
    if (task.exit) this.#observe({ kind: 'ended', run: task.run, rank: task.rank, exit: task.exit });
  }
}

/** A reason may hold a user's own words, such as the path of a program that is not there; the protocol has a limit. */
function sayable(exit: TaskExit): TaskExit {
  if (exit.ok || exit.reason.message.length <= maxReasonChars) return exit;
  return { ...exit, reason: { ...exit.reason, message: clip(exit.reason.message, maxReasonChars) } };
}
