// An agent as the server sees it: the real protocol (model/wire.ts) over a real WebSocket, with tasks that are only timers. It
// keeps the rules a real one keeps: a start is carried out only after a renewal that names its key, ends are told until
// acknowledged, beats come at the pace the server asked for.
import { type KeyObject, sign } from 'node:crypto';
import {
  type AgentMessage,
  helloText,
  type Inventory,
  type NodeId,
  type Observation,
  protocolVersion,
  type RunId,
  type ServerMessage,
  type StartCommand,
} from '@muster/model';
import WebSocket from 'ws';

export interface FleetCounts {
  connected: number;
  started: number;
  ended: number;
  broken: string | null;
}

export interface AgentIdentity {
  readonly node: NodeId;
  readonly key: KeyObject;
  readonly inventory: Inventory;
}

type Unnumbered<T> = T extends unknown ? Omit<T, 'n'> : never;

interface Held {
  readonly ranks: readonly number[];
  running: boolean;
}

export class SimulatedAgent {
  readonly #socket: WebSocket;
  readonly #identity: AgentIdentity;
  readonly #counts: FleetCounts;
  readonly #runMs: () => number;
  readonly #held = new Map<RunId, Held>();
  #sent = 0;
  #beat = 0;
  #report = 0;
  #news: Observation[] = [];
  #flushing = false;
  #beatSoon = false;
  #beatTimer: NodeJS.Timeout | null = null;

  constructor(url: string, identity: AgentIdentity, counts: FleetCounts, runMs: () => number) {
    this.#identity = identity;
    this.#counts = counts;
    this.#runMs = runMs;
    this.#socket = new WebSocket(`${url.replace('http', 'ws')}/v1/agents/connect`, {
      perMessageDeflate: false,
    });
    this.#socket.on('message', (data) => this.#receive(JSON.parse(String(data)) as ServerMessage));
    this.#socket.on('error', (error) => this.#broke(error.message));
    this.#socket.on('close', (code) => this.#broke(`closed with ${code}`));
  }

  close(): void {
    this.#socket.removeAllListeners('close');
    this.#socket.terminate();
  }

  #broke(what: string): void {
    this.#counts.broken ??= `the connection of ${this.#identity.node} broke: ${what}`;
    if (this.#beatTimer) clearTimeout(this.#beatTimer);
  }

  #send(message: Unnumbered<AgentMessage>): void {
    this.#socket.send(JSON.stringify({ ...message, n: ++this.#sent }));
  }

  #receive(message: ServerMessage): void {
    switch (message.type) {
      case 'challenge':
        this.#hello(message.nonce);
        break;
      case 'welcome':
        this.#counts.connected++;
        // Machines boot when they boot: their beats are spread over the period.
        this.#beatAfter(Math.random() * message.beatMs);
        break;
      case 'start':
        this.#start(message.outbox, message.command);
        break;
      case 'stop':
        this.#send({ type: 'done', outbox: message.outbox, outcome: 'accepted', detail: null });
        this.#end(message.command.run);
        break;
      case 'renewed':
        for (const { run } of message.live) this.#run(run);
        this.#beatAfter(message.beatMs);
        break;
      case 'refused':
        this.#broke(message.message);
        break;
      case 'reported':
      case 'read':
        break;
    }
  }

  #hello(nonce: string): void {
    const { node, key, inventory } = this.#identity;
    this.#send({
      type: 'hello',
      protocol: protocolVersion,
      node,
      signature: sign(null, Buffer.from(helloText(nonce, node)), key).toString('base64'),
      bootId: 'bench',
      agentVersion: 'bench',
      isolation: false,
      inventory,
      epoch: 0,
      tasks: [],
    });
  }

  #start(outbox: number, { run, tasks }: StartCommand): void {
    this.#held.set(run, { ranks: tasks.map(({ rank }) => rank), running: false });
    this.#send({ type: 'done', outbox, outcome: 'accepted', detail: null });
    // Starts that came together share one beat.
    if (this.#beatSoon) return;
    this.#beatSoon = true;
    setImmediate(() => {
      this.#beatSoon = false;
      this.#sendBeat();
    });
  }

  #sendBeat(): void {
    this.#send({ type: 'beat', beat: ++this.#beat, keys: [...this.#held.keys()] });
  }

  #beatAfter(ms: number): void {
    if (this.#beatTimer) clearTimeout(this.#beatTimer);
    this.#beatTimer = setTimeout(() => this.#sendBeat(), ms);
  }

  #run(run: RunId): void {
    const held = this.#held.get(run);
    if (!held || held.running) return;
    held.running = true;
    this.#counts.started++;
    for (const rank of held.ranks) this.#tell({ kind: 'started', run, rank, pid: 4242 });
    setTimeout(() => this.#end(run), this.#runMs());
  }

  #end(run: RunId): void {
    const held = this.#held.get(run);
    if (!held) return;
    this.#held.delete(run);
    this.#counts.ended++;
    for (const rank of held.ranks) this.#tell({ kind: 'ended', run, rank, exit: { ok: true } });
  }

  #tell(news: Observation): void {
    this.#news.push(news);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      const items = this.#news;
      this.#news = [];
      if (this.#socket.readyState === WebSocket.OPEN)
        this.#send({ type: 'report', report: ++this.#report, items });
    });
  }
}
