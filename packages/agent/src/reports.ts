// Observations on their way to the server: kept until the report that carried them is acknowledged, and sent again on
// the next connection until then. What happens within the same turn travels in one report.
import type { Observation } from '@muster/model';

/** With the longest of reasons they still fit into one message; a larger one would be refused, again and again. */
const mostItems = 300;

export type SendReport = (report: number, items: readonly Observation[]) => void;

export class Reports {
  #waiting: Observation[] = [];
  readonly #sent = new Map<number, readonly Observation[]>();
  #next = 1;
  #send: SendReport | null = null;
  #scheduled = false;
  readonly #acknowledged: (items: readonly Observation[]) => void;

  constructor(acknowledged: (items: readonly Observation[]) => void) {
    this.#acknowledged = acknowledged;
  }

  add(item: Observation): void {
    this.#waiting.push(item);
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
    if (items) this.#acknowledged(items);
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
      this.#send(report, items);
    }
  }
}
