// Requests that are wrong before they are requests, as bytes on a socket: every answer is a problem of the one table, and none
// of them is a bug in the log.
import { connect } from 'node:net';
import { problemCodes } from '@muster/model';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientErrorAnswer } from './raw-answer.ts';
import { aJob, openWorld, type World } from './testing/world.ts';
import { problemSchema } from './view-schemas.ts';

let world: World;
let token: string;
let port: number;

beforeAll(async () => {
  world = await openWorld();
  token = await world.token('admin', null);
  port = Number(new URL((await world.api.listen()).url).port);
});
afterAll(() => world.close());

interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Sends the bytes and reads until the answer is whole or the server hangs up. */
function send(pieces: readonly (string | Buffer)[]): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => {
      for (const piece of pieces) socket.write(piece);
    });
    const done = (): void => {
      socket.destroy();
      resolve(parsed(text));
    };
    socket.setTimeout(10_000, () => reject(new Error(`no whole answer came: ${text}`)));
    // The server hangs up on a sender that goes on; what it said before counts.
    socket.on('error', done);
    socket.on('close', done);
    socket.on('data', (data) => {
      text += data;
      const { head, body } = parsed(text);
      const length = /content-length: *(\d+)/i.exec(head)?.[1];
      if (length !== undefined && Buffer.byteLength(body) >= Number(length)) done();
    });
  });
}

function parsed(text: string): RawAnswer {
  const [head = '', ...rest] = text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '').split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, body: rest.join('\r\n\r\n') };
}

const ask = (start: string, ...headers: string[]): string =>
  [`${start} HTTP/1.1`, ...headers, '', ''].join('\r\n');
const handshake = ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];

test.each([
  ['bytes that are not HTTP', '\0\x01hello\r\n\r\n', 'bad-request'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'bad-request'],
  ['a method nobody knows', ask('FOO /healthz', 'Host: x'), 'bad-request'],
  ['no Host', ask('GET /healthz'), 'bad-request'],
  ['NUL in a header', ask('GET /healthz', 'Host: x', 'X: a\0b'), 'bad-request'],
  [
    'two lengths',
    `${ask('POST /v1/jobs', 'Host: x', 'Content-Length: 2', 'Content-Length: 3')}{}`,
    'bad-request',
  ],
  [
    'a length and chunks',
    `${ask('POST /v1/jobs', 'Host: x', 'Content-Length: 2', 'Transfer-Encoding: chunked')}{}`,
    'bad-request',
  ],
  ['another expectation', ask('GET /healthz', 'Host: x', 'Expect: 200-ok'), 'expectation-failed'],
  ['a header of 20 kB', ask('GET /healthz', 'Host: x', `X: ${'a'.repeat(20_000)}`), 'headers-too-large'],
  ['a path of 20 kB', ask(`GET /${'a'.repeat(20_000)}`, 'Host: x'), 'headers-too-large'],
  ['another method', ask('PATCH /v1/jobs', 'Host: x'), 'method-not-allowed'],
  ['the method QUERY', ask('QUERY /v1/jobs', 'Host: x'), 'method-not-allowed'],
  ['another path', `${ask('POST /v2/jobs', 'Host: x', 'Content-Length: 3')}{{{`, 'not-found'],
  ['a handshake without a key', ask('GET /v1/agents/connect', ...handshake), 'bad-request'],
  [
    'a handshake by POST',
    ask('POST /v1/agents/connect', ...handshake, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='),
    'method-not-allowed',
  ],
] as const)('%s is answered with its code', async (_, bytes, code) => {
  const { status, head, body } = await send([bytes]);
  expect(status, body).toBe(problemCodes[code].status);
  expect(head).toContain('application/problem+json');
  expect(head.split('\r\n')[0]).not.toMatch(/^HTTP\/1\.1 (?!400)\d+ Bad Request/);
  const problem = problemSchema.strict().parse(JSON.parse(body));
  expect(problem).toMatchObject({ status, code });
  expect(body).not.toContain('    at ');
});

test('too slow is 408, and says how much time there is', () => {
  const answer = parsed(clientErrorAnswer(Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })));
  expect(answer.head).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  expect(JSON.parse(answer.body)).toMatchObject({ status: 408, code: 'request-timeout' });
  expect(answer.body).toContain('within 120 s');
});

test('HEAD has the status and no body', async () => {
  const { status, head } = await send([`${ask('HEAD /v1/jobs', 'Host: x', 'Connection: close')}`]);
  expect(status).toBe(405);
  expect(head).toMatch(/^allow: POST, GET$/m);
});

test('an upgrade to something else is left aside, as curl --http2 expects', async () => {
  const upgrade = [
    'Host: x',
    'Connection: Upgrade, HTTP2-Settings',
    'Upgrade: h2c',
    'HTTP2-Settings: AAMAAABk',
  ];
  expect((await send([ask('GET /healthz', ...upgrade)])).status).toBe(200);
});

const jobHead = (...headers: string[]): string =>
  ask(
    'POST /v1/jobs',
    'Host: x',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    ...headers,
  );

test('10 MB are refused by their announced length, and when they come in chunks, at the cap', async () => {
  const before = await world.store.head();
  const announced = await send([jobHead('Content-Length: 10000000')]);
  const chunk = Buffer.from(`10000\r\n${'x'.repeat(0x10000)}\r\n`);
  const chunked = await send([jobHead('Transfer-Encoding: chunked'), ...Array(160).fill(chunk)]);
  for (const { status, body } of [announced, chunked]) {
    expect(status).toBe(413);
    expect(JSON.parse(body)).toMatchObject({
      code: 'too-large',
      detail: 'the body may have at most 1048576 bytes',
    });
  }
  expect(await world.store.head()).toEqual(before);
});

test('a client that leaves in the middle of its body is no bug of ours', async () => {
  const told = async (): Promise<number> => {
    const rows = await world.store.auditSince(0, 1000);
    return rows.filter(({ action, outcome }) => action === 'submitJob' && outcome === 'bad-request').length;
  };
  await new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`${jobHead('Content-Length: 50')}{"command"`, () =>
        setTimeout(() => socket.destroy(), 50),
      );
    });
    socket.on('close', () => resolve());
  });
  await expect.poll(told, { timeout: 4000 }).toBe(1);
});

test('a body that announces itself with Expect is asked for', async () => {
  const body = JSON.stringify(aJob);
  const { status } = await send([jobHead('Expect: 100-continue', `Content-Length: ${body.length}`), body]);
  expect(status).toBe(201);
});

test('while the server closes, requests are told to go elsewhere with a code', async () => {
  const closing = await openWorld();
  const { url } = await closing.api.listen();
  const at = new URL(url);
  // A connection that is there before the door closes, with a request under way that keeps it open.
  const told = new Promise<string>((resolve, reject) => {
    let text = '';
    const socket = connect(Number(at.port), at.hostname);
    socket.on('data', (data) => {
      text += data;
      if (text.includes('"code":"unavailable"')) resolve(text);
    });
    socket.on('close', () => reject(new Error(`closed after: ${text}`)));
    closing.store.projects = () => new Promise((ready) => setTimeout(() => ready([]), 300));
    const own = closing.token('viewer', null);
    own.then((secret) => {
      socket.write(ask('GET /v1/projects', 'Host: x', `Authorization: Bearer ${secret}`));
      setTimeout(() => {
        void closing.api.app.close();
        socket.write(ask('GET /healthz', 'Host: x'));
      }, 100);
    }, reject);
  });
  expect(await told).toMatch(/HTTP\/1\.1 503 Service Unavailable\r\n/);
  await closing.close();
});

test('none of all this was taken for a bug', () => {
  expect(world.logLines.filter((line) => (JSON.parse(line) as { level: number }).level >= 50)).toEqual([]);
});
