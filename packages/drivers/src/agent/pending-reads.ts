// Pieces of output that one connection was asked for and has not answered yet.
import { type AgentMessage, OperationalError, type Strike } from '@muster/model';
import type { OutputAnswer } from '../contract.ts';
import type { HubTimers } from './hub.ts';

interface Pending {
  readonly resolve: (answer: OutputAnswer) => void;
  readonly reject: (error: Error) => void;
}

export class PendingReads {
  readonly #timers: HubTimers;
  readonly #pending = new Map<number, Pending>();
  #next = 1;

  constructor(timers: HubTimers) {
    this.#timers = timers;
  }

  /** `send` gets the number of the read; the promise fails with `unreachable` when no answer comes in time, or at all. */
  ask(withinMs: number, unreachable: () => Error, send: (read: number) => void): Promise<OutputAnswer> {
    const read = this.#next++;
    return new Promise<OutputAnswer>((resolve, reject) => {
      const cancel = this.#timers.after(withinMs, () => {
        this.#pending.delete(read);
        reject(unreachable());
      });
      this.#pending.set(read, {
        resolve: (answer) => {
          cancel();
          resolve(answer);
        },
        reject: (error) => {
          cancel();
          reject(error);
        },
      });
      send(read);
    });
  }

  answer(message: Extract<AgentMessage, { type: 'bytes' }>): Strike | null {
    const { read, offset, size, end, error } = message;
    // One that is no longer waited for is late, which is weather; one that was never asked for is not.
    if (read >= this.#next)
      return { code: 'bad-order', detail: `answer to read ${read}, which was not asked` };
    const pending = this.#pending.get(read);
    this.#pending.delete(read);
    if (error !== null) pending?.reject(new OperationalError('not-found', error));
    else pending?.resolve({ offset, size, end, data: Buffer.from(message.data, 'base64') });
    return null;
  }

  abandon(error: Error): void {
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
  }
}
