// One agent's connection, from challenge to close. Messages are checked against the schema, the counter and the order before
// they are believed; a bad one ends the connection, because an agent that cannot speak cannot be trusted to run things. Once
// the connection has proven whose it is, a bad message is a strike against that node (model/strikes.ts).
import { randomBytes } from 'node:crypto';
import {
  type AgentMessage,
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
  type Strike,
  type TaskReport,
} from '@muster/model';
import type { CommandAnswer, CommandTarget, OutputAnswer, OutputRequest } from '../contract.ts';
import type { HelloRefusal, HubDeps } from './hub.ts';
import { PendingCommands } from './pending-commands.ts';
import { PendingReads } from './pending-reads.ts';
import { readMessage, strikeOfError } from './read-message.ts';
import type { RefusalCode, Refusals } from './refusals.ts';
import { signed } from './signature.ts';
import type { StrangerLog } from './stranger-log.ts';

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
  readonly refusals: Refusals;
  readonly strangers: StrangerLog;
  /** It has said hello, whether true or not. */
  greeted(): void;
  ready(node: NodeId): void;
  /** The node is null when the agent never proved who it is; `goodbye` when it said that it leaves. */
  ended(node: NodeId | null, goodbye: boolean): void;
}

const helloWithinMs = 10_000;
const readAnswerWithinMs = 10_000;
/** An agent that does not read for this much is gone, whatever TCP says. */
const maxBufferedBytes = 64 * 1024 * 1024;

const takenOver = 'another connection of this node has taken over, or the node was removed';

/** Why a hello was refused, for the log of the agent's machine. */
const refusalText: Readonly<Record<HelloRefusal, string>> = {
  'not-found': 'this node is not enrolled here',
  replaced: 'another connection of this node was quicker',
  removed: 'an operator removed this node',
};

export class Connection {
  readonly session: string;
  readonly #deps: HubDeps;
  readonly #socket: AgentSocket;
  readonly #from: string;
  readonly #hooks: ConnectionHooks;
  readonly #nonce = randomBytes(24).toString('base64url');
  readonly #commands = new PendingCommands();
  readonly #reads: PendingReads;
  #reported: readonly TaskReport[] = [];
  /** Whose key has signed our nonce. */
  #proven: NodeId | null = null;
  /** The same, once welcomed. */
  #node: NodeId | null = null;
  #greeted = false;
  #protocol = protocolVersion;
  #sent = 0;
  #received = 0;
  #over = false;
  #goodbye = false;
  #cancelHelloTimer: () => void;

  constructor(deps: HubDeps, socket: AgentSocket, from: string, hooks: ConnectionHooks) {
    this.#deps = deps;
    this.#socket = socket;
    this.#from = from;
    this.#hooks = hooks;
    this.session = hooks.session;
    this.#reads = new PendingReads(deps.timers);
    this.#cancelHelloTimer = deps.timers.after(helloWithinMs, () =>
      this.refuse('no-hello', 'no hello came in time'),
    );
    socket.on('message', (data) => this.#receive(data));
    socket.on('close', () => this.#ended());
    socket.on('error', (error) => this.#failed(error));
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

  command(target: CommandTarget, message: (n: number) => ServerMessage): Promise<CommandAnswer> {
    return new Promise((resolve) => {
      if (this.#over) return resolve({ outcome: 'unknown' });
      // The agent would close on it, and on the same row again and again: one job would cut its node off.
      const text = JSON.stringify(message(this.#sent + 1));
      const bytes = Buffer.byteLength(text);
      if (bytes > maxMessageBytes) return resolve({ outcome: 'refused', detail: tooLarge(bytes) });
      this.#commands.sent(target, resolve);
      this.#sendText(text);
    });
  }

  /** What the agent held of a run when it said hello; later news came as reports. */
  held(run: RunId): readonly TaskReport[] {
    return this.#reported.filter((task) => task.run === run);
  }

  async read({ run, rank, offset, maxBytes, waitMs }: OutputRequest): Promise<OutputAnswer> {
    if (this.#over) throw this.#unreachable();
    const max = Math.min(maxBytes, maxReadBytes);
    return this.#reads.ask(
      waitMs + readAnswerWithinMs,
      () => this.#unreachable(),
      (read) => this.#send((n) => ({ type: 'read', n, read, run, rank, offset, max, waitMs })),
    );
  }

  /** Tells the agent why, then closes. */
  refuse(code: string, message: string): void {
    if (this.#over) return;
    this.#warn({ from: this.#from, node: this.#proven, code }, `agent connection refused: ${message}`);
    this.#send((n) => ({ type: 'refused', n, code, message }));
    this.end(1008, code);
  }

  end(code: number, reason: string): void {
    this.#socket.close(code, reason);
    this.#ended();
  }

  #warn(fields: object, message: string): void {
    (this.#proven === null ? this.#hooks.strangers : this.#deps.log).warn(fields, message);
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
      this.#warn(
        { node: this.#node, error: String(error) },
        'closing an agent connection that cannot be served now',
      );
      this.end(1013, 'try again');
    });
  }

  #parse(data: Uint8Array): AgentMessage | null {
    const read = readMessage(data);
    if (!read.ok) return this.#bad(read.strike);
    const { message } = read;
    if (message.n !== this.#received + 1)
      return this.#bad({ code: 'bad-counter', detail: `message ${message.n} after ${this.#received}` });
    this.#received = message.n;
    if (!this.#isInOrder(message))
      return this.#bad({ code: 'bad-order', detail: `unexpected ${message.type}` });
    this.#greeted ||= message.type === 'hello';
    return message;
  }

  /** A hello once and first, the rest after its welcome; an agent may be told to leave at any moment. */
  #isInOrder({ type }: AgentMessage): boolean {
    if (type === 'bye') return true;
    return type === 'hello' ? !this.#greeted : this.#node !== null;
  }

  /** What a correct agent never sends: a strike, where we know whose, and the end. */
  #bad(strike: Strike): null {
    this.#strike(strike);
    this.refuse(strike.code, strike.detail);
    return null;
  }

  #judge(strike: Strike | null): void {
    if (strike) this.#bad(strike);
  }

  #strike(strike: Strike): void {
    this.#hooks.refusals.count(strike.code, this.#proven !== null);
    // An agent of the next release may say what we do not understand.
    const isForeignTongue = strike.code === 'bad-message' && this.#protocol !== protocolVersion;
    if (this.#proven !== null && !isForeignTongue) this.#deps.sink.strike(this.#proven, strike);
  }

  /** What happens to correct agents too. */
  turnAway(code: RefusalCode, message: string): void {
    if (this.#over) return;
    this.#hooks.refusals.count(code, this.#proven !== null);
    this.refuse(code, message);
  }

  #failed(error: Error): void {
    const strike = this.#over ? null : strikeOfError(error);
    if (strike) this.#bad(strike);
    this.#ended();
  }

  async #handle(message: AgentMessage): Promise<void> {
    switch (message.type) {
      case 'hello':
        return this.#hello(message);
      case 'beat': {
        const renewed = await this.#deps.sink.renew(this.#nodeSession(), message.keys);
        if (!renewed) return this.turnAway('stale-session', takenOver);
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
        if (!taken) return this.turnAway('stale-session', takenOver);
        // What was its own is taken, and what was not is not: acknowledged either way, so that it does not come for ever.
        this.#send((n) => ({ type: 'reported', n, report: message.report }));
        const { foreign } = taken;
        if (foreign)
          this.#bad({ code: 'wrong-node', detail: `report about ${foreign.run}, rank ${foreign.rank}` });
        return;
      }
      case 'done':
        return this.#judge(this.#commands.answer(message));
      case 'bytes':
        return this.#judge(this.#reads.answer(message));
      case 'bye':
        if (this.#node !== null)
          this.#deps.log.info({ node: this.#node, reason: message.reason }, 'agent says goodbye');
        this.#goodbye = true;
        return this.end(1000, 'bye');
    }
  }

  async #hello(hello: Extract<AgentMessage, { type: 'hello' }>): Promise<void> {
    this.#cancelHelloTimer();
    this.#hooks.greeted();
    if (hello.protocol < protocolVersion - 1 || hello.protocol > protocolVersion + 1) {
      const speaks = `this server speaks protocol ${protocolVersion}, the agent ${hello.protocol}: upgrade the older one`;
      return this.turnAway('protocol', speaks);
    }
    const known = isId('node', hello.node) ? await this.#deps.sink.nodeKey(hello.node) : null;
    if (!known || !signed(known.key, helloText(this.#nonce, hello.node), hello.signature)) {
      return this.turnAway(
        'unauthenticated',
        'this node is not enrolled here, or its key is not the one it enrolled with',
      );
    }
    this.#proven = hello.node;
    this.#protocol = hello.protocol;
    // It has gone meanwhile: its next connection may have told more, and this hello must not undo that.
    if (this.#over) return;
    const own = { node: hello.node, session: this.session };
    const welcome = await this.#deps.sink.hello(own, hello, known.session);
    if ('refused' in welcome) {
      const { refused } = welcome;
      return this.turnAway(refused, refusalText[refused]);
    }
    if (this.#over) return this.#deps.sink.gone({ node: hello.node, session: this.session }, this.#goodbye);
    this.#node = hello.node;
    this.#reported = hello.tasks;
    this.#commands.show(welcome.epoch);
    this.#send((n) => ({ type: 'welcome', n, ...welcome }));
    // Welcome all the same: the database may have been restored from a backup, and what runs there must not end for that.
    if (hello.epoch > welcome.epoch)
      this.#strike({
        code: 'wrong-epoch',
        detail: `it has seen epoch ${hello.epoch}, and the newest here is ${welcome.epoch}: was the database restored without new epochs?`,
      });
    this.#hooks.ready(hello.node);
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
    this.#commands.abandon();
    this.#reads.abandon(this.#unreachable());
    this.#hooks.ended(this.#node, this.#goodbye);
  }
}

function tooLarge(bytes: number): string {
  const mib = (n: number): string => (n / 1024 / 1024).toFixed(1);
  return `the tasks of this run on one node make a command of ${mib(bytes)} MiB, and ${mib(maxMessageBytes)} MiB are allowed: give them less environment or shorter commands`;
}
