// A small client of the Kubernetes API over node:https: calls with JSON, and long answers as streams (watches, logs). It tells
// apart what the API server said (ApiError) from what is not known (Unanswered): a call without an answer may be carried out
// later. 429 means that nothing was done, so such a call is sent again, a few times, after a growing and random wait.
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { fewAtOnce } from '../few-at-once.ts';
import type { KubeAccess, KubeCredential } from './kubeconfig.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The API server answered, and said no. */
export class ApiError extends Error {
  readonly status: number;
  /** Kubernetes' word for it, such as AlreadyExists; empty where there is none. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }

  /**
   * Nothing was done, and the same call will be answered so again. A right that is missing is not such an answer: an API server
   * that has just started does not know anybody's rights yet, and an operator can give them.
   */
  get refused(): boolean {
    if (this.status === 403 && missingRight.test(this.message)) return false;
    return [400, 403, 404, 405, 413, 415, 422].includes(this.status);
  }
}

/** No answer came, or none that can be read. */
export class Unanswered extends Error {}

export interface KubeClient {
  call(method: Method, path: string, body?: unknown): Promise<unknown>;
  /** Resolves once the answer has begun, which has the time of a call; rejects as a call does. */
  stream(path: string, signal: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

export interface ClientSettings {
  readonly timeoutMs?: number;
  /** Connections at a time; further calls wait. */
  readonly connections?: number;
}

const missingRight = /^\S+( "[^"]*")? is forbidden: User "[^"]*" cannot \w+ resource /;
const status = z.object({ reason: z.string().optional(), message: z.string().optional() });
/** 500 pods are about 5 MB; what is longer is refused rather than read. */
const maxAnswerBytes = 256 * 1024 * 1024;
const tries = 5;
const firstWaitMs = 200;

export function createKubeClient(access: KubeAccess, settings: ClientSettings = {}): KubeClient {
  const { timeoutMs = 15_000, connections = 64 } = settings;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const few = fewAtOnce(connections);
  // Streams hold their connection for long; they must not use up those of the calls.
  const streams = new Agent({ keepAlive: false });

  function options(
    method: Method,
    path: string,
    length: number,
    { tls, token }: KubeCredential,
  ): RequestOptions {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    return {
      method,
      host: access.server.hostname,
      port: access.server.port || 443,
      path: `${access.server.pathname.replace(/\/$/, '')}${path}`,
      ...tls,
      headers: {
        accept: 'application/json',
        'user-agent': 'muster',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(length > 0 ? { 'content-type': type, 'content-length': length } : {}),
      },
    };
  }

  function send(
    who: KubeCredential,
    method: Method,
    path: string,
    body: Buffer | null,
    more: RequestOptions,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request({ ...options(method, path, body?.length ?? 0, who), ...more }, resolve);
      sent.once('error', (error) =>
        reject(
          new Unanswered(
            `the API server at ${access.server.host} does not answer: ${error.message} (${method} ${path})`,
          ),
        ),
      );
      if (body) sent.write(body);
      sent.end();
    });
  }

  /** Who is not known has done nothing, and may be known by what a plugin gives now: tried once more. */
  async function asOurselves(
    ask: (who: KubeCredential) => Promise<IncomingMessage>,
  ): Promise<IncomingMessage> {
    const who = await access.credential();
    const answer = await ask(who);
    if (answer.statusCode !== 401 || !access.renew(who)) return answer;
    answer.resume();
    return ask(await access.credential());
  }

  async function once(method: Method, path: string, body: Buffer | null): Promise<unknown> {
    const answer = await asOurselves((who) =>
      send(who, method, path, body, { agent, signal: AbortSignal.timeout(timeoutMs) }),
    );
    const text = await textOf(answer);
    const code = answer.statusCode ?? 0;
    if (code < 200 || code > 299) throw errorOf(code, text, answer.headers['retry-after']);
    try {
      return JSON.parse(text);
    } catch {
      throw new Unanswered(`${method} ${path}: the answer is not JSON`);
    }
  }

  return {
    async call(method, path, body) {
      const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
      for (let tried = 1; ; tried++) {
        try {
          // Its time counts from when there is a connection for it, however many wait.
          return await few(() => once(method, path, bytes));
        } catch (error) {
          if (!(error instanceof ApiError) || error.status !== 429 || tried === tries) throw error;
          await pause(waitMs(tried));
        }
      }
    },
    async stream(path, signal) {
      const answer = await asOurselves((who) => {
        const begins = new AbortController();
        const timer = setTimeout(() => begins.abort(new Error('no answer in time')), timeoutMs);
        const until = AbortSignal.any([signal, begins.signal]);
        const sent = send(who, 'GET', path, null, { agent: streams, signal: until });
        return sent.finally(() => clearTimeout(timer));
      });
      const code = answer.statusCode ?? 0;
      if (code >= 200 && code <= 299) return answer;
      throw errorOf(code, await textOf(answer), answer.headers['retry-after']);
    },
    close() {
      agent.destroy();
      streams.destroy();
    },
  };
}

/** Doubling, and any time up to that: what failed together does not come again together. */
export function waitMs(tried: number): number {
  return firstWaitMs * 2 ** (tried - 1) * (0.5 + Math.random() / 2);
}

function errorOf(code: number, text: string, retryAfter: string | undefined): ApiError {
  // 503 and 500 with that header say as 429 does that nothing was done.
  const effective = retryAfter !== undefined && code >= 500 ? 429 : code;
  try {
    const { reason = '', message = '' } = status.parse(JSON.parse(text));
    return new ApiError(effective, reason, message);
  } catch {
    return new ApiError(effective, '', `status ${code}: ${text.slice(0, 200)}`);
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > maxAnswerBytes) throw new Error('the answer is too long');
      pieces.push(piece);
    }
  } catch (error) {
    throw new Unanswered(error instanceof Error ? error.message : String(error));
  }
  return Buffer.concat(pieces).toString('utf8');
}
