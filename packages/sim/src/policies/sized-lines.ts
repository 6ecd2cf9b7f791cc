// All who wait, in one line for each size, because two of one size fit alike. Together they are one line in order of arrival.
import { SizedLine } from './sized-line.ts';

/** Somebody who waits: the line and the place in it. */
export interface Waiting {
  readonly line: SizedLine;
  readonly place: number;
}

export class SizedLines {
  readonly #bySize = new Map<number, SizedLine>();
  /** Ascending by size, so that a walk ends at the first that is too large. */
  #lines: SizedLine[] = [];
  waiting = 0;

  get lines(): readonly SizedLine[] {
    return this.#lines;
  }

  push(job: number, size: number, believedMs: number): void {
    let line = this.#bySize.get(size);
    if (!line) {
      line = new SizedLine(size);
      this.#bySize.set(size, line);
      this.#lines = [...this.#lines, line].sort((a, b) => a.size - b.size);
    }
    line.push(job, believedMs);
    this.waiting++;
  }

  /** The size of the smallest who waits. */
  get smallest(): number {
    return this.#lines.find(({ waiting }) => waiting > 0)?.size ?? Number.POSITIVE_INFINITY;
  }

  /** Who came first of all. */
  first(): Waiting | null {
    let best: Waiting | null = null;
    for (const line of this.#lines) {
      const place = line.firstWithin(Number.POSITIVE_INFINITY);
      if (place >= 0 && (!best || line.jobAt(place) < best.line.jobAt(best.place))) best = { line, place };
    }
    return best;
  }

  take({ line, place }: Waiting): number {
    this.waiting--;
    return line.takeAt(place);
  }
}
