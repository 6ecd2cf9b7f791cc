// The door agents dial: a WebSocket that the control plane takes over. Authentication happens inside, by the node's key
// and a fresh challenge, so the upgrade itself asks for nothing but a well-formed request.
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { maxMessageBytes } from '@muster/model';
import { WebSocketServer } from 'ws';
import type { Api } from './deps.ts';
import { refuse } from './problem.ts';
import { rawAnswer } from './raw-answer.ts';
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

/** Whether an Upgrade is for this door. */
export function isAgentUpgrade({ method, url }: Pick<IncomingMessage, 'method' | 'url'>): boolean {
  return method === 'GET' && url?.split('?', 1)[0] === path;
}

/** Returns what closes the door and everybody who came through it. */
export function acceptAgents(server: Server, api: Api): () => void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
  });
  let closed = false;
  sockets.on('wsClientError', (error: Error, socket: Duplex) => {
    socket.end(rawAnswer('bad-request', `this is no handshake of a WebSocket: ${error.message}`));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // A peer that resets while upgrading is weather.
    socket.on('error', () => socket.destroy());
    if (closed || !isAgentUpgrade(request)) {
      socket.end(
        closed
          ? rawAnswer('unavailable', 'this server is stopping; connect again')
          : rawAnswer('not-found', `there is nothing to upgrade to but ${path}`),
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (agent) => {
      api.control.agents.accept(agent, address(api, request));
    });
  });
  return () => {
    closed = true;
    // 1001: going away. The agent dials again, here or elsewhere.
    for (const agent of sockets.clients) agent.close(1001, 'the server is closing');
    sockets.close();
    setTimeout(() => {
      for (const agent of sockets.clients) agent.terminate();
    }, 1000).unref();
  };
}

function address(api: Api, request: IncomingMessage): string {
  const forwarded = request.headers['x-forwarded-for'];
  if (api.config.behindTlsProxy && typeof forwarded === 'string')
    return forwarded.split(',').at(-1)?.trim() ?? 'unknown';
  return request.socket.remoteAddress ?? 'unknown';
}
