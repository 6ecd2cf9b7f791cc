// The SDK against a real HTTP server on a loopback port.
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createClient, isOutcomeUnknown, MusterError } from './index.ts';
import { FakeServer } from './testing/index.ts';

let server: FakeServer;
const quick = { baseMs: 1, capMs: 2 };

beforeEach(async () => {
  server = await FakeServer.start();
});
afterEach(() => server.stop());

function client(more: object = {}) {
  return createClient({ url: server.url, token: 'secret', backoff: quick, ...more });
}

const problem = (code: string, status: number, detail = 'no') => ({
  status,
  json: { type: 'about:blank', title: code, status, code, detail },
});

function breakConnection(response: ServerResponse): void {
  response.socket?.destroy();
}

test('a submit whose answer was lost is sent again with the same key', async () => {
  let times = 0;
  server.on('POST /v1/jobs', () => {
    times += 1;
    return times === 1 ? breakConnection : { status: 201, json: { id: 'job_1', repeated: times > 1 } };
  });
  await expect(client().jobs.submit({ command: ['true'] })).resolves.toEqual({ id: 'job_1', repeated: true });
  const keys = server.to('POST /v1/jobs').map((request) => request.headers['idempotency-key']);
  expect(keys).toHaveLength(2);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(keys).size).toBe(1);
});

test('a submit is sent again when the outcome is unknown, and gives up with its key', async () => {
  server.on('POST /v1/jobs', problem('outcome-unknown', 503));
  const error = await client({ tries: 3 })
    .jobs.submit({ command: ['true'] }, { key: 'k1' })
    .catch((e) => e);
  expect(error).toBeInstanceOf(MusterError);
  expect(error).toMatchObject({ code: 'outcome-unknown', status: 503, idempotencyKey: 'k1' });
  expect(server.requests).toHaveLength(3);
});

test('what creates something without a key is not sent again after a lost answer', async () => {
  server.on('POST /v1/tokens', () => breakConnection);
  await expect(client().tokens.create({ name: 'ci', role: 'member' })).rejects.toMatchObject({
    code: 'no-answer',
  });
  expect(server.requests).toHaveLength(1);
});

test('a refusal carries the problem and is not repeated', async () => {
  server.on('POST /v1/jobs', problem('unknown-tier', 422, 'there is no tier "gold"'));
  const error = await client()
    .jobs.submit({ command: ['true'], tier: 'gold' })
    .catch((e) => e);
  expect(error).toMatchObject({ code: 'unknown-tier', status: 422, message: 'there is no tier "gold"' });
  expect(error.problem.title).toBe('unknown-tier');
  expect(server.requests).toHaveLength(1);
});

test('a server that is not there is unreachable, by name', async () => {
  await server.stop();
  await expect(client({ tries: 2 }).whoami()).rejects.toMatchObject({
    code: 'unreachable',
    message: `cannot reach ${server.url}: nothing listens there`,
  });
});

test('a server that does not answer in time is told apart from one that is not there', async () => {
  server.on('GET /v1/whoami', () => (_response: ServerResponse) => {});
  await expect(client({ timeoutMs: 30, tries: 1 }).whoami()).rejects.toMatchObject({ code: 'no-answer' });
});

test('a read without an answer took no effect, and says that the server may want TLS', async () => {
  server.on('GET /v1/whoami', () => breakConnection);
  server.on('POST /v1/tokens', () => breakConnection);
  const read = await client({ tries: 1 })
    .whoami()
    .catch((error) => error);
  expect(read.message).toContain(`if it speaks TLS, write ${server.url.replace('http:', 'https:')}`);
  expect(isOutcomeUnknown(read)).toBe(false);
  const written = client().tokens.create({ name: 'ci', role: 'member' });
  expect(isOutcomeUnknown(await written.catch((error) => error))).toBe(true);
});

test('something else that answers is named as such', async () => {
  server.on('GET /v1/whoami', { text: '<html>' });
  await expect(client().whoami()).rejects.toMatchObject({ code: 'bad-answer' });
  server.on('GET /v1/whoami', { status: 403, text: 'go away' });
  await expect(client().whoami()).rejects.toMatchObject({ code: 'bad-answer', status: 403 });
});

test('the token is not carried to where a redirect points', async () => {
  server.on('GET /v1/whoami', { status: 302, headers: { location: 'http://127.0.0.1:9/' }, text: '' });
  await expect(client({ tries: 1 }).whoami()).rejects.toBeInstanceOf(MusterError);
});

test('an abort ends a request with the reason of the abort', async () => {
  server.on('GET /v1/whoami', () => (_response: ServerResponse) => {});
  await expect(client().whoami({ signal: AbortSignal.abort(new Error('mine')) })).rejects.toThrow('mine');
});

test('all jobs come page by page in order', async () => {
  server.on('GET /v1/jobs', ({ query }) =>
    query.get('cursor') === 'two'
      ? { json: { items: [{ id: 'c' }], next: null } }
      : { json: { items: [{ id: 'a' }, { id: 'b' }], next: 'two' } },
  );
  const ids: string[] = [];
  for await (const job of client().jobs.all({ state: ['queued', 'running'] })) ids.push(job.id);
  expect(ids).toEqual(['a', 'b', 'c']);
  expect(server.requests[0]?.query.get('state')).toBe('queued,running');
  expect(server.requests[0]?.headers.authorization).toBe('Bearer secret');
});

test('a piece of output comes with its place in the whole', async () => {
  server.on('GET /v1/jobs/j/logs', {
    text: 'abc',
    headers: { 'muster-offset': '7', 'muster-next-offset': '10', 'muster-size': '12', 'muster-end': 'true' },
  });
  const piece = await client().jobs.logs('j', { rank: 2 });
  expect(piece).toMatchObject({ offset: 7, nextOffset: 10, size: 12, end: true });
  expect(new TextDecoder().decode(piece.data)).toBe('abc');
});

const sse = (...messages: [event: string, data: unknown, id?: string][]): string =>
  messages
    .map(
      ([event, data, id]) => `${id ? `id: ${id}\n` : ''}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
    )
    .join('');

test('followed output resumes at the offset after the last piece when the connection breaks', async () => {
  const first = sse(['output', { rank: 0, offset: 0, data: btoa('abc') }, '3']);
  const rest = sse(
    ['output', { rank: 0, offset: 3, data: btoa('def') }, '6'],
    ['end', { exit: { ok: true } }],
  );
  server.on('GET /v1/jobs/j/logs', ({ query }) => (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (query.get('offset') === '3') return void response.end(`: beat\n\n${rest}`);
    response.write(first, () => setTimeout(() => response.socket?.destroy(), 20));
  });
  let output = '';
  let exit: unknown;
  for await (const event of client().jobs.followLogs('j', { rank: 0 }, { backoff: quick })) {
    if (event.kind === 'output') output += new TextDecoder().decode(event.data);
    if (event.kind === 'end') exit = event.exit;
  }
  expect(output).toBe('abcdef');
  expect(exit).toEqual({ ok: true });
  expect(server.requests[1]?.headers['last-event-id']).toBe('3');
});

test('a followed stream that falls silent is opened again', async () => {
  let times = 0;
  server.on('GET /v1/jobs/j/logs', () => (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': beat\n\n');
    times += 1;
    if (times === 2) response.end(sse(['end', { exit: null }]));
  });
  const kinds: string[] = [];
  for await (const event of client().jobs.followLogs('j', {}, { backoff: quick, silenceMs: 30 }))
    kinds.push(event.kind);
  expect(kinds).toEqual(['end']);
  expect(times).toBe(2);
});

test('a refusal ends a followed stream', async () => {
  server.on('GET /v1/jobs/j/logs', problem('not-found', 404, 'there is no job j'));
  const follow = async () => {
    for await (const _ of client().jobs.followLogs('j')) expect.unreachable();
  };
  await expect(follow()).rejects.toMatchObject({ code: 'not-found' });
});

test('events go on from the cursor of the last one and end when told to', async () => {
  server.on('GET /v1/events', ({ query }) => (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const n = Number(query.get('after') ?? 0) + 1;
    response.end(sse(['event', { sequence: n, kind: 'job.held', at: '', body: {} }, String(n)]));
  });
  const stop = new AbortController();
  const seen: number[] = [];
  for await (const { event } of client().events.follow({}, { signal: stop.signal, backoff: quick })) {
    seen.push(event.sequence);
    if (seen.length === 3) stop.abort();
  }
  expect(seen).toEqual([1, 2, 3]);
});

test('a watched job is seen each time it changes, until it ended', async () => {
  const states = ['queued', 'queued', 'running', 'ended'];
  server.on('GET /v1/jobs/j', () => ({
    json: { id: 'j', state: states.length > 1 ? states.shift() : states[0] },
  }));
  const seen: string[] = [];
  for await (const job of client().jobs.watch('j', { lookEveryMs: 1 })) seen.push(job.state);
  expect(seen).toEqual(['queued', 'running', 'ended']);
});

test('what changes before the stream of events begins is seen without waiting for the slow look', async () => {
  let state = 'queued';
  server.on('GET /v1/jobs/j', () => ({ json: { id: 'j', state } }));
  server.on('GET /v1/events', () => (response) => {
    state = 'ended';
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
  });
  const seen: string[] = [];
  for await (const job of client().jobs.watch('j', { lookEveryMs: 3_600_000 })) seen.push(job.state);
  expect(seen).toEqual(['queued', 'ended']);
});

test('a watch of a job that was seen goes on while the server is away', async () => {
  let looks = 0;
  const away = { status: 503, json: { title: 'away', status: 503, code: 'unavailable', detail: 'away' } };
  server.on('GET /v1/jobs/j', () => {
    looks += 1;
    if (looks === 1) return { json: { id: 'j', state: 'running' } };
    // More than the tries of one request.
    return looks <= 4 ? away : { json: { id: 'j', state: 'ended' } };
  });
  const seen: string[] = [];
  const told: string[] = [];
  const onReconnect = (error: Error): void => void told.push(error.message);
  for await (const job of client({ tries: 2 }).jobs.watch('j', { lookEveryMs: 1, onReconnect }))
    seen.push(job.state);
  expect({ seen, told }).toEqual({ seen: ['running', 'ended'], told: ['away'] });
});
