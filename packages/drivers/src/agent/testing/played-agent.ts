// An agent as a test plays it, on a socket that exists only in memory, and a hub whose sink remembers what it was told.
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  type AgentMessage,
  freshId,
  helloText,
  type Inventory,
  type NodeId,
  type RunId,
  type ServerMessage,
} from '@muster/model';
import { type AgentSink, createAgentHub } from '../hub.ts';

const server = freshId('server', 1, new Uint8Array(9));
export const node = freshId('node', 1, new Uint8Array(9));
export const run = 'run_000000000000000000_1' as RunId;
const inventory: Inventory = {
  cpuMilli: 4000,
  memoryMib: 1024,
  devices: [],
  labels: {},
  capabilities: [],
  address: '127.0.0.1',
  ports: { first: 20_000, count: 10 },
};

type Unnumbered = AgentMessage extends infer M ? (M extends { n: number } ? Omit<M, 'n'> : never) : never;

/** The agent's end of a socket: what the server sent is in `got`, `say` delivers a message to the hub. */
export function agentSocket() {
  const listeners = new Map<string, (...args: never[]) => void>();
  const got: ServerMessage[] = [];
  const state = { closed: null as string | null, n: 0 };
  const raw = (bytes: Uint8Array): void =>
    (listeners.get('message') as ((data: Uint8Array) => void) | undefined)?.(bytes);
  return {
    got,
    state,
    raw,
    say(message: Unnumbered) {
      raw(Buffer.from(JSON.stringify({ ...message, n: ++state.n })));
    },
    /** What `ws` does when a peer breaks its rules. */
    fail: (code: string) =>
      (listeners.get('error') as ((error: Error) => void) | undefined)?.(
        Object.assign(new Error('Max payload size exceeded'), { code }),
      ),
    drop: () => (listeners.get('close') as (() => void) | undefined)?.(),
    last: () => got.at(-1),
    socket: {
      bufferedAmount: 0,
      send: (data: string) => got.push(JSON.parse(data) as ServerMessage),
      close: (_code?: number, reason?: string) => {
        state.closed ??= reason ?? '';
      },
      terminate: () => {
        state.closed ??= 'terminated';
      },
      on: (event: string, listener: (...args: never[]) => void) => listeners.set(event, listener),
    },
  };
}

export function setup() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const news: string[] = [];
  const strikes: string[] = [];
  const sink: AgentSink = {
    nodeKey: async (asked) => (asked === node ? { key: pem, session: null } : null),
    hello: async () => ({ epoch: 7, beatMs: 5000, nodeName: 'n1' }),
    renew: async (_session, keys) => ({
      live: keys.map((key) => ({ run: key, stopAfterMs: 25_000 })),
      beatMs: 5000,
    }),
    observe: async (_session, items) => {
      news.push(...items.map((item) => `${item.kind} ${item.rank}`));
      return { foreign: null };
    },
    strike: (whose, { code, detail }) => strikes.push(`${whose} ${code}: ${detail}`),
    ready: () => news.push('ready'),
    gone: (_session, goodbye) => news.push(goodbye ? 'left' : 'gone'),
  };
  const logged: string[] = [];
  const log = { info: () => {}, warn: (_fields: object, line: string) => logged.push(line) };
  const hub = createAgentHub({ server, sink, log, timers: { after: () => () => {} } });
  return { hub, logged, sink, privateKey, news, strikes };
}

export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

export function hello(
  agent: ReturnType<typeof agentSocket>,
  key: KeyObject,
  as: NodeId = node,
  more: { protocol?: number; epoch?: number } = {},
): Unnumbered {
  const challenge = agent.got[0];
  if (challenge?.type !== 'challenge') throw new Error('no challenge came');
  const signature = sign(null, Buffer.from(helloText(challenge.nonce, as)), key).toString('base64');
  const who = { node: as, signature, bootId: 'b', agentVersion: '0', isolation: false };
  return { type: 'hello', protocol: 1, ...who, inventory, epoch: 0, tasks: [], ...more };
}

export async function connected(more: { protocol?: number; epoch?: number } = {}) {
  const world = setup();
  const agent = agentSocket();
  world.hub.accept(agent.socket, '127.0.0.1');
  agent.say(hello(agent, world.privateKey, node, more));
  await settled();
  return { ...world, agent };
}
