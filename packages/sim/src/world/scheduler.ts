// Virtual time. Everything that takes time in a virtual world is an event here, in the order of its time and, at the same time,
// of its making. After each event all promises that it settled run to their end before the next one: one turn of Node's own event
// loop, which comes only when no microtask is left. So the order of everything follows from the events alone.
interface Event {
  readonly atMs: number;
  readonly order: number;
  run: (() => void) | null;
}

/** Some moment in 2027: ids and past use want a real one. */
export const beginMs = 1_800_000_000_000;

export class Scheduler {
  #nowMs = beginMs;
  #order = 0;
  #outside = 0;
  #allBack: () => void = () => {};
  #heap: Event[] = [];

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Calls back once, after so long; returns how to prevent it. */
  after(ms: number, run: () => void): () => void {
    const event: Event = { atMs: this.#nowMs + Math.max(0, Math.round(ms)), order: this.#order++, run };
    push(this.#heap, event);
    return () => {
      event.run = null;
    };
  }

  /** Work that real machines do while virtual time stands still: a query to a real database. */
  async outside<T>(work: Promise<T>): Promise<T> {
    this.#outside++;
    try {
      return await work;
    } finally {
      if (--this.#outside === 0) this.#allBack();
    }
  }

  /** Lets everything settle that needs no more virtual time. */
  async settle(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#outside === 0) return;
      await new Promise<void>((resolve) => {
        this.#allBack = resolve;
      });
    }
  }

  /** The next event, with all that follows from it at once; false when there is none before `untilMs`. */
  async step(untilMs: number): Promise<boolean> {
    for (;;) {
      const next = this.#heap[0];
      if (!next || next.atMs > untilMs) {
        this.#nowMs = Math.max(this.#nowMs, untilMs);
        return false;
      }
      pop(this.#heap);
      if (!next.run) continue;
      this.#nowMs = next.atMs;
      next.run();
      await this.settle();
      return true;
    }
  }
}

function before(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as Event;
    if (!before(event, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop() as Event;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) break;
    const right = left + 1;
    const child = right < heap.length && before(heap[right] as Event, heap[left] as Event) ? right : left;
    if (!before(heap[child] as Event, last)) break;
    heap[at] = heap[child] as Event;
    at = child;
  }
  heap[at] = last;
}
