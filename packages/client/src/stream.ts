// A stream of the API that goes on across broken connections: it resumes after the last message that was handed out,
// waits longer after each failure, and starts counting anew once something came. The server sends a comment every ten
// seconds, so a silent connection is a dead one. Trouble after the head was sent comes as an event `problem`.
import type { Problem } from '@muster/model';
import { type Backoff, backoffMs, sleep } from './backoff.ts';
import { MusterError, problemError } from './errors.ts';
import { type StreamMessage, StreamParser } from './event-stream.ts';
import type { Request, Transport } from './transport.ts';

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined;
  /** Told each time a connection stands: what happens from now on comes by it. */
  readonly onOpen?: (() => void) | undefined;
  /** Told before each reconnect. */
  readonly onReconnect?: ((error: MusterError, waitMs: number) => void) | undefined;
  /** Give up after this many failures in a row; never unless said. */
  readonly tries?: number | undefined;
  readonly backoff?: Backoff | undefined;
  readonly silenceMs?: number | undefined;
}

const defaultSilenceMs = 35_000;
const defaultBackoff: Backoff = { baseMs: 250, capMs: 10_000 };
const passing = new Set([
  'unreachable',
  'no-answer',
  'unavailable',
  'outcome-unknown',
  'node-unreachable',
  'too-many',
]);

export interface Resumable {
  /** The request that continues after `lastId`, the last id handed out; null at first. */
  readonly request: (lastId: string | null) => Request;
  /** Whether this message says that nothing more will come. */
  readonly isLast: (message: StreamMessage) => boolean;
}

/** Ends after the last message, or when the signal fires. */
export async function* stream(
  transport: Transport,
  resumable: Resumable,
  options: StreamOptions,
): AsyncGenerator<StreamMessage, void, void> {
  let lastId: string | null = null;
  let failures = 0;
  for (;;) {
    try {
      for await (const message of connection(transport, resumable.request(lastId), options)) {
        if (message.event !== 'problem') failures = 0;
        lastId = message.id ?? lastId;
        if (message.event === 'problem') throw problemError(JSON.parse(message.data) as Problem, null);
        yield message;
        if (resumable.isLast(message)) return;
      }
      throw new MusterError('no-answer', `${transport.url} closed the stream`);
    } catch (error) {
      if (options.signal?.aborted) return;
      failures += 1;
      if (!passes(error) || failures >= (options.tries ?? Number.POSITIVE_INFINITY)) throw error;
      const waitMs = backoffMs(options.backoff ?? defaultBackoff, failures);
      options.onReconnect?.(error as MusterError, waitMs);
      await sleep(waitMs, options.signal).catch(() => undefined);
      if (options.signal?.aborted) return;
    }
  }
}

/** Whether trying again may help: the server is away or restarts. */
export function passes(error: unknown): error is MusterError {
  if (!(error instanceof MusterError)) return false;
  return passing.has(error.code) || (error.code === 'bad-answer' && error.status >= 500);
}

async function* connection(
  transport: Transport,
  request: Request,
  options: StreamOptions,
): AsyncGenerator<StreamMessage, void, void> {
  const silence = new AbortController();
  const silenceMs = options.silenceMs ?? defaultSilenceMs;
  let timer = setTimeout(() => silence.abort(), silenceMs);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceMs);
  };
  const signals = [silence.signal, options.signal].filter((signal) => signal !== undefined);
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    const response = await transport.open({
      ...request,
      accept: 'text/event-stream',
      signal: AbortSignal.any(signals),
    });
    requireEventStream(response, transport.url);
    options.onOpen?.();
    reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
    const parser = new StreamParser();
    for (;;) {
      const piece = await reader?.read();
      if (!piece || piece.done) return;
      heard();
      yield* parser.push(piece.value);
    }
  } catch (error) {
    if (error instanceof MusterError) throw error;
    const what = silence.signal.aborted ? 'fell silent' : 'broke';
    throw new MusterError('no-answer', `the stream from ${transport.url} ${what}`, { cause: error });
  } finally {
    clearTimeout(timer);
    await reader?.cancel().catch(() => undefined);
  }
}

function requireEventStream(response: Response, url: string): void {
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) return;
  void response.body?.cancel();
  throw new MusterError('bad-answer', `${url} answered without a stream; is it a Muster server?`, {
    status: response.status,
  });
}
