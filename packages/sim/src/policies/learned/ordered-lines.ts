// All who wait, in one line for each size, because two of one size fit alike. Together they are one line in the order of their keys.
import { OrderedLine } from './ordered-line.ts';

/** Somebody who waits: the line and the place in it. */
export interface Place {
  readonly line: OrderedLine;
  readonly place: number;
}

export class OrderedLines {
  readonly #bySize = new Map<number, OrderedLine>();
  /** Ascending by size, so that a walk ends at the first that is too large. */
  #lines: OrderedLine[] = [];
  waiting = 0;

  get lines(): readonly OrderedLine[] {
    return this.#lines;
  }

  add(job: number, size: number, key: number): void {
    let line = this.#bySize.get(size);
    if (!line) {
      line = new OrderedLine(size);
      this.#bySize.set(size, line);
      this.#lines = [...this.#lines, line].sort((a, b) => a.size - b.size);
    }
    line.add(job, key);
    this.waiting++;
  }

  /** The first of all in lines that will do. */
  first(willDo: (line: OrderedLine) => boolean = () => true): Place | null {
    let best: Place | null = null;
    for (const line of this.#lines)
      if (line.waiting > 0 && willDo(line)) best = earlier({ line, place: 0 }, best);
    return best;
  }

  take({ line, place }: Place): number {
    this.waiting--;
    return line.takeAt(place);
  }
}

/** Which of the two comes first in the order. */
export function earlier(one: Place, other: Place | null): Place {
  if (!other) return one;
  const keys = one.line.keyAt(one.place) - other.line.keyAt(other.place);
  if (keys !== 0) return keys < 0 ? one : other;
  return one.line.jobAt(one.place) < other.line.jobAt(other.place) ? one : other;
}
