// A route is data: the table made of all of them is what Fastify serves, what the OpenAPI document is made from and what the
// authorisation sweep walks. Handlers get a checked query and body and return an answer; they never touch Fastify, except
// the few that stream.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type * as z from 'zod';
import type { Access, Caller } from './auth.ts';
import type { Api } from './deps.ts';

export interface Call<Query = unknown, Body = unknown> {
  /** Never null on routes that ask for a role. */
  readonly caller: Caller;
  readonly query: Query;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export interface Answer {
  readonly status?: number;
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The handler took the socket itself (event streams). */
export const streamed: unique symbol = Symbol('streamed');

/** What a successful answer looks like, for the document: a schema, or a media type of plain bytes. */
export type AnswerSchema = z.ZodType | 'text/plain' | 'none';

export interface Route {
  /** operationId in the document and action in the audit. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly access: Access;
  readonly query: z.ZodObject | null;
  readonly body: z.ZodType | null;
  /** The handler checks the body itself (job specs need the caller's defaults). */
  readonly rawBody: boolean;
  readonly bodyBytes: number | null;
  readonly answers: Readonly<Record<number, AnswerSchema>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Also answers text/event-stream. */
  readonly stream: boolean;
  /** Unsafe requests are audited; submits only when refused. */
  readonly audit: 'never' | 'refused' | 'always';
  readonly handle: (api: Api, call: Call) => Promise<Answer | typeof streamed>;
}

type Schema = z.ZodObject | null;

interface Written<Q extends Schema, B extends z.ZodType | null>
  extends Pick<Route, 'id' | 'method' | 'path' | 'tag' | 'summary' | 'access' | 'answers'> {
  readonly query?: Q;
  readonly body?: B;
  readonly rawBody?: boolean;
  readonly bodyBytes?: number;
  /** Request headers with their meaning, for the document. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly stream?: boolean;
  readonly audit?: Route['audit'];
  readonly handle: (
    api: Api,
    call: Call<Q extends z.ZodType ? z.output<Q> : undefined, B extends z.ZodType ? z.output<B> : undefined>,
  ) => Promise<Answer | typeof streamed>;
}

export function route<Q extends Schema = null, B extends z.ZodType | null = null>(
  written: Written<Q, B>,
): Route {
  return {
    query: null,
    body: null,
    rawBody: false,
    bodyBytes: null,
    headers: {},
    stream: false,
    audit: written.method === 'GET' ? 'never' : 'always',
    ...written,
  } as unknown as Route;
}

/** A path parameter; the router guarantees that it is there. */
export function param(call: Call, name: string): string {
  return (call.request.params as Record<string, string>)[name] ?? '';
}

export function header(call: Call, name: string): string | null {
  const value = call.request.headers[name];
  return typeof value === 'string' ? value : null;
}

/** What a committed write tells its caller for reading it back: `why?after=`. */
export function sequenceHeader(sequence: number): Record<string, string> {
  return { 'muster-sequence': String(sequence) };
}
