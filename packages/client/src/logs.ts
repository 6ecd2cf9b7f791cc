// The output of one task: a piece of it, or all of it as it is written. Offsets count bytes of the attempt's output from
// its start; bytes the size limit dropped are told, never silently skipped.
import type { JobId, TaskExit } from '@muster/model';
import type { StreamMessage } from './event-stream.ts';
import { type StreamOptions, stream } from './stream.ts';
import type { Transport } from './transport.ts';

export interface LogQuery {
  readonly rank?: number | undefined;
  /** The present or last attempt unless said. */
  readonly attempt?: number | undefined;
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
}

export interface LogPiece {
  readonly data: Uint8Array;
  /** Where `data` begins. */
  readonly offset: number;
  readonly nextOffset: number;
  /** Bytes written so far, dropped ones included. */
  readonly size: number;
  /** The task is over and this is the last piece. */
  readonly end: boolean;
}

export type LogEvent =
  | { readonly kind: 'output'; readonly rank: number; readonly offset: number; readonly data: Uint8Array }
  /** Output up to `offset` was dropped by the size limit. */
  | { readonly kind: 'dropped'; readonly rank: number; readonly offset: number }
  /** What follows is of this attempt, from this node. */
  | { readonly kind: 'attempt'; readonly attempt: number; readonly node: string }
  | { readonly kind: 'end'; readonly exit: TaskExit | null };

export function logsApi(transport: Transport) {
  const path = (job: string): string => `/v1/jobs/${encodeURIComponent(job)}/logs`;
  return {
    async logs(job: JobId | string, query: LogQuery = {}, signal?: AbortSignal): Promise<LogPiece> {
      const response = await transport.answer({
        path: path(job),
        query: { ...query },
        accept: 'text/plain',
        signal,
      });
      const data = new Uint8Array(await response.arrayBuffer());
      const header = (name: string): string | null => response.headers.get(`muster-${name}`);
      const offset = Number(header('offset') ?? query.offset ?? 0);
      return {
        data,
        offset,
        nextOffset: Number(header('next-offset') ?? offset + data.length),
        size: Number(header('size') ?? offset + data.length),
        end: header('end') === 'true',
      };
    },

    async *followLogs(
      job: JobId | string,
      query: Omit<LogQuery, 'limit'> = {},
      options: StreamOptions = {},
    ): AsyncGenerator<LogEvent, void, void> {
      const messages = stream(
        transport,
        {
          // The id of a message says attempt and offset after it, which is where to go on.
          request: (lastId) => ({
            path: path(job),
            query: { ...query, offset: lastId ?? query.offset },
            ...(lastId === null ? {} : { headers: { 'last-event-id': lastId } }),
          }),
          isLast: (message) => message.event === 'end',
        },
        options,
      );
      for await (const message of messages) {
        const event = logEvent(message);
        if (event) yield event;
      }
    },
  };
}

function logEvent(message: StreamMessage): LogEvent | null {
  const body = JSON.parse(message.data) as Record<string, unknown>;
  switch (message.event) {
    case 'output':
      return {
        kind: 'output',
        rank: Number(body.rank),
        offset: Number(body.offset),
        data: fromBase64(String(body.data)),
      };
    case 'dropped':
      return { kind: 'dropped', rank: Number(body.rank), offset: Number(body.offset) };
    case 'attempt':
      return { kind: 'attempt', attempt: Number(body.attempt), node: String(body.node ?? '') };
    case 'end':
      return { kind: 'end', exit: (body.exit ?? null) as TaskExit | null };
    default:
      // A newer server may tell more.
      return null;
  }
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
