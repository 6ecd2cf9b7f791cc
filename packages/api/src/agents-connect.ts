// The door agents dial: a WebSocket that the control plane takes over. Authentication happens inside, by the node's key
// and a fresh challenge, so the upgrade itself asks for nothing but a well-formed request.
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { maxMessageBytes } from '@muster/model';
import { WebSocketServer } from 'ws';
import type { Api } from './deps.ts';
import { refuse } from './problem.ts';
import { route } from './route.ts';

const path = '/v1/agents/connect';

export const agentRoutes = [
  route({
    id: 'connectAgent',
    method: 'GET',
    path,
    tag: 'nodes',
    summary: 'WebSocket of an agent; authenticated inside by the key the node enrolled',
    access: 'public',
    answers: { 101: 'none' },
    async handle() {
      throw refuse(
        'bad-request',
        'this is where agents connect with a WebSocket; there is nothing to read here',
      );
    },
  }),
];

/** Returns what closes the door and everybody who came through it. */
export function acceptAgents(server: Server, api: Api): () => void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // A peer that resets while upgrading is weather.
    socket.on('error', () => socket.destroy());
    if (request.url?.split('?', 1)[0] !== path) {
      refuseUpgrade(socket);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (agent) => {
      api.control.agents.accept(agent, address(api, request));
    });
  });
  return () => {
    // 1001: going away. The agent dials again, here or elsewhere.
    for (const agent of sockets.clients) agent.close(1001, 'the server is closing');
    sockets.close();
    setTimeout(() => {
      for (const agent of sockets.clients) agent.terminate();
    }, 1000).unref();
  };
}

function refuseUpgrade(socket: Duplex): void {
  socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
}

function address(api: Api, request: IncomingMessage): string {
  const forwarded = request.headers['x-forwarded-for'];
  if (api.config.behindTlsProxy && typeof forwarded === 'string')
    return forwarded.split(',').at(-1)?.trim() ?? 'unknown';
  return request.socket.remoteAddress ?? 'unknown';
}
