// The agent of a machine: dials a server, says what it holds, beats, takes commands, reports. What must outlive it is the
// supervisor's; epoch and reports that were not acknowledged are on disk or told again in the next hello.
import {
  type AgentMessage,
  helloText,
  type Inventory,
  type NodeId,
  type Observation,
  protocolVersion,
  type RunId,
  type ServerMessage,
} from '@muster/model';
import type { Connection } from './connection.ts';
import type { VirtualProcess } from './process.ts';
import type { Supervisor } from './supervisor.ts';

type Message<T extends ServerMessage['type']> = Extract<ServerMessage, { type: T }>;
type Unnumbered<T> = T extends unknown ? Omit<T, 'n'> : never;

export interface AgentDeps {
  readonly process: VirtualProcess;
  /** The machine's clock, which the supervisor has too. */
  readonly nowMs: () => number;
  readonly node: NodeId;
  readonly inventory: Inventory;
  readonly bootId: string;
  readonly supervisor: Supervisor;
  /** The highest epoch seen, on the machine's disk. */
  readonly epoch: { highest: number };
  readonly sign: (text: string) => string;
  /** Calls back with a connection to the next server of the list, or null. */
  readonly dial: (turn: number, dialled: (connection: Connection | null) => void) => void;
  /** The node was removed: it does not come back. */
  readonly removed: () => void;
}

const firstBackoffMs = 200;
const longestBackoffMs = 5000;
const welcomeWithinMs = 15_000;
const shortestPatienceMs = 10_000;
/** Until a start command is on the disk. */
const takeMs = 3;

interface SentBeat {
  readonly keys: ReadonlySet<RunId>;
  readonly sentMs: number;
}

export class Agent {
  readonly #deps: AgentDeps;
  #connection: Connection | null = null;
  #welcomed = false;
  #sent = 0;
  #turn = 0;
  #backoffMs = firstBackoffMs;
  #beat = 0;
  #beatMs = 10_000;
  #inFlight: SentBeat | null = null;
  #again = false;
  #cancelBeat: () => void = () => {};
  #cancelPatience: () => void = () => {};
  #arriving = new Set<RunId>();
  #waiting: Observation[] = [];
  #reports = new Map<number, readonly Observation[]>();
  #report = 0;
  #flushing = false;

  constructor(deps: AgentDeps, turn: number) {
    this.#deps = deps;
    this.#turn = turn;
    // Ends whose acknowledgement this agent does not know of are told again.
    for (const { run, rank, state, exit } of deps.supervisor.reports())
      if (state === 'ended' && exit) this.#waiting.push({ kind: 'ended', run, rank, exit });
    this.#dial();
  }

  /** From the supervisor. */
  news(item: Observation): void {
    this.#waiting.push(item);
    this.#flushSoon();
  }

  /** Leaves on purpose: the machine is about to go. */
  bye(): void {
    if (this.#welcomed) this.#send({ type: 'bye', reason: 'the machine is reclaimed' });
  }

  reset(): void {
    this.#connection?.reset();
  }

  #dial(): void {
    const { process, dial } = this.#deps;
    dial(this.#turn++, (connection) =>
      process.deliver(() => {
        if (!connection) return this.#dialLater();
        this.#connection = connection;
        this.#sent = 0;
        this.#welcomed = false;
        connection.listen('agent', (letter) => {
          if (this.#connection !== connection) return;
          if (letter === 'close') this.#lost();
          else this.#handle(JSON.parse(letter.text) as ServerMessage);
        });
        this.#deps.process.timers.after(welcomeWithinMs, () => {
          if (this.#connection === connection && !this.#welcomed) this.#hangUp();
        });
      }),
    );
  }

  #dialLater(): void {
    const ms = this.#backoffMs;
    this.#backoffMs = Math.min(longestBackoffMs, 2 * ms);
    this.#deps.process.timers.after(ms, () => this.#dial());
  }

  #hangUp(): void {
    this.#connection?.send('agent', 'close');
    this.#lost();
  }

  #lost(): void {
    this.#connection = null;
    this.#welcomed = false;
    this.#inFlight = null;
    this.#again = false;
    this.#cancelBeat();
    this.#cancelPatience();
    this.#dialLater();
  }

  #send(message: Unnumbered<AgentMessage>): void {
    const text = JSON.stringify({ ...message, n: ++this.#sent });
    this.#connection?.send('agent', { text });
  }

  #handle(message: ServerMessage): void {
    switch (message.type) {
      case 'challenge':
        this.#hello(message);
        return;
      case 'welcome':
        this.#welcome(message);
        return;
      case 'renewed':
        this.#renewed(message);
        return;
      case 'start':
        this.#start(message);
        return;
      case 'stop':
        this.#stop(message);
        return;
      case 'reported':
        this.#reported(message.report);
        return;
      case 'refused':
        if (message.code === 'removed') this.#deps.removed();
        return;
      case 'read':
        this.#read(message);
        return;
    }
  }

  #hello({ nonce }: Message<'challenge'>): void {
    const { node, bootId, inventory, supervisor, epoch, sign } = this.#deps;
    this.#send({
      type: 'hello',
      protocol: protocolVersion,
      node,
      signature: sign(helloText(nonce, node)),
      bootId,
      agentVersion: '0.1.0',
      isolation: true,
      inventory,
      epoch: epoch.highest,
      tasks: supervisor.reports(),
    });
  }

  #welcome({ epoch, beatMs }: Message<'welcome'>): void {
    this.#welcomed = true;
    this.#backoffMs = firstBackoffMs;
    this.#admit(epoch);
    this.#beatMs = beatMs;
    this.#waiting = [...[...this.#reports.values()].flat(), ...this.#waiting];
    this.#reports.clear();
    this.#flushSoon();
    this.#beatNow();
  }

  /** False for an epoch below the highest seen. */
  #admit(epoch: number): boolean {
    if (epoch < this.#deps.epoch.highest) return false;
    this.#deps.epoch.highest = epoch;
    return true;
  }

  #beatNow(): void {
    if (!this.#welcomed) return;
    if (this.#inFlight) {
      this.#again = true;
      return;
    }
    this.#cancelBeat();
    const { process, supervisor } = this.#deps;
    const keys = new Set([...supervisor.liveRuns(), ...this.#arriving]);
    this.#inFlight = { keys, sentMs: this.#deps.nowMs() };
    this.#send({ type: 'beat', beat: ++this.#beat, keys: [...keys] });
    this.#cancelPatience = process.timers.after(Math.max(shortestPatienceMs, 2 * this.#beatMs), () =>
      this.#hangUp(),
    );
  }

  #renewed({ beat, beatMs, live }: Message<'renewed'>): void {
    const sent = this.#inFlight;
    if (beat !== this.#beat || !sent) return;
    this.#inFlight = null;
    this.#cancelPatience();
    this.#beatMs = beatMs;
    const { process, supervisor } = this.#deps;
    const passedMs = this.#deps.nowMs() - sent.sentMs;
    const nextMs = this.#again ? 0 : Math.max(10, beatMs - passedMs);
    this.#again = false;
    this.#cancelBeat = process.timers.after(nextMs, () => this.#beatNow());
    const unnamed = new Set(sent.keys);
    for (const { run, stopAfterMs } of live) {
      if (unnamed.delete(run))
        supervisor.renew(run, stopAfterMs === null ? null : sent.sentMs + stopAfterMs, stopAfterMs);
    }
    for (const run of unnamed) supervisor.forbid(run);
  }

  #start({ outbox, epoch, command }: Message<'start'>): void {
    const connection = this.#connection;
    if (!this.#admit(epoch)) {
      this.#done(connection, outbox, 'stale-epoch');
      return;
    }
    this.#arriving.add(command.run);
    this.#deps.process.timers.after(takeMs, () => {
      this.#arriving.delete(command.run);
      this.#deps.supervisor.prepare(command);
      this.#done(connection, outbox, 'accepted');
      this.#beatNow();
    });
  }

  #stop({ outbox, epoch, command }: Message<'stop'>): void {
    if (!this.#admit(epoch)) {
      this.#done(this.#connection, outbox, 'stale-epoch');
      return;
    }
    this.#deps.supervisor.stop(command);
    this.#done(this.#connection, outbox, 'accepted');
  }

  #done(connection: Connection | null, outbox: number, outcome: 'accepted' | 'stale-epoch'): void {
    if (connection === null || connection !== this.#connection) return;
    const detail = outcome === 'accepted' ? null : `a newer leader has epoch ${this.#deps.epoch.highest}`;
    this.#send({ type: 'done', outbox, outcome, detail });
  }

  #read({ read, offset }: Message<'read'>): void {
    this.#send({ type: 'bytes', read, offset, data: '', end: true, size: offset, error: null });
  }

  #flushSoon(): void {
    if (this.#flushing || !this.#welcomed || this.#waiting.length === 0) return;
    this.#flushing = true;
    this.#deps.process.timers.after(0, () => {
      this.#flushing = false;
      if (!this.#welcomed || this.#waiting.length === 0) return;
      const items = this.#waiting.splice(0, 300);
      this.#reports.set(++this.#report, items);
      this.#send({ type: 'report', report: this.#report, items });
      this.#flushSoon();
    });
  }

  #reported(report: number): void {
    const items = this.#reports.get(report);
    this.#reports.delete(report);
    if (items) this.#deps.supervisor.acknowledge(items);
  }
}
