import { type JobId, OperationalError, runId } from '@muster/model';
import { failed, ok } from '@muster/store/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApi } from './create-api.ts';
import { type EventReader, openEvents } from './testing/event-reader.ts';
import { connectNode, endRun, type PlayedNode, reconnectNode, runJob } from './testing/placing.ts';
import { aJob, openWorld, playControl, type World } from './testing/world.ts';

let world: World;
let token: string;
let url: string;
let node: PlayedNode;
const readers: EventReader[] = [];
/** What tasks have written, by run; `end` once they are over. */
const output = new Map<string, { bytes: Buffer; keptFrom: number; end: boolean }>();

beforeAll(async () => {
  world = await openWorld();
  token = await world.token('admin', null);
  ({ url } = await world.api.listen());
  node = await connectNode(world, 'n1');
  world.control.read = async ({ run, offset, maxBytes, waitMs }) => {
    const text = () => output.get(run) ?? { bytes: Buffer.alloc(0), keptFrom: 0, end: false };
    const endMs = performance.now() + waitMs;
    while (text().bytes.length <= offset && !text().end && performance.now() < endMs)
      await new Promise((resolve) => setTimeout(resolve, 5));
    const { bytes, keptFrom, end } = text();
    const from = Math.max(offset, Math.min(keptFrom, bytes.length));
    const data = new Uint8Array(bytes.subarray(from, from + maxBytes));
    return { offset: from, data, size: bytes.length, end: end && from + data.length === bytes.length };
  };
});
afterAll(async () => {
  for (const reader of readers) await reader.close();
  await world.close();
});

const submit = async (extra: object = {}): Promise<JobId> =>
  (await world.ask('POST', '/v1/jobs', { token, body: { ...aJob, ...extra } })).json().id;
const write = (run: string, text: string, more: { end?: boolean; keptFrom?: number } = {}): void => {
  const before = output.get(run)?.bytes ?? Buffer.alloc(0);
  output.set(run, {
    bytes: Buffer.concat([before, Buffer.from(text)]),
    keptFrom: more.keptFrom ?? 0,
    end: more.end ?? false,
  });
};

async function follow(job: string, query = '', headers: Record<string, string> = {}): Promise<EventReader> {
  const reader = await openEvents(`${url}/v1/jobs/${job}/logs${query}`, token, headers);
  readers.push(reader);
  return reader;
}

const told = (events: { event: string; data: { data?: string } }[]): string =>
  events
    .filter(({ event }) => event === 'output')
    .map(({ data }) => Buffer.from(data.data ?? '', 'base64').toString())
    .join('');

test('without follow the answer is bytes with where they are and whether more may come', async () => {
  const job = await submit();
  const read = (query = '') => world.ask('GET', `/v1/jobs/${job}/logs${query}`, { token });
  const waiting = await read();
  expect([waiting.body, waiting.headers['muster-end']]).toEqual(['', 'false']);
  const { run } = await runJob(world, job, [node]);
  write(run, 'hello <script>world');
  const first = await read('?limit=5');
  expect(first.body).toBe('hello');
  expect(first.headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'muster-offset': '0',
    'muster-next-offset': '5',
    'muster-size': '19',
    'muster-end': 'false',
  });
  write(run, '!', { end: true });
  const rest = await read('?offset=5');
  expect([rest.body, rest.headers['muster-end']]).toEqual([' <script>world!', 'true']);
  expect((await read('?rank=1')).json()).toMatchObject({ status: 400, code: 'bad-request' });
  expect((await read('?attempt=2')).json()).toMatchObject({ status: 404 });
  expect((await read('?offset=-1')).json()).toMatchObject({ status: 400 });
});

test('a stream of a queued job waits for its run, follows it to the end, and tells the exit', async () => {
  const job = await submit();
  const stream = await follow(job);
  const placed = await runJob(world, job, [node]);
  write(placed.run, 'one ');
  const begun = await stream.take(({ event }) => event === 'output');
  expect(begun[0]).toMatchObject({ event: 'attempt', data: { attempt: 1, node: 'n1' } });
  await endRun(world, placed, failed({ code: 3 }));
  write(placed.run, 'two', { end: true });
  const rest = await stream.take(({ event }) => event === 'end');
  expect(told([...begun, ...rest])).toBe('one two');
  expect(rest.at(-1)?.data.exit).toMatchObject({ ok: false, code: 3 });
  expect(await stream.next()).toBeNull();
});

test('a stream resumes after its last id, or from an offset', async () => {
  const job = await submit();
  const placed = await runJob(world, job, [node]);
  write(placed.run, '0123456789');
  const stream = await follow(job);
  const [, first] = await stream.take(({ event }) => event === 'output');
  await stream.close();
  expect(first?.id).toBe('1.10');
  write(placed.run, 'abc', { end: true });
  await endRun(world, placed, ok);
  const resumed = await follow(job, '', { 'last-event-id': first?.id as string });
  expect(told(await resumed.take(({ event }) => event === 'end'))).toBe('abc');
  const fromOffset = await follow(job, '?offset=5');
  expect(told(await fromOffset.take(({ event }) => event === 'end'))).toBe('56789abc');
  const bad = await follow(job, '', { 'last-event-id': 'nonsense' });
  expect(bad.status).toBe(400);
});

test('what the size cap dropped is told, with where the output goes on', async () => {
  const job = await submit();
  const placed = await runJob(world, job, [node]);
  write(placed.run, 'lost kept', { keptFrom: 5, end: true });
  await endRun(world, placed, ok);
  const events = await (await follow(job)).take(({ event }) => event === 'end');
  expect(events.map(({ event }) => event)).toEqual(['attempt', 'dropped', 'output', 'end']);
  expect(events[1]).toMatchObject({ id: '1.5', data: { rank: 0, from: 0, offset: 5 } });
  expect(told(events)).toBe('kept');
});

test('a retry moves the stream on to the next attempt, unless an attempt was named', async () => {
  const job = await submit({ retry: { user: 1 } });
  const first = await runJob(world, job, [node]);
  write(first.run, 'first', { end: true });
  const stream = await follow(job);
  const pinned = await follow(job, '?attempt=1');
  await stream.take(({ event }) => event === 'output');
  await endRun(world, first, failed());
  const second = await runJob(world, job, [node]);
  expect(second.run).toBe(runId(job, 2));
  write(second.run, 'second', { end: true });
  await endRun(world, second, ok);
  const rest = await stream.take(({ event }) => event === 'end');
  expect(rest[0]).toMatchObject({ event: 'attempt', data: { attempt: 2 } });
  expect(told(rest)).toBe('second');
  expect(rest.find(({ event }) => event === 'output')?.id).toBe('2.6');
  expect(told(await pinned.take(({ event }) => event === 'end'))).toBe('first');
});

test('a job cancelled before it ever ran ends the stream with no exit', async () => {
  const job = await submit();
  const stream = await follow(job);
  await world.ask('POST', `/v1/jobs/${job}/cancel`, { token });
  expect(await stream.take(() => false)).toMatchObject([{ event: 'end', data: { exit: null } }]);
});

test('a node that is connected nowhere is 503 and named', async () => {
  const lost = await connectNode(world, 'n-lost');
  const job = await submit();
  await runJob(world, job, [lost]);
  world.control.connectedNodes.delete(lost.node);
  const answer = await world.ask('GET', `/v1/jobs/${job}/logs`, { token });
  expect(answer.json()).toMatchObject({ status: 503, code: 'node-unreachable' });
  expect(answer.json().detail).toContain('n-lost');
  expect((await follow(job)).status).toBe(503);
});

test('trouble in the middle of a stream is an event, and the stream ends for the client to come back', async () => {
  const job = await submit();
  const placed = await runJob(world, job, [node]);
  write(placed.run, 'some');
  const stream = await follow(job);
  await stream.take(({ event }) => event === 'output');
  const { read } = world.control;
  world.control.read = async () => {
    throw new OperationalError('node-unreachable', 'node n1 went away');
  };
  write(placed.run, ' more');
  const rest = await stream.take(() => false);
  world.control.read = read;
  expect(rest.at(-1)).toMatchObject({ event: 'problem', data: { code: 'node-unreachable' } });
});

test('a server the node is not connected to passes the request on, once, with the caller’s own token', async () => {
  const other = playControl(world.store);
  const log = (await import('pino')).pino({ level: 'silent' });
  const second = await createApi({
    store: world.store,
    control: other,
    clock: world.clock,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    log,
    version: { version: '0', commit: '', schema: 1 },
    config: { host: '127.0.0.1', port: 0, tls: null, behindTlsProxy: false, maxBodyBytes: 1024 },
  });
  const { url: secondUrl } = await second.listen();
  // The first server has announced where it is, and holds the node's connection.
  await world.store.announceServer({ id: world.control.server, url, bootId: 'b', pid: 1, pidStart: '1' });
  const job = await submit();
  const placed = await runJob(world, job, [node]);
  write(placed.run, 'from afar', { end: true });
  await endRun(world, placed, ok);
  const authorization = `Bearer ${token}`;
  const plain = await fetch(`${secondUrl}/v1/jobs/${job}/logs?offset=5`, { headers: { authorization } });
  expect([plain.status, await plain.text(), plain.headers.get('muster-size')]).toEqual([200, 'afar', '9']);
  const stream = await openEvents(`${secondUrl}/v1/jobs/${job}/logs`, token);
  expect(told(await stream.take(({ event }) => event === 'end'))).toBe('from afar');
  // A request that was passed on already is answered here or not at all.
  const looped = await fetch(`${secondUrl}/v1/jobs/${job}/logs`, {
    headers: { authorization, 'muster-forwarded-by': 'srv_x' },
  });
  expect(looped.status).toBe(503);
  expect((await fetch(`${secondUrl}/v1/jobs/${job}/logs`)).status).toBe(401);
  await reconnectNode(world, node.node, 'n1', world.control.server);
  await second.close();
});
