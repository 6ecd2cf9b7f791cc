// A connection of an agent to a server, as TCP gives it: in order, never twice, and either end may be the last to learn that
// it is over. While the way is cut, what was sent waits; it arrives when the way is open again, or never.
import type { AgentSocket } from '@muster/drivers/agent';
import type { Random } from '../random.ts';
import type { VirtualProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';

/** Between one machine and one server; each direction can be cut by itself. */
export interface Way {
  toServer: boolean;
  toAgent: boolean;
  /** A message takes up to this long. */
  delayMs: number;
}

export function openWay(): Way {
  return { toServer: true, toAgent: true, delayMs: 5 };
}

type Letter = { readonly text: string } | 'close';

interface End {
  readonly process: VirtualProcess;
  /** A dead process on a machine that is up answers with a reset; a machine that is off answers nothing. */
  readonly hostUp: () => boolean;
  receive: (letter: Letter) => void;
  open: boolean;
  waiting: Letter[];
  lastMs: number;
}

type Side = 'server' | 'agent';

export class Connection {
  readonly way: Way;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #ends: Readonly<Record<Side, End>>;

  constructor(
    deps: { readonly scheduler: Scheduler; readonly random: Random; readonly way: Way },
    agent: { readonly process: VirtualProcess; readonly hostUp: () => boolean },
    server: { readonly process: VirtualProcess; readonly hostUp: () => boolean },
  ) {
    this.way = deps.way;
    this.#scheduler = deps.scheduler;
    this.#random = deps.random;
    const end = (of: typeof agent): End => ({
      ...of,
      receive: () => {},
      open: true,
      waiting: [],
      lastMs: 0,
    });
    this.#ends = { server: end(server), agent: end(agent) };
  }

  get over(): boolean {
    return !this.#ends.server.open && !this.#ends.agent.open;
  }

  listen(side: Side, receive: (letter: Letter) => void): void {
    this.#ends[side].receive = receive;
  }

  send(from: Side, letter: Letter): void {
    const own = this.#ends[from];
    if (!own.open) return;
    if (letter === 'close') own.open = false;
    this.#post(from === 'agent' ? 'server' : 'agent', letter);
  }

  /** Both ends learn of it as soon as anything can reach them. */
  reset(): void {
    this.#post('agent', 'close');
    this.#post('server', 'close');
  }

  /** The way is open again: what waits goes first, in order. */
  flush(): void {
    for (const side of ['agent', 'server'] as const) this.#scheduler.after(1, () => this.#drain(side));
  }

  #drain(to: Side): void {
    const end = this.#ends[to];
    if (!this.#isOpen(to)) return;
    const waiting = end.waiting;
    end.waiting = [];
    for (const letter of waiting) this.#arrive(to, letter);
  }

  #isOpen(to: Side): boolean {
    return to === 'server' ? this.way.toServer : this.way.toAgent;
  }

  #post(to: Side, letter: Letter): void {
    const end = this.#ends[to];
    const atMs = Math.max(end.lastMs, this.#scheduler.nowMs + 1 + this.#random.below(this.way.delayMs));
    end.lastMs = atMs;
    this.#scheduler.after(atMs - this.#scheduler.nowMs, () => this.#arrive(to, letter));
  }

  #arrive(to: Side, letter: Letter): void {
    const end = this.#ends[to];
    if (!end.open) return;
    if (!this.#isOpen(to) || end.waiting.length > 0) {
      end.waiting.push(letter);
      return;
    }
    if (!end.process.alive) {
      // Nobody is there: whoever wrote is told so, unless the whole machine is gone.
      end.open = false;
      if (end.hostUp() && letter !== 'close') this.#post(to === 'server' ? 'agent' : 'server', 'close');
      return;
    }
    end.process.deliver(() => {
      if (!end.open) return;
      if (letter === 'close') end.open = false;
      end.receive(letter);
    });
  }

  /** The server's end, as the hub takes it. */
  serverSocket(): AgentSocket {
    const messages: ((data: Uint8Array, isBinary: boolean) => void)[] = [];
    const closes: (() => void)[] = [];
    this.listen('server', (letter) => {
      if (letter === 'close') for (const listener of closes) listener();
      else for (const listener of messages) listener(Buffer.from(letter.text), false);
    });
    return {
      bufferedAmount: 0,
      send: (text) => this.send('server', { text }),
      close: () => this.send('server', 'close'),
      terminate: () => this.send('server', 'close'),
      on(event: string, listener: unknown): void {
        if (event === 'message') messages.push(listener as (typeof messages)[number]);
        if (event === 'close') closes.push(listener as () => void);
      },
    };
  }
}
