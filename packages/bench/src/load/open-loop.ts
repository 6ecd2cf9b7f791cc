// At a fixed rate, whether the answers come or not: each request has its time, and its latency counts from that time. A server
// that stalls so shows its whole stall, in every request that was due meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { expectOk, HttpConnection, type HttpTarget } from './http-connection.ts';

export interface OpenLoop {
  readonly target: HttpTarget;
  readonly perSecond: number;
  readonly durationMs: number;
  /** The i-th request, and what to call it. */
  readonly request: (i: number) => { readonly kind: string; readonly text: string };
}

export interface Latency {
  readonly kind: string;
  readonly ms: number;
}

/** With this many waiting a request waits for one to end, its own time running all the while: a slow server is a figure, not a failure. */
const maxOpen = 500;
/** A run that takes this many times its length ends with what it has. */
const longestStretch = 3;

export async function openLoop(loop: OpenLoop): Promise<Latency[]> {
  const { target, perSecond, durationMs, request } = loop;
  const idle: HttpConnection[] = [];
  const all: HttpConnection[] = [];
  const latencies: Latency[] = [];
  const pending = new Set<Promise<void>>();
  let broken: Error | null = null;

  async function one(i: number, dueMs: number): Promise<void> {
    const { kind, text } = request(i);
    let connection = idle.pop();
    if (!connection) {
      connection = await HttpConnection.open(target);
      all.push(connection);
    }
    expectOk(await connection.send(text), text);
    latencies.push({ kind, ms: performance.now() - dueMs });
    idle.push(connection);
  }

  const startedMs = performance.now();
  const count = Math.floor((durationMs / 1000) * perSecond);
  try {
    for (let i = 0; i < count && !broken; i++) {
      const dueMs = startedMs + (i * 1000) / perSecond;
      const waitMs = dueMs - performance.now();
      if (waitMs > 0.5) await sleep(waitMs);
      if (pending.size >= maxOpen) await Promise.race(pending);
      if (performance.now() > startedMs + durationMs * longestStretch) break;
      const running = one(i, dueMs).catch((error: Error) => {
        broken = error;
      });
      pending.add(running);
      void running.finally(() => pending.delete(running));
    }
    await Promise.all(pending);
    if (broken) throw broken;
    return latencies;
  } finally {
    for (const connection of all) connection.close();
  }
}
