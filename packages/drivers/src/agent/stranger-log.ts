// Log lines about connections that have not proven to be a node's. Anybody who reaches the port can cause them, so they
// are few: so many in a minute, and then one that says how many more there were. The metrics count them all.
import type { HubLog, HubTimers } from './hub.ts';

const linesMax = 20;
const windowMs = 60_000;

export class StrangerLog {
  readonly #log: HubLog;
  readonly #timers: HubTimers;
  #lines = 0;
  #hidden = 0;

  constructor(log: HubLog, timers: HubTimers) {
    this.#log = log;
    this.#timers = timers;
  }

  warn(fields: object, message: string): void {
    if (this.#lines === 0) this.#timers.after(windowMs, () => this.#next());
    if (this.#lines >= linesMax) this.#hidden++;
    else {
      this.#lines++;
      this.#log.warn(fields, message);
    }
  }

  #next(): void {
    const hidden = this.#hidden;
    this.#lines = 0;
    this.#hidden = 0;
    if (hidden > 0)
      this.#log.warn({ count: hidden }, `${hidden} more such lines about connections of nobody we know`);
  }
}
