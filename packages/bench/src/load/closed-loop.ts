// As fast as it goes: each connection sends its next request when the last was answered. Good for rates, useless for latency.
import { expectOk, HttpConnection, type HttpTarget } from './http-connection.ts';

export interface ClosedLoop {
  readonly target: HttpTarget;
  readonly connections: number;
  readonly durationMs: number;
  /** The next request of a connection. */
  readonly request: (connection: number) => string;
}

/** Answers a second, counted over the time from the first request to the last answer. */
export async function closedLoop(loop: ClosedLoop): Promise<number> {
  const { target, connections, durationMs, request } = loop;
  const open = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(target)));
  const startedMs = performance.now();
  const endMs = startedMs + durationMs;
  let count = 0;
  async function client(connection: HttpConnection, i: number): Promise<void> {
    while (performance.now() < endMs) {
      const text = request(i);
      expectOk(await connection.send(text), text);
      count++;
    }
  }
  try {
    await Promise.all(open.map(client));
    return count / ((performance.now() - startedMs) / 1000);
  } finally {
    for (const connection of open) connection.close();
  }
}
