// The output of a task, by offset. Kubernetes gives a log only from its beginning or its end, so the first who asks opens a stream,
// and what it brought is kept while somebody asks: the newest part of it, with its place. While the task runs the stream follows
// it and never says that this was all; once its end is known the log is read whole. Nobody asked for a while: it is closed.
import type { OutputAnswer } from '../contract.ts';
import type { KubeClient } from './client.ts';

export interface TaskLogs {
  read(request: LogRequest): Promise<OutputAnswer>;
  close(): void;
}

export interface LogRequest {
  /** Of the pod's log. */
  readonly path: string;
  /** The task is over: what can be read now is all there will be. */
  readonly over: boolean;
  readonly offset: number;
  readonly maxBytes: number;
  readonly waitMs: number;
}

const keptBytes = 4 * 1024 * 1024;
const idleMs = 60_000;
/** A stream that was just opened gets so long to bring what is there already. */
const openingMs = 500;
const wholeMs = 15_000;

class TaskLog {
  readonly #abort = new AbortController();
  readonly #follows: boolean;
  readonly #openedMs = performance.now();
  /** What is kept, and where its first byte stands. */
  #kept = Buffer.alloc(0);
  #from = 0;
  #ended = false;
  #error: unknown = null;
  #wake: (() => void)[] = [];
  usedMs = performance.now();

  constructor(client: KubeClient, path: string, follows: boolean) {
    this.#follows = follows;
    void this.#read(client, `${path}?container=task${follows ? '&follow=true' : ''}`);
  }

  async #read(client: KubeClient, path: string): Promise<void> {
    try {
      const stream = await client.stream(path, this.#abort.signal);
      for await (const piece of stream as AsyncIterable<Buffer>) {
        const all = Buffer.concat([this.#kept, piece]);
        const dropped = Math.max(0, all.length - keptBytes);
        this.#kept = all.subarray(dropped);
        this.#from += dropped;
        if (this.#follows) this.#tell();
      }
    } catch (error) {
      this.#error = error;
    }
    this.#ended = true;
    this.#tell();
  }

  #tell(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** It brings nothing more, and was not read to the end of the task. */
  get spent(): boolean {
    return this.#ended && (this.#follows || this.#error !== null);
  }

  async read({ offset, maxBytes, waitMs }: LogRequest): Promise<OutputAnswer> {
    const least = this.#openedMs + (this.#follows ? openingMs : wholeMs);
    const deadline = Math.max(performance.now() + waitMs, least);
    for (;;) {
      this.usedMs = performance.now();
      const size = this.#from + this.#kept.length;
      const start = Math.min(Math.max(offset, this.#from), Math.max(offset, size));
      const data = this.#kept.subarray(Math.min(start - this.#from, this.#kept.length)).subarray(0, maxBytes);
      const whole = this.#ended && !this.#follows && this.#error === null;
      const ready = this.#follows || whole;
      if ((ready && data.length > 0) || whole)
        return {
          offset: start,
          data: Uint8Array.from(data),
          size,
          end: whole && start + data.length >= size,
        };
      if (this.#error !== null) throw this.#error;
      if (this.#ended || performance.now() >= deadline)
        return { offset: start, data: new Uint8Array(), size, end: false };
      await this.#changed(deadline - performance.now());
    }
  }

  #changed(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#wake.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  close(): void {
    this.#abort.abort();
  }
}

export function taskLogs(client: KubeClient): TaskLogs {
  const logs = new Map<string, TaskLog>();

  function drop(key: string): void {
    logs.get(key)?.close();
    logs.delete(key);
  }

  const sweep = setInterval(() => {
    for (const [key, log] of logs) if (performance.now() - log.usedMs > idleMs) drop(key);
  }, idleMs);
  sweep.unref();
  return {
    async read(request) {
      const { path, over } = request;
      const key = `${path} ${over}`;
      if (over) drop(`${path} false`);
      const log = logs.get(key) ?? new TaskLog(client, path, !over);
      logs.set(key, log);
      try {
        const answer = await log.read(request);
        if (log.spent && answer.data.length === 0) drop(key);
        return answer;
      } catch (error) {
        drop(key);
        throw error;
      }
    },
    close() {
      clearInterval(sweep);
      for (const log of logs.values()) log.close();
    },
  };
}
