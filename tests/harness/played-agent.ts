// An agent as a test plays it, on a real WebSocket to a real server: it can say what a correct agent never says.
import { type KeyObject, sign } from 'node:crypto';
import { type AgentMessage, helloText, protocolVersion, type ServerMessage } from '@muster/model';
import { WebSocket } from 'ws';
import { eventually } from './processes.ts';

type Hello = Extract<AgentMessage, { type: 'hello' }>;

export interface PlayedAgent {
  readonly got: readonly ServerMessage[];
  send(data: string | Buffer): void;
  /** Answers the challenge, and waits for the welcome or the refusal. */
  hello(
    who: Pick<Hello, 'node' | 'inventory' | 'tasks'> & { readonly key: KeyObject },
  ): Promise<ServerMessage>;
  /** The code of the closing frame. */
  readonly closed: Promise<number>;
}

export async function playAgent(port: number): Promise<PlayedAgent> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/agents/connect`);
  const got: ServerMessage[] = [];
  socket.on('message', (data) => got.push(JSON.parse(String(data)) as ServerMessage));
  // A server that closes on us while we still send.
  socket.on('error', () => {});
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  const [challenge] = await eventually('a challenge comes', 10_000, () => (got.length > 0 ? got : null));
  if (challenge?.type !== 'challenge') throw new Error(`no challenge: ${JSON.stringify(challenge)}`);
  return {
    got,
    closed,
    send: (data) => socket.send(data),
    async hello({ key, node, inventory, tasks }) {
      const hello: Hello = {
        type: 'hello',
        n: 1,
        protocol: protocolVersion,
        node,
        signature: sign(null, Buffer.from(helloText(challenge.nonce, node)), key).toString('base64'),
        bootId: 'played',
        agentVersion: 'played',
        isolation: false,
        inventory,
        epoch: 0,
        tasks,
      };
      socket.send(JSON.stringify(hello));
      return eventually('an answer to hello', 10_000, () => got[1]);
    },
  };
}
