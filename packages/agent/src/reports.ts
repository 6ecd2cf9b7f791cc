// Observations on their way to the server: kept until the report that carried them is acknowledged, and sent again on
// the next connection until then. What happens within the same turn travels in one report.
import type { Observation } from '@muster/model';
import { bootClockMs } from './supervisor/clock.ts';

/** With the longest of reasons they still fit into one message; a larger one would be refused, again and again. */
const mostItems = 300;

export type SendReport = (report: number, items: readonly Observation[]) => void;

interface Kept {
  readonly item: Observation;
  readonly addedMs: number;
}

export class Reports {
  #waiting: Kept[] = [];
  readonly #sent = new Map<number, readonly Kept[]>();
  #next = 1;
  #send: SendReport | null = null;
  #scheduled = false;
  readonly #acknowledged: (items: readonly Observation[]) => void;
  readonly #nowMs: () => number;

  constructor(acknowledged: (items: readonly Observation[]) => void, nowMs = bootClockMs) {
    this.#acknowledged = acknowledged;
    this.#nowMs = nowMs;
  }

  add(item: Observation): void {
    // Only the newest checkpoint counts: a day without a server must not make a day's list of them.
    if (item.kind === 'checkpoint')
      this.#waiting = this.#waiting.filter((kept) => !isOlderWord(kept.item, item));
    this.#waiting.push({ item, addedMs: this.#nowMs() });
    this.#schedule();
  }

  /** A connection is there: everything not acknowledged goes again, in order. */
  connected(send: SendReport): void {
    this.#waiting = [...[...this.#sent.values()].flat(), ...this.#waiting];
    this.#sent.clear();
    this.#send = send;
    this.#schedule();
  }

  disconnected(): void {
    this.#send = null;
  }

  onReported(report: number): void {
    const items = this.#sent.get(report);
    this.#sent.delete(report);
    if (items) this.#acknowledged(items.map(({ item }) => item));
  }

  #schedule(): void {
    if (this.#scheduled || !this.#send || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    while (this.#send && this.#waiting.length > 0) {
      const items = this.#waiting.splice(0, mostItems);
      const report = this.#next++;
      this.#sent.set(report, items);
      this.#send(
        report,
        items.map((kept) => this.#aged(kept)),
      );
    }
  }

  /** "So long ago" is counted from now, and the item may have waited for a connection. */
  #aged({ item, addedMs }: Kept): Observation {
    if (item.kind !== 'checkpoint') return item;
    return { ...item, agoMs: item.agoMs + Math.max(0, this.#nowMs() - addedMs) };
  }
}

function isOlderWord(before: Observation, { run, rank }: Observation): boolean {
  return before.kind === 'checkpoint' && before.run === run && before.rank === rank;
}
