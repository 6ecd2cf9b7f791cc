// One agent's connection, from challenge to close. Messages are checked against the schema and the counter before they are
// believed; a bad one ends the connection, because an agent that cannot speak cannot be trusted to run things.
import { createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto';
import {
  type AgentMessage,
  agentMessageSchema,
  helloText,
  InvariantError,
  isId,
  maxMessageBytes,
  maxReadBytes,
  type NodeId,
  OperationalError,
  protocolVersion,
  type RunId,
  type ServerMessage,
  type TaskReport,
} from '@muster/model';
import type { CommandAnswer, OutputAnswer, OutputRequest } from '../contract.ts';
import type { HubDeps } from './hub.ts';

/** The part of a `ws` WebSocket a connection uses. */
export interface AgentSocket {
  send(data: string): void;
  close(code?: number, reason?: string): void;
  terminate(): void;
  readonly bufferedAmount: number;
  on(event: 'message', listener: (data: Uint8Array, isBinary: boolean) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

interface ConnectionHooks {
  readonly session: string;
  ready(node: NodeId): void;
  /** The node is null when the agent never proved who it is. */
  ended(node: NodeId | null): void;
}

const helloWithinMs = 10_000;
const readAnswerWithinMs = 10_000;
/** An agent that does not read for this much is gone, whatever TCP says. */
const maxBufferedBytes = 64 * 1024 * 1024;

/** Why a hello was refused, for the log of the agent's machine. */
const refusalText: Readonly<Record<string, string>> = {
  replaced: 'another connection of this node was quicker',
  removed: 'an operator removed this node: enrol it again, in an empty directory, with a new token',
};

type PendingRead = {
  readonly resolve: (answer: OutputAnswer) => void;
  readonly reject: (error: Error) => void;
};

export class Connection {
  readonly session: string;
  readonly #deps: HubDeps;
  readonly #socket: AgentSocket;
  readonly #from: string;
  readonly #hooks: ConnectionHooks;
  readonly #nonce = randomBytes(24).toString('base64url');
  readonly #commands = new Map<number, (answer: CommandAnswer) => void>();
  readonly #reads = new Map<number, PendingRead>();
  #reported: readonly TaskReport[] = [];
  #node: NodeId | null = null;
  #greeted = false;
  #sent = 0;
  #received = 0;
  #nextRead = 1;
  #over = false;
  #cancelHelloTimer: () => void;

  constructor(deps: HubDeps, socket: AgentSocket, from: string, hooks: ConnectionHooks) {
    this.#deps = deps;
    this.#socket = socket;
    this.#from = from;
    this.#hooks = hooks;
    this.session = hooks.session;
    this.#cancelHelloTimer = deps.timers.after(helloWithinMs, () =>
      this.refuse('no-hello', 'no hello came in time'),
    );
    socket.on('message', (data) => this.#receive(data));
    socket.on('close', () => this.#ended());
    socket.on('error', () => this.#ended());
  }

  challenge(): void {
    this.#send((n) => ({
      type: 'challenge',
      n,
      protocol: protocolVersion,
      server: this.#deps.server,
      nonce: this.#nonce,
    }));
  }

  command(outbox: number, message: (n: number) => ServerMessage): Promise<CommandAnswer> {
    return new Promise((resolve) => {
      if (this.#over) return resolve({ outcome: 'unknown' });
      // The agent would close on it, and on the same row again and again: one job would cut its node off.
      const text = JSON.stringify(message(this.#sent + 1));
      const bytes = Buffer.byteLength(text);
      if (bytes > maxMessageBytes) return resolve({ outcome: 'refused', detail: tooLarge(bytes) });
      this.#commands.set(outbox, resolve);
      this.#sendText(text);
    });
  }

  /** What the agent held of a run when it said hello; later news came as reports. */
  held(run: RunId): readonly TaskReport[] {
    return this.#reported.filter((task) => task.run === run);
  }

  read(request: OutputRequest): Promise<OutputAnswer> {
    const { run, rank, offset, waitMs } = request;
    const max = Math.min(request.maxBytes, maxReadBytes);
    const read = this.#nextRead++;
    return new Promise<OutputAnswer>((resolve, reject) => {
      if (this.#over) return reject(this.#unreachable());
      const cancel = this.#deps.timers.after(waitMs + readAnswerWithinMs, () => {
        this.#reads.delete(read);
        reject(this.#unreachable());
      });
      this.#reads.set(read, {
        resolve: (answer) => {
          cancel();
          resolve(answer);
        },
        reject: (error) => {
          cancel();
          reject(error);
        },
      });
      this.#send((n) => ({ type: 'read', n, read, run, rank, offset, max, waitMs }));
    });
  }

  /** Tells the agent why, then closes. */
  refuse(code: string, message: string): void {
    if (this.#over) return;
    this.#deps.log.warn({ from: this.#from, node: this.#node, code }, `agent connection refused: ${message}`);
    this.#send((n) => ({ type: 'refused', n, code, message }));
    this.end(1008, code);
  }

  end(code: number, reason: string): void {
    this.#socket.close(code, reason);
    this.#ended();
  }

  #send(message: (n: number) => ServerMessage): void {
    if (!this.#over) this.#sendText(JSON.stringify(message(this.#sent + 1)));
  }

  #sendText(text: string): void {
    if (this.#socket.bufferedAmount > maxBufferedBytes) {
      this.#socket.terminate();
      this.#ended();
      return;
    }
    this.#sent++;
    this.#socket.send(text);
  }

  #receive(data: Uint8Array): void {
    if (this.#over) return;
    const message = this.#parse(data);
    if (!message) return;
    this.#handle(message).catch((error: unknown) => {
      // A bug must not be swallowed here; anything else (the database is away) is told by closing: the agent comes back.
      if (error instanceof InvariantError) throw error;
      this.#deps.log.warn(
        { node: this.#node, error: String(error) },
        'closing an agent connection that cannot be served now',
      );
      this.end(1013, 'try again');
    });
  }

  #parse(data: Uint8Array): AgentMessage | null {
    if (data.byteLength > maxMessageBytes)
      return this.#bad('too-large', `message of ${data.byteLength} bytes`);
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data));
    } catch {
      return this.#bad('bad-message', 'message is not JSON');
    }
    const parsed = agentMessageSchema.safeParse(value);
    if (!parsed.success)
      return this.#bad('bad-message', parsed.error.issues[0]?.message ?? 'message has the wrong shape');
    const message = parsed.data as AgentMessage;
    if (message.n !== this.#received + 1)
      return this.#bad('bad-counter', `message ${message.n} after ${this.#received}`);
    this.#received = message.n;
    if ((message.type === 'hello') === this.#greeted)
      return this.#bad('bad-order', `unexpected ${message.type}`);
    this.#greeted = true;
    return message;
  }

  #bad(code: string, message: string): null {
    this.refuse(code, message);
    return null;
  }

  async #handle(message: AgentMessage): Promise<void> {
    switch (message.type) {
      case 'hello':
        return this.#hello(message);
      case 'beat': {
        const renewed = await this.#deps.sink.renew(this.#nodeSession(), message.keys);
        if (!renewed) return this.refuse('stale-session', 'another connection of this node has taken over');
        return this.#send((n) => ({
          type: 'renewed',
          n,
          beat: message.beat,
          live: renewed.live,
          beatMs: renewed.beatMs,
        }));
      }
      case 'report': {
        const taken = await this.#deps.sink.observe(this.#nodeSession(), message.items);
        if (!taken) return this.refuse('stale-session', 'another connection of this node has taken over');
        return this.#send((n) => ({ type: 'reported', n, report: message.report }));
      }
      case 'done': {
        const { outcome, detail } = message;
        const answer: CommandAnswer =
          outcome === 'refused' ? { outcome, detail: detail ?? 'no reason given' } : { outcome };
        this.#commands.get(message.outbox)?.(answer);
        this.#commands.delete(message.outbox);
        return;
      }
      case 'bytes':
        return this.#bytes(message);
      case 'bye':
        this.#deps.log.info({ node: this.#node, reason: message.reason }, 'agent says goodbye');
        return this.end(1000, 'bye');
    }
  }

  async #hello(hello: Extract<AgentMessage, { type: 'hello' }>): Promise<void> {
    this.#cancelHelloTimer();
    if (hello.protocol < protocolVersion - 1 || hello.protocol > protocolVersion + 1) {
      const speaks = `this server speaks protocol ${protocolVersion}, the agent ${hello.protocol}: upgrade the older one`;
      return this.refuse('protocol', speaks);
    }
    const known = isId('node', hello.node) ? await this.#deps.sink.nodeKey(hello.node) : null;
    if (!known || !signed(known.key, helloText(this.#nonce, hello.node), hello.signature)) {
      return this.refuse(
        'unauthenticated',
        'this node is not enrolled here, or its key is not the one it enrolled with',
      );
    }
    // It has gone meanwhile: its next connection may have told more, and this hello must not undo that.
    if (this.#over) return;
    const own = { node: hello.node, session: this.session };
    const welcome = await this.#deps.sink.hello(own, hello, known.session);
    if ('refused' in welcome) {
      const { refused } = welcome;
      return this.refuse(refused, refusalText[refused] ?? `node ${hello.node} is ${refused}`);
    }
    if (this.#over) return this.#deps.sink.gone({ node: hello.node, session: this.session });
    this.#node = hello.node;
    this.#reported = hello.tasks;
    this.#send((n) => ({ type: 'welcome', n, ...welcome }));
    this.#hooks.ready(hello.node);
  }

  #bytes(message: Extract<AgentMessage, { type: 'bytes' }>): void {
    const pending = this.#reads.get(message.read);
    this.#reads.delete(message.read);
    if (!pending) return;
    const { offset, size, end, error } = message;
    if (error !== null) pending.reject(new OperationalError('not-found', error));
    else pending.resolve({ offset, size, end, data: Buffer.from(message.data, 'base64') });
  }

  #nodeSession(): { node: NodeId; session: string } {
    return { node: this.#node as NodeId, session: this.session };
  }

  #unreachable(): OperationalError {
    return new OperationalError('node-unreachable', `node ${this.#node ?? '(unknown)'} stopped answering`);
  }

  #ended(): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelHelloTimer();
    for (const resolve of this.#commands.values()) resolve({ outcome: 'unknown' });
    this.#commands.clear();
    for (const pending of this.#reads.values()) pending.reject(this.#unreachable());
    this.#reads.clear();
    this.#hooks.ended(this.#node);
  }
}

function tooLarge(bytes: number): string {
  const mib = (n: number): string => (n / 1024 / 1024).toFixed(1);
  return `the tasks of this run on one node make a command of ${mib(bytes)} MiB, and ${mib(maxMessageBytes)} MiB are allowed: give them less environment or shorter commands`;
}

/** Keys are Ed25519 public keys as PEM or as base64 of their DER form. */
function signed(publicKey: string, text: string, signature: string): boolean {
  try {
    const key: KeyObject = publicKey.startsWith('-----')
      ? createPublicKey(publicKey)
      : createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return (
      key.asymmetricKeyType === 'ed25519' &&
      verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'))
    );
  } catch {
    return false;
  }
}
