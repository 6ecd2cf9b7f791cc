import { maxMessageBytes } from '@muster/model';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { openWorld, type World } from './testing/world.ts';

let world: World;
let url: string;

beforeAll(async () => {
  world = await openWorld();
  url = (await world.api.listen()).url.replace('http', 'ws');
});
afterAll(() => world.close());

const opened = (socket: WebSocket) =>
  new Promise<void>((resolve, reject) => socket.on('open', resolve).on('error', reject));
const closed = (socket: WebSocket) => new Promise<number>((resolve) => socket.on('close', resolve));

test('an agent’s socket is handed to the control plane with the address it came from', async () => {
  const socket = new WebSocket(`${url}/v1/agents/connect`);
  await opened(socket);
  await expect.poll(() => world.control.accepted.length).toBe(1);
  expect(world.control.accepted[0]?.from).toContain('127.0.0.1');
  const server = world.control.accepted[0]?.socket as WebSocket;
  const heard = new Promise((resolve) => server.on('message', (data: Buffer) => resolve(data.toString())));
  socket.send('{"type":"hello"}');
  expect(await heard).toBe('{"type":"hello"}');
  const ended = closed(socket);
  // Beyond the cap the connection is closed with 1009, message too big.
  server.on('error', () => {});
  socket.send(Buffer.alloc(maxMessageBytes + 1));
  expect(await ended).toBe(1009);
});

test('any other path is answered as if no upgrade had been asked for', async () => {
  for (const path of ['/', '/v1/agents', '/v1/agents/connect/x'])
    await expect(opened(new WebSocket(url + path))).rejects.toThrow('404');
  await expect(opened(new WebSocket(`${url}/v1/jobs`))).rejects.toThrow('401');
});

test('a closing server tells its agents that it goes away', async () => {
  const other = await openWorld();
  const socket = new WebSocket(`${(await other.api.listen()).url.replace('http', 'ws')}/v1/agents/connect`);
  await opened(socket);
  const ended = closed(socket);
  await other.close();
  expect(await ended).toBe(1001);
});
