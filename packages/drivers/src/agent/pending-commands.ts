// Commands that one connection was sent and has not answered yet. Here it shows that an agent answers what it was not
// asked, or calls an epoch old although nobody has shown it a newer one.
import type { AgentMessage, Strike } from '@muster/model';
import type { CommandAnswer, CommandTarget } from '../contract.ts';

interface Pending {
  readonly epoch: number;
  readonly resolve: (answer: CommandAnswer) => void;
}

export class PendingCommands {
  /** By outbox row; a row that is sent again before it is answered has two answers to come. */
  readonly #byRow = new Map<number, Pending[]>();
  #epoch = 0;

  /** The agent knows of this epoch from now on, unless it knew a higher one. */
  show(epoch: number): void {
    this.#epoch = Math.max(this.#epoch, epoch);
  }

  sent(
    { outbox, epoch }: Pick<CommandTarget, 'outbox' | 'epoch'>,
    resolve: (answer: CommandAnswer) => void,
  ): void {
    this.show(epoch);
    this.#byRow.set(outbox, [...(this.#byRow.get(outbox) ?? []), { epoch, resolve }]);
  }

  answer({ outbox, outcome, detail }: Extract<AgentMessage, { type: 'done' }>): Strike | null {
    const [pending, ...more] = this.#byRow.get(outbox) ?? [];
    if (!pending) return { code: 'bad-order', detail: `answer to command ${outbox}, which it was not sent` };
    if (more.length > 0) this.#byRow.set(outbox, more);
    else this.#byRow.delete(outbox);
    const { epoch, resolve } = pending;
    // Believed, it would be sent the row again and again, and the run would never start.
    if (outcome === 'stale-epoch' && epoch >= this.#epoch) {
      resolve({ outcome: 'unknown' });
      return { code: 'wrong-epoch', detail: `calls epoch ${epoch} old, the newest that it was shown` };
    }
    resolve(outcome === 'refused' ? { outcome, detail: detail ?? 'no reason given' } : { outcome });
    return null;
  }

  /** No answer will come any more. */
  abandon(): void {
    for (const { resolve } of [...this.#byRow.values()].flat()) resolve({ outcome: 'unknown' });
    this.#byRow.clear();
  }
}
