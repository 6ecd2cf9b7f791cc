// Watches the status files of running tasks (the checkpoint contract) and reports what they say: soon when the run is being
// stopped, otherwise at most every few seconds a task. A file is read only when it was replaced or changed, with a bound,
// and never through a link: it belongs to the task, and this process may be root.
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Checkpoint, checkpointEveryMs, type Observation, parseStatus, type RunId } from '@muster/model';
import { type TaskKey, type TaskStatus, taskKey } from './supervisor/protocol.ts';
import { statusFile } from './task-spec.ts';

const lookEveryMs = 1000;
const mostBytes = 4096;

export interface CheckpointDeps {
  readonly running: () => readonly Pick<TaskStatus, 'run' | 'rank'>[];
  readonly scratchRoot: string;
  readonly report: (item: Extract<Observation, { kind: 'checkpoint' }>) => void;
}

/** What was last seen of a task's file, and when it was last told. */
interface Seen {
  readonly stamp: string;
  readonly saved: Checkpoint | null;
  readonly writtenMs: number;
  told: boolean;
}

export class CheckpointWatch {
  readonly #deps: CheckpointDeps;
  readonly #seen = new Map<TaskKey, Seen>();
  readonly #toldAtMs = new Map<TaskKey, number>();
  readonly #hurried = new Set<RunId>();
  readonly #timer: NodeJS.Timeout;
  #looking = false;

  constructor(deps: CheckpointDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.look(), lookEveryMs);
    this.#timer.unref();
  }

  /** The run was asked to save its work: every word of it is told at once. */
  hurry(run: RunId): void {
    this.#hurried.add(run);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const tasks = this.#deps.running();
      this.#forget(tasks);
      for (const task of tasks) await this.#lookAt(task);
    } finally {
      this.#looking = false;
    }
  }

  async #lookAt({ run, rank }: Pick<TaskStatus, 'run' | 'rank'>): Promise<void> {
    const key = taskKey(run, rank);
    const seen = await readStatus(join(this.#deps.scratchRoot, key, statusFile), this.#seen.get(key));
    if (!seen) return;
    this.#seen.set(key, seen);
    const nowMs = Date.now();
    const due = nowMs - (this.#toldAtMs.get(key) ?? 0) >= checkpointEveryMs || this.#hurried.has(run);
    if (seen.told || !seen.saved || !due) return;
    seen.told = true;
    this.#toldAtMs.set(key, nowMs);
    const agoMs = Math.max(0, Math.round(nowMs - seen.writtenMs));
    this.#deps.report({ kind: 'checkpoint', run, rank, agoMs, ...seen.saved });
  }

  #forget(tasks: readonly Pick<TaskStatus, 'run' | 'rank'>[]): void {
    const keys = new Set(tasks.map(({ run, rank }) => taskKey(run, rank)));
    const runs = new Set(tasks.map(({ run }) => run));
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key);
    for (const key of this.#toldAtMs.keys()) if (!keys.has(key)) this.#toldAtMs.delete(key);
    for (const run of this.#hurried) if (!runs.has(run)) this.#hurried.delete(run);
  }
}

/** Null when there is no such file; what was seen before when it is still the same. */
async function readStatus(path: string, before: Seen | undefined): Promise<Seen | null> {
  try {
    const found = await lstat(path);
    const stamp = `${found.ino} ${found.mtimeMs} ${found.size}`;
    if (before?.stamp === stamp) return before;
    const saved = found.isFile() && found.size <= mostBytes ? parseStatus(await readAll(path)) : null;
    return { stamp, saved, writtenMs: found.mtimeMs, told: false };
  } catch {
    return before ?? null;
  }
}

async function readAll(path: string): Promise<string> {
  // Without waiting: what was a file a moment ago may be a pipe by now.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const buffer = Buffer.alloc(mostBytes);
    const { bytesRead } = await file.read(buffer, 0, mostBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
