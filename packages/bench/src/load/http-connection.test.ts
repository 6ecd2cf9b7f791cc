import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closedLoop } from './closed-loop.ts';
import { HttpConnection, requestText } from './http-connection.ts';
import { openLoop } from './open-loop.ts';

const big = 'x'.repeat(300_000);
let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => {
      body += data;
    });
    request.on('end', () => {
      const text =
        request.url === '/big' ? big : `${request.method} ${request.headers.authorization} ${body}`;
      response.writeHead(request.url === '/no' ? 429 : 200, { 'content-length': Buffer.byteLength(text) });
      // In two pieces, so that an answer is not always one read.
      response.write(text.slice(0, 5));
      setImmediate(() => response.end(text.slice(5)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

test('answers are read whole, one after the other, on one connection', async () => {
  const connection = await HttpConnection.open({ host: '127.0.0.1', port });
  const post = requestText({ method: 'POST', path: '/', token: 't', body: 'é' });
  expect((await connection.send(post)).body.toString()).toBe('POST Bearer t é');
  const get = requestText({ method: 'GET', path: '/big', token: 't' });
  expect((await connection.send(get)).body.toString()).toBe(big);
  expect((await connection.send(post)).status).toBe(200);
  connection.close();
});

test('a refusal breaks the measuring', async () => {
  const text = requestText({ method: 'GET', path: '/no', token: 't' });
  const target = { host: '127.0.0.1', port };
  const loop = closedLoop({ target, connections: 1, durationMs: 100, request: () => text });
  await expect(loop).rejects.toThrow('GET /no HTTP/1.1 was answered 429');
  const request = () => ({ kind: 'no', text });
  await expect(openLoop({ target, perSecond: 50, durationMs: 100, request })).rejects.toThrow('429');
});

test('an open loop sends at its rate and names what it measured', async () => {
  const text = requestText({ method: 'GET', path: '/', token: 't' });
  const request = (i: number) => ({ kind: i % 2 ? 'odd' : 'even', text });
  const latencies = await openLoop({
    target: { host: '127.0.0.1', port },
    perSecond: 100,
    durationMs: 200,
    request,
  });
  expect(latencies.length).toBe(20);
  expect(latencies.filter(({ kind }) => kind === 'odd').length).toBe(10);
});
