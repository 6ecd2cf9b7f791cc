// The in-memory database: tables, a clock that its owner moves, and the one way to write. A body runs in one synchronous step,
// so that it sees and leaves whole transactions only; its events get the next numbers of the log, gap-free.
import { type EventBody, InvariantError, type LogEvent, submittedJob } from '@muster/model';
import { type StoredEvent, Tables } from './tables.ts';

export interface Tx {
  readonly tables: Tables;
  readonly nowMs: number;
  /** The leader's epoch. */
  readonly epoch: number;
  append(events: readonly { readonly body: EventBody; readonly project: string | null }[]): void;
  /** The number the next event gets. */
  readonly nextSequence: number;
}

export interface Written<T> {
  readonly value: T;
  /** Of the last event. */
  readonly sequence: number;
}

export interface DatabaseOptions {
  readonly nowMs: () => number;
  /** Uniform in [0, 1): for the tokens that runs speak with. */
  readonly random: () => number;
  /** Told of every write that appended something, in order. */
  readonly onCommit?: (events: readonly LogEvent[]) => void;
}

export class MemoryDatabase {
  readonly tables = new Tables();
  readonly logId: string;
  readonly #options: DatabaseOptions;
  readonly #hints = new Set<() => void>();
  #latestMs = 0;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.logId = `log-${Math.floor(options.random() * 2 ** 32)}`;
  }

  /** Never goes back. */
  nowMs(): number {
    this.#latestMs = Math.max(this.#latestMs, this.#options.nowMs());
    return this.#latestMs;
  }

  random(): number {
    return this.#options.random();
  }

  write<T>(body: (tx: Tx) => T): Written<T> {
    const { tables } = this;
    const before = tables.events.length;
    const nowMs = this.nowMs();
    const value = body({
      tables,
      nowMs,
      epoch: tables.leader.epoch,
      append: (events) => {
        for (const event of events) tables.events.push(stored(event, tables.events.length + 1, nowMs));
      },
      get nextSequence() {
        return tables.events.length + 1;
      },
    });
    if (tables.events.length > before) {
      this.#options.onCommit?.(tables.events.slice(before));
      for (const hint of [...this.#hints]) hint();
    }
    return { value, sequence: tables.events.length };
  }

  onEvents(hint: () => void): () => void {
    const own = () => hint();
    this.#hints.add(own);
    return () => {
      this.#hints.delete(own);
    };
  }
}

/** Through JSON, as in PostgreSQL: what is read later shares nothing with whoever wrote it. */
function stored(
  { body, project }: { readonly body: EventBody; readonly project: string | null },
  sequence: number,
  atMs: number,
): StoredEvent {
  const job = 'job' in body ? submittedJob(body.job) : null;
  return { sequence, atMs, body: JSON.parse(JSON.stringify(body)) as EventBody, project, job };
}

/** What a CHECK would have refused: a bug of whoever wrote it. */
export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new InvariantError(`the database refuses: ${what}`);
}
