// The server half of the agent protocol (model/wire.ts): the agents connected to this server, each on one WebSocket it dialled.
// The hub authenticates, checks every message, and translates; what is true is decided by its sink, which commits to
// the store. A node has one session at a time: a newer connection replaces the older one, whose late messages are
// refused by the store because their session is gone.
import { randomBytes } from 'node:crypto';
import {
  type AgentMessage,
  type NodeId,
  type Observation,
  OperationalError,
  type RunId,
  type ServerId,
  type ServerMessage,
  type StartCommand,
  type StopCommand,
  type Strike,
  type TaskReport,
} from '@muster/model';
import type {
  CommandAnswer,
  CommandTarget,
  Driver,
  DriverSession,
  OutputAnswer,
  OutputRequest,
} from '../contract.ts';
import { type AgentSocket, Connection } from './connection.ts';
import { Refusals, type RefusedCount } from './refusals.ts';
import { StrangerLog } from './stranger-log.ts';

export interface NodeSession {
  readonly node: NodeId;
  readonly session: string;
}

export type HelloRefusal = 'not-found' | 'removed' | 'replaced';

type HelloMessage = Extract<AgentMessage, { type: 'hello' }>;

/** Where the hub's news go. Each answer is committed before it is given. */
export interface AgentSink {
  /** The key it enrolled, and the session it has now. */
  nodeKey(node: NodeId): Promise<{ readonly key: string; readonly session: string | null } | null>;
  /** `replaces` is the session `nodeKey` told of: a hello that another one has overtaken since is refused. */
  hello(
    session: NodeSession,
    hello: HelloMessage,
    replaces: string | null,
  ): Promise<
    | { readonly epoch: number; readonly beatMs: number; readonly nodeName: string }
    | { readonly refused: HelloRefusal }
  >;
  /** Null when the session has been replaced. */
  renew(
    session: NodeSession,
    keys: readonly RunId[],
  ): Promise<{
    readonly live: readonly { readonly run: RunId; readonly stopAfterMs: number | null }[];
    readonly beatMs: number;
  } | null>;
  /** Null when the session has been replaced. `foreign` is a task of another node that it told of. */
  observe(
    session: NodeSession,
    items: readonly Observation[],
  ): Promise<{ readonly foreign: { readonly run: RunId; readonly rank: number } | null } | null>;
  /** A bad message, on a connection that has proven to be this node's. */
  strike(node: NodeId, strike: Strike): void;
  /** A node is ready to take commands. */
  ready(session: NodeSession): void;
  /** Its connection is over; with `goodbye` it will not be back soon. */
  gone(session: NodeSession, goodbye: boolean): void;
}

export interface HubDeps {
  readonly server: ServerId;
  readonly sink: AgentSink;
  readonly log: HubLog;
  readonly timers: HubTimers;
}

export interface HubTimers {
  /** Calls back once; returns how to prevent it. */
  after(ms: number, callback: () => void): () => void;
}

export interface HubLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface AgentHub extends Driver {
  accept(socket: AgentSocket, from: string): void;
  sessions(): readonly DriverSession[];
  readonly connected: number;
  isConnected(node: NodeId): boolean;
  /** Messages refused since the hub was made. */
  refused(): readonly RefusedCount[];
  close(): void;
}

/** Anybody who reaches the port may open connections; an agent says hello as soon as it is challenged. */
const silentMax = 4096;

export function createAgentHub(deps: HubDeps): AgentHub {
  const byNode = new Map<NodeId, Connection>();
  const all = new Set<Connection>();
  /** Not a word came from them yet; the longest silent first. */
  const silent = new Set<Connection>();
  const refusals = new Refusals();
  const strangers = new StrangerLog(deps.log, deps.timers);
  let closed = false;

  function accept(socket: AgentSocket, from: string): void {
    if (closed) {
      socket.close(1001, 'server is stopping');
      return;
    }
    const connection = new Connection(deps, socket, from, {
      session: `${deps.server}.${randomBytes(9).toString('base64url')}`,
      refusals,
      strangers,
      greeted: () => silent.delete(connection),
      ready(node) {
        const older = byNode.get(node);
        byNode.set(node, connection);
        older?.refuse('replaced', 'a newer connection of this node has taken over');
        deps.sink.ready({ node, session: connection.session });
      },
      ended(node, goodbye) {
        all.delete(connection);
        silent.delete(connection);
        if (node === null) return;
        if (byNode.get(node) === connection) byNode.delete(node);
        deps.sink.gone({ node, session: connection.session }, goodbye);
      },
    });
    const [longest] = silent;
    if (longest && silent.size >= silentMax)
      longest.turnAway('crowded', 'too many connections have said nothing yet; try again');
    all.add(connection);
    silent.add(connection);
    connection.challenge();
  }

  function send(target: CommandTarget, message: (n: number) => ServerMessage): Promise<CommandAnswer> {
    const connection = byNode.get(target.node);
    return connection ? connection.command(target, message) : Promise.resolve({ outcome: 'unknown' });
  }

  return {
    capabilities: { has: ['signals', 'unlike-groups', 'uneven-nodes', 'output-limit'], assigns: 'device' },
    accept,
    // An agent hears one connection at a time: what an older one still carried is never read.
    sessions: () => [...byNode].map(([node, { session }]) => ({ node, session, fenced: true })),
    get connected() {
      return byNode.size;
    },
    isConnected: (node) => byNode.has(node),
    refused: () => refusals.all(),
    submit: (target, command: StartCommand) =>
      send(target, (n) => ({ type: 'start', n, outbox: target.outbox, epoch: target.epoch, command })),
    stop: (target, command: StopCommand) =>
      send(target, (n) => ({ type: 'stop', n, outbox: target.outbox, epoch: target.epoch, command })),
    find: async (node, run): Promise<readonly TaskReport[] | null> => byNode.get(node)?.held(run) ?? null,
    async output(request: OutputRequest): Promise<OutputAnswer> {
      const connection = byNode.get(request.node);
      if (!connection)
        throw new OperationalError(
          'node-unreachable',
          `node ${request.node} is not connected to this server`,
        );
      return connection.read(request);
    },
    close() {
      closed = true;
      for (const connection of all) connection.end(1001, 'server is stopping');
    },
  };
}
