// What is due when: one timer for all, because tens of thousands of timers of their own would be the benchmark's load and not
// the product's. Things that come due together are handed over together.

export class Agenda<T> {
  /** Earliest last. */
  readonly #items: { readonly atMs: number; readonly item: T }[] = [];
  readonly #due: (items: readonly T[]) => void;
  #timer: NodeJS.Timeout | null = null;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(due: (items: readonly T[]) => void) {
    this.#due = due;
  }

  add(atMs: number, item: T): void {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#items[middle]!.atMs > atMs) low = middle + 1;
      else high = middle;
    }
    this.#items.splice(low, 0, { atMs, item });
    this.#set();
  }

  #set(): void {
    const next = this.#items.at(-1);
    if (!next || next.atMs >= this.#timerAtMs) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timerAtMs = next.atMs;
    this.#timer = setTimeout(() => this.#fire(), Math.max(0, Math.ceil(next.atMs - performance.now())));
  }

  #fire(): void {
    this.#timer = null;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = performance.now();
    const due: T[] = [];
    while (this.#items.length > 0 && this.#items.at(-1)!.atMs <= nowMs) due.push(this.#items.pop()!.item);
    if (due.length > 0) this.#due(due);
    this.#set();
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#items.length = 0;
  }
}
