// Event streams: how bytes go out (with backpressure), how a stream ends (the client leaves, the token is revoked, the
// server closes), and how many a token may hold open.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Authenticator, type Caller, streamCheckMs } from './auth.ts';
import { refuse } from './problem.ts';

/** A comment every 10 s keeps proxies from closing a quiet stream. */
const checksPerComment = 4;

export interface EventStream {
  /** Aborts when the stream is over for any reason. */
  readonly signal: AbortSignal;
  /** Resolves when the socket can take more. */
  send(event: string, data: unknown, id?: string): Promise<void>;
  end(): void;
}

export interface StreamSet {
  /** Takes the socket over; throws `too-many` before anything is written. */
  open(request: FastifyRequest, reply: FastifyReply, caller: Caller): EventStream;
  readonly openCount: number;
  closeAll(): void;
}

export function createStreamSet(auth: Authenticator, maxPerToken: number): StreamSet {
  const perToken = new Map<string, number>();
  const all = new Set<() => void>();

  function admit(caller: Caller): void {
    const held = perToken.get(caller.token) ?? 0;
    if (held >= maxPerToken)
      throw refuse('too-many', `this token has ${held} streams open, which is the most; close one first`, {
        headers: { 'retry-after': '5' },
      });
    perToken.set(caller.token, held + 1);
  }

  return {
    get openCount() {
      return all.size;
    },
    open(request, reply, caller) {
      admit(caller);
      const abort = new AbortController();
      const { raw } = reply;
      request.isStream = true;
      reply.hijack();
      raw.writeHead(200, streamHeaders(reply));
      // Proxies hold back a stream's head until its first byte.
      raw.write(': muster\n\n');
      let checks = 0;
      const timer = setInterval(async () => {
        if (++checks % checksPerComment === 0) raw.write(': beat\n\n');
        if (!(await auth.stillValid(caller).catch(() => true))) end();
      }, streamCheckMs);
      const end = (): void => {
        if (abort.signal.aborted) return;
        clearInterval(timer);
        all.delete(end);
        const left = (perToken.get(caller.token) ?? 1) - 1;
        if (left > 0) perToken.set(caller.token, left);
        else perToken.delete(caller.token);
        abort.abort();
        raw.end();
      };
      all.add(end);
      raw.on('close', end);
      raw.on('error', end);
      // Gone before we began: its `close` came earlier.
      if (raw.destroyed) end();
      return { signal: abort.signal, end, send: sender(raw, abort.signal) };
    },
    closeAll() {
      for (const end of [...all]) end();
    },
  };
}

function streamHeaders(reply: FastifyReply): Record<string, string> {
  const set = reply.getHeaders() as Record<string, string>;
  return {
    ...set,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  };
}

function sender(raw: FastifyReply['raw'], signal: AbortSignal): EventStream['send'] {
  return async (event, data, id) => {
    if (signal.aborted) return;
    const head = id === undefined ? '' : `id: ${id}\n`;
    if (raw.write(`event: ${event}\n${head}data: ${JSON.stringify(data)}\n\n`)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        raw.off('drain', done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      raw.on('drain', done);
      signal.addEventListener('abort', done);
    });
  };
}

export function wantsStream(request: FastifyRequest): boolean {
  return request.headers.accept?.includes('text/event-stream') === true;
}
