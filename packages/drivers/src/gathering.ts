// The commands of a run come one for each of its nodes, and some clusters take a run only whole. The driver waits for all of them; a run of which some
// do not come is not submitted, and their rows are handed out again in the next session.
import type { NodeId, RunId, StartCommand } from '@muster/model';
import type { CommandAnswer } from './contract.ts';

export interface Part {
  readonly node: NodeId;
  readonly command: StartCommand;
}

interface Gathered {
  readonly parts: Map<NodeId, Part>;
  readonly answer: Promise<CommandAnswer>;
  readonly settle: (answer: CommandAnswer | Promise<CommandAnswer>) => void;
}

export class Gathering {
  readonly #runs = new Map<RunId, Gathered>();
  readonly #withinMs: number;
  readonly #send: (parts: readonly Part[]) => Promise<CommandAnswer>;

  constructor(withinMs: number, send: (parts: readonly Part[]) => Promise<CommandAnswer>) {
    this.#withinMs = withinMs;
    this.#send = send;
  }

  add(part: Part): Promise<CommandAnswer> {
    const { run, nodes } = part.command;
    const gathered = this.#runs.get(run) ?? this.#begin(run);
    gathered.parts.set(part.node, part);
    if (gathered.parts.size >= nodes) {
      this.#runs.delete(run);
      gathered.settle(this.#send([...gathered.parts.values()]));
    }
    return gathered.answer;
  }

  #begin(run: RunId): Gathered {
    const { promise, resolve } = Promise.withResolvers<CommandAnswer>();
    const gathered: Gathered = { parts: new Map(), answer: promise, settle: resolve };
    this.#runs.set(run, gathered);
    const timer = setTimeout(() => {
      if (this.#runs.get(run) === gathered) this.#runs.delete(run);
      resolve({ outcome: 'unknown' });
    }, this.#withinMs);
    void promise.finally(() => clearTimeout(timer));
    return gathered;
  }
}
