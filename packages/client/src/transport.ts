// One request to the API and what may go wrong with it. A request says whether sending it twice is harmless; only
// then is it sent again after a lost answer. A connection that was never made is always tried again.
import type { Problem } from '@muster/model';
import { type Backoff, backoffMs, sleep } from './backoff.ts';
import { MusterError, problemError } from './errors.ts';

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;
export type QueryValue = string | number | boolean | readonly string[] | null | undefined;

export interface ClientOptions {
  /** Where the server is, for example https://muster.example.org. */
  readonly url: string;
  readonly token?: string | null;
  readonly fetch?: Fetch;
  /** For one try of a request, not for streams. */
  readonly timeoutMs?: number;
  /** Tries of a request that may be sent again. */
  readonly tries?: number;
  readonly backoff?: Backoff;
  readonly userAgent?: string;
  /** Told before each wait: for a log or a progress line. */
  readonly onRetry?: (error: MusterError, waitMs: number) => void;
}

export interface Request {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly body?: unknown;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
  /** Sending it twice has the effect of once. GETs always have. */
  readonly repeatable?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

export interface Transport {
  readonly url: string;
  json<T>(request: Request): Promise<T>;
  /** The answer with its body unread, tried as `json` is. */
  answer(request: Request): Promise<Response>;
  /** One try and no time limit on the body; for streams, which have their own reconnecting. */
  open(request: Request): Promise<Response>;
}

const defaultTimeoutMs = 30_000;
const defaultTries = 4;
const defaultBackoff: Backoff = { baseMs: 250, capMs: 5000 };

export function createTransport(options: ClientOptions): Transport {
  const url = options.url.replace(/\/+$/, '');
  const tries = options.tries ?? defaultTries;
  const backoff = options.backoff ?? defaultBackoff;
  const fetchOnce = options.fetch ?? ((input, init) => globalThis.fetch(input, init));

  async function once(request: Request, limit: AbortSignal | undefined): Promise<Response> {
    const signals = [limit, request.signal].filter((signal) => signal !== undefined);
    let response: Response;
    try {
      response = await fetchOnce(url + request.path + queryText(request.query ?? {}), {
        method: request.method ?? 'GET',
        headers: headersOf(request, options),
        // A redirect could carry the token to another host.
        redirect: 'error',
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
      });
    } catch (error) {
      request.signal?.throwIfAborted();
      throw connectionError(error, url, request);
    }
    if (!response.ok) throw await answeredError(response, url, request);
    return response;
  }

  async function tried<T>(request: Request, use: (response: Response) => Promise<T>): Promise<T> {
    for (let failures = 1; ; failures++) {
      try {
        return await use(
          await once(
            request,
            AbortSignal.timeout(request.timeoutMs ?? options.timeoutMs ?? defaultTimeoutMs),
          ),
        );
      } catch (error) {
        if (!(error instanceof MusterError) || failures >= tries || !mayRepeat(error, request)) throw error;
        const waitMs = backoffMs(backoff, failures);
        options.onRetry?.(error, waitMs);
        await sleep(waitMs, request.signal);
      }
    }
  }

  return {
    url,
    json: (request) => tried(request, (response) => readJson(response, url, request)),
    answer: (request) => tried(request, async (response) => response),
    open: (request) => once(request, undefined),
  };
}

function headersOf(request: Request, options: ClientOptions): Record<string, string> {
  return {
    accept: request.accept ?? 'application/json',
    ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
    ...(options.userAgent ? { 'user-agent': options.userAgent } : {}),
    ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(request.idempotencyKey === undefined ? {} : { 'idempotency-key': request.idempotencyKey }),
    ...request.headers,
  };
}

function mayRepeat(error: MusterError, request: Request): boolean {
  const repeatable =
    request.repeatable ?? ((request.method ?? 'GET') === 'GET' || request.idempotencyKey !== undefined);
  switch (error.code) {
    case 'unreachable':
    case 'too-many':
    case 'unavailable': // by contract nothing happened
      return true;
    case 'no-answer':
    case 'outcome-unknown':
      return repeatable;
    case 'bad-answer':
      // What a proxy says while the server behind it restarts.
      return repeatable && [502, 503, 504].includes(error.status);
    default:
      return false;
  }
}

export function queryText(query: Readonly<Record<string, QueryValue>>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    search.append(key, Array.isArray(value) ? value.join(',') : String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Failures after which the server cannot have seen the request. */
const neverSent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function connectionError(error: unknown, url: string, request: Request): MusterError {
  const cause = causeCode(error);
  const isRead = (request.method ?? 'GET') === 'GET';
  const options = { cause: error, idempotencyKey: request.idempotencyKey ?? null, isRead };
  if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO_VERIFY/.test(cause))
    return new MusterError('untrusted', `cannot talk to ${url}: ${tlsText(cause, url)}`, options);
  if (neverSent.has(cause))
    return new MusterError('unreachable', `cannot reach ${url}: ${connectionText(cause)}`, options);
  const what =
    cause === 'TimeoutError' ? 'no answer in time' : `the connection broke (${cause})${tlsHint(url)}`;
  return new MusterError('no-answer', `${url} did not answer: ${what}`, options);
}

/** A server that wants TLS hangs up on whoever does not speak it. */
function tlsHint(url: string): string {
  return url.startsWith('http:') ? `; if it speaks TLS, write ${url.replace(/^http:/, 'https:')}` : '';
}

function tlsText(cause: string, url: string): string {
  if (cause === 'ERR_SSL_WRONG_VERSION_NUMBER' || cause === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return `it does not speak TLS; if that is as it should be, write ${url.replace(/^https:/, 'http:')}`;
  if (cause === 'CERT_HAS_EXPIRED') return 'its certificate has expired';
  if (cause === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'its certificate is for another name';
  return `its certificate is not trusted (${cause}); give the certificate of its authority with MUSTER_CA_FILE, or "muster login" with --ca-file`;
}

function connectionText(cause: string): string {
  if (cause === 'ECONNREFUSED') return 'nothing listens there';
  if (cause === 'ENOTFOUND' || cause === 'EAI_AGAIN') return 'its name is not known';
  return `the network gave ${cause}`;
}

/** The innermost cause has the code: fetch wraps it, and several addresses wrap it once more. */
function causeCode(error: unknown): string {
  let code = 'unknown error';
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const own = (at as NodeError).code;
    if (typeof own === 'string') code = own;
    else if (at.name === 'TimeoutError') code = at.name;
    const inner = (at as NodeError).errors?.[0];
    if (inner instanceof Error) return causeCode(inner);
  }
  return code;
}

interface NodeError extends Error {
  readonly code?: unknown;
  readonly errors?: readonly unknown[];
}

async function answeredError(response: Response, url: string, request: Request): Promise<MusterError> {
  const idempotencyKey = request.idempotencyKey ?? null;
  const body = await response.text().catch(() => '');
  const problem = parseProblem(body);
  if (problem) return problemError(problem, idempotencyKey);
  const message = `${url} answered ${response.status} in a form that is not Muster's; check the address`;
  return new MusterError('bad-answer', message, { status: response.status, idempotencyKey });
}

function parseProblem(body: string): Problem | null {
  try {
    const value: unknown = JSON.parse(body);
    const is = typeof value === 'object' && value !== null && 'code' in value && 'status' in value;
    return is ? (value as Problem) : null;
  } catch {
    return null;
  }
}

async function readJson<T>(response: Response, url: string, request: Request): Promise<T> {
  if (response.status === 204) return undefined as T;
  let body: string;
  try {
    body = await response.text();
  } catch (error) {
    request.signal?.throwIfAborted();
    throw connectionError(error, url, request);
  }
  try {
    return JSON.parse(body) as T;
  } catch (error) {
    const message = `${url}${request.path} answered something that is not JSON; is it a Muster server?`;
    throw new MusterError('bad-answer', message, { status: response.status, cause: error });
  }
}
