// The server half of the protocol, for tests: it checks what an agent says with the real schema, renews what it is told to,
// and remembers everything. What it does not do on its own, a test makes it do.
import { createPublicKey, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  type AgentMessage,
  agentMessageSchema,
  freshId,
  helloText,
  type NodeId,
  type Observation,
  type RunId,
  type ServerMessage,
  type StartCommand,
  type StopCommand,
  type TaskExit,
  type TaskStart,
} from '@muster/model';
import { type WebSocket, WebSocketServer } from 'ws';
import { until } from './until.ts';

type Message<T extends AgentMessage['type']> = Extract<AgentMessage, { type: T }>;
type Unnumbered = ServerMessage extends infer M ? (M extends { n: number } ? Omit<M, 'n'> : never) : never;

export class FakeServer {
  #http: ReturnType<typeof createServer> | ReturnType<typeof createTlsServer> = createServer();
  #sockets = new WebSocketServer({ noServer: true });
  readonly got: AgentMessage[] = [];
  readonly observed: Observation[] = [];
  readonly problems: string[] = [];
  readonly keys = new Map<string, string>();
  /** Runs that renewals call live, with their stopAfter. */
  readonly live = new Map<RunId, number | null>();
  token = 'good-token';
  beatMs = 200;
  epoch = 1;
  renews = true;
  welcomes = true;
  acknowledges = true;
  removed = false;
  #socket: WebSocket | null = null;
  #sent = 0;
  #outbox = 0;
  #read = 0;
  connections = 0;
  url = '';

  async listen(port = 0, tls?: { readonly cert: string; readonly key: string }): Promise<void> {
    const answer = (request: IncomingMessage, response: ServerResponse) =>
      void this.#enrol(request, response);
    this.#http = tls ? createTlsServer(tls, answer) : createServer(answer);
    this.#sockets = new WebSocketServer({ server: this.#http, path: '/v1/agents/connect' });
    await new Promise<void>((resolve) => this.#http.listen(port, '127.0.0.1', resolve));
    this.url = `${tls ? 'https' : 'http'}://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
    this.#sockets.on('connection', (socket) => this.#accept(socket));
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#sockets.close();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  /** Cuts the connection, as a network does. */
  cut(): void {
    this.#socket?.terminate();
  }

  send(message: Unnumbered): void {
    this.#socket?.send(JSON.stringify({ ...message, n: ++this.#sent }));
  }

  sendRaw(text: string): void {
    this.#socket?.send(text);
  }

  all<T extends AgentMessage['type']>(type: T): Message<T>[] {
    return this.got.filter((message): message is Message<T> => message.type === type);
  }

  /** Sends a start and waits until the agent has answered it. */
  async start(command: StartCommand, options: { epoch?: number; live?: boolean } = {}) {
    if (options.live !== false) this.live.set(command.run, command.stopAfterMs);
    const outbox = ++this.#outbox;
    this.send({ type: 'start', outbox, epoch: options.epoch ?? this.epoch, command });
    return this.#done(outbox);
  }

  async stop(command: StopCommand, epoch = this.epoch) {
    const outbox = ++this.#outbox;
    this.send({ type: 'stop', outbox, epoch, command });
    return this.#done(outbox);
  }

  #done(outbox: number): Promise<Message<'done'>> {
    return until(`command ${outbox} answered`, () => this.all('done').find((done) => done.outbox === outbox));
  }

  started(run: RunId, rank = 0) {
    return until(`${run} started`, () =>
      this.observed.find((item) => item.kind === 'started' && is(item, run, rank)),
    );
  }

  async ended(run: RunId, rank = 0, withinMs?: number): Promise<TaskExit> {
    const end = await until(`${run} ended`, () => this.ends(run, rank)[0], withinMs);
    return end.exit;
  }

  ends(run: RunId, rank = 0) {
    const ends = this.observed.filter((item) => item.kind === 'ended');
    return ends.filter((item) => is(item, run, rank));
  }

  async read(run: RunId, offset = 0, options: { max?: number; waitMs?: number; rank?: number } = {}) {
    const read = ++this.#read;
    const { max = 256 * 1024, waitMs = 0, rank = 0 } = options;
    this.send({ type: 'read', read, run, rank, offset, max, waitMs });
    const answer = await until(`read ${read}`, () => this.all('bytes').find((bytes) => bytes.read === read));
    return { ...answer, text: Buffer.from(answer.data, 'base64').toString() };
  }

  /** Everything a task printed, following it to its end. */
  async output(run: RunId, rank = 0): Promise<string> {
    let text = '';
    for (let offset = 0; ; ) {
      const piece = await this.read(run, offset, { waitMs: 1000, rank });
      text += piece.text;
      offset = piece.offset + Buffer.from(piece.data, 'base64').length;
      if (piece.end || piece.error !== null) return text;
    }
  }

  welcomed(connections = 1): Promise<unknown> {
    return until('the agent connected', () => this.connections >= connections || undefined);
  }

  #accept(socket: WebSocket): void {
    this.#socket = socket;
    this.#sent = 0;
    let received = 0;
    const nonce = `nonce-${Math.random()}`;
    const server = freshId('server', 1, new Uint8Array(9));
    socket.on('message', (data) => {
      const parsed = agentMessageSchema.safeParse(JSON.parse(String(data)));
      if (!parsed.success) return void this.problems.push(`bad message: ${parsed.error.message} in ${data}`);
      const message = parsed.data as AgentMessage;
      if (message.n !== ++received) this.problems.push(`message ${message.n} came as number ${received}`);
      this.got.push(message);
      if (message.type === 'hello') {
        if (this.welcomes) this.#welcome(message, nonce);
      } else this.#answer(message);
    });
    this.send({ type: 'challenge', protocol: 1, server, nonce });
  }

  #welcome(hello: Message<'hello'>, nonce: string): void {
    const key = createPublicKey(this.keys.get(hello.node) ?? '');
    const text = Buffer.from(helloText(nonce, hello.node));
    if (!verify(null, text, key, Buffer.from(hello.signature, 'base64'))) this.problems.push('bad signature');
    if (this.removed) {
      this.send({ type: 'refused', code: 'removed', message: 'an operator removed this node' });
      return;
    }
    this.send({ type: 'welcome', epoch: this.epoch, beatMs: this.beatMs, nodeName: 'n1' });
    this.connections++;
  }

  #answer(message: AgentMessage): void {
    if (message.type === 'beat' && this.renews) this.renew(message);
    if (message.type === 'report' && this.acknowledges) {
      this.observed.push(...message.items);
      this.send({ type: 'reported', report: message.report });
    }
  }

  renew({ beat, keys }: Message<'beat'>): void {
    const live = keys
      .filter((run) => this.live.has(run))
      .map((run) => ({ run, stopAfterMs: this.live.get(run) ?? null }));
    this.send({ type: 'renewed', beat, live, beatMs: this.beatMs });
  }

  async #enrol(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { token, name, publicKey } = JSON.parse(text) as Record<string, string>;
    const answer = (status: number, body: object): unknown =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (token !== this.token) return void answer(401, { code: 'unauthenticated' });
    if (name === 'taken') return void answer(409, { code: 'already-exists' });
    const node: NodeId = freshId('node', Date.now(), crypto.getRandomValues(new Uint8Array(9)));
    this.keys.set(node, publicKey ?? '');
    answer(201, { node });
  }
}

function is(item: Observation, run: RunId, rank: number): boolean {
  return item.run === run && item.rank === rank;
}

let made = 0;

export function freshRun(): RunId {
  const id = freshId(
    'job',
    Date.now(),
    Uint8Array.from({ length: 9 }, (_, i) => (made >> (5 * (8 - i))) & 31),
  );
  made++;
  return `run_${id.slice(4)}_1` as RunId;
}

type TaskPart = Partial<Omit<TaskStart, 'rank'>>;

/** A start of one task a command, with values a test need not care about. */
export function startOf(
  command: readonly string[],
  parts: Partial<StartCommand> = {},
  task: TaskPart = {},
): StartCommand {
  return {
    run: freshRun(),
    job: 'job',
    project: 'p',
    user: 'ada',
    stop: { signal: 'TERM', graceMs: 2000 },
    timeLimitMs: null,
    stopAfterMs: 60_000,
    outputLimitMib: 8,
    image: null,
    nodes: 1,
    tasks: [
      { rank: 0, command, env: {}, workdir: null, devices: [], cpuMilli: 100, memoryMib: 512, ...task },
    ],
    ...parts,
  };
}

export const shell = (script: string): string[] => ['/bin/sh', '-c', script];
