// Whole transactions on one connection, each sent behind the one before without waiting for it: the server finds the next
// when it has ended the last. On connections of their own they would wait for each other's locks instead.
import type pg from 'pg';
import { failureOf } from './failure.ts';

export class Pipeline {
  readonly #pool: pg.Pool;
  #line: Line | null = null;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** `send` sends all of a transaction before it returns; on an open line it is called at once. */
  async run<T>(send: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    this.#line ??= { opening: this.#pool.connect(), client: null, under: 0, broken: false };
    const line = this.#line;
    line.under++;
    try {
      line.client ??= await line.opening;
      return await send(line.client);
    } catch (error) {
      // What the server refused is over, because its COMMIT was behind it; a connection that was cut or never opened is
      // nobody's. Either way the next one begins anew.
      line.broken ||= failureOf(error) === 'unavailable';
      this.#leave(line);
      throw error;
    } finally {
      line.under--;
      // In the turn in which the last one ends, the next one often begins.
      if (line.under === 0) setImmediate(() => this.#release(line));
    }
  }

  #leave(line: Line): void {
    if (this.#line === line) this.#line = null;
  }

  #release(line: Line): void {
    if (line.under > 0) return;
    this.#leave(line);
    line.client?.release(line.broken);
    line.client = null;
  }
}

/** One connection, from the first transaction on it to the moment when none is left. */
interface Line {
  readonly opening: Promise<pg.PoolClient>;
  client: pg.PoolClient | null;
  /** Transactions on their way. */
  under: number;
  broken: boolean;
}
