// Connections, and the one way to write: `Database.write` runs a body in a transaction, appends its events as the last
// statement, commits, and tells apart "did not happen" from "nobody knows".
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { appendEvents, type NewEvent, readHead } from './event-log.ts';
import { CommitUnknown, failureOf, translated } from './failure.ts';
import { listText } from './list-text.ts';
import { Pipeline } from './pipeline.ts';
import { begin, beginText, commit, commitBehind } from './transaction.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly log?: (line: string) => void;
  readonly maxConnections?: number;
  readonly connectTimeoutMs?: number;
  readonly statementTimeoutMs?: number;
}

/** Named, so that the server plans it once a connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A statement with what it is to run on. */
export interface Call {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

export interface Reader {
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Tx extends Reader {
  /** Database time when the transaction began. */
  readonly nowMs: number;
  /** The leader's epoch; a transaction that took it (`fenced`) keeps any takeover waiting until it is over. */
  readonly epoch: number;
  /** Goes into the log as the last statement before COMMIT, in the order given. */
  append(events: readonly NewEvent[]): void;
}

export interface Written<T> {
  readonly value: T;
  readonly sequence: number;
}

export interface WriteOptions {
  /** Takes the leader's row first, for everything that may write outbox rows or decide. */
  readonly fenced?: boolean;
  /** The caller does not care for the sequence when nothing was appended. */
  readonly anySequence?: boolean;
}

const attempts = 8;
const int8 = 20;

export class Database {
  readonly pool: pg.Pool;
  readonly #pipeline: Pipeline;
  readonly #timeoutMs: number;
  readonly #onAppended: (sequence: number) => void;
  readonly #makePartitions: () => Promise<void>;
  #sequence = 0;
  #closed = false;

  constructor(
    options: DatabaseOptions,
    hooks: { onAppended: (sequence: number) => void; makePartitions: () => Promise<void> },
  ) {
    this.#timeoutMs = options.statementTimeoutMs ?? 15_000;
    this.#onAppended = hooks.onAppended;
    this.#makePartitions = hooks.makePartitions;
    this.pool = new pg.Pool(poolConfig(options, this.#timeoutMs));
    this.#pipeline = new Pipeline(this.pool);
    // A connection in use that is cut tells its query; without a listener of its own it would end the process as well.
    this.pool.on('connect', (client) => client.on('error', () => {}));
    // An idle connection that breaks is replaced by the next caller.
    this.pool.on('error', (error) => options.log?.(`a database connection was lost: ${error.message}`));
  }

  async query<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    try {
      const result = await this.pool.query({ ...statement, values: [...values] });
      return result.rows as Row[];
    } catch (error) {
      throw translated(error);
    }
  }

  /** A write that no event tells of. Throws CommitUnknown, as every write may. */
  async change<Row>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const { value } = await this.write((tx) => tx.query<Row>(statement, values), { anySequence: true });
    return value;
  }

  /** Several reads of one moment. */
  async snapshot<T>(body: (reader: Reader) => Promise<T>): Promise<T> {
    try {
      return await this.#connected(async (client) => {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
        const value = await body(readerOf(client));
        await client.query('COMMIT');
        return value;
      });
    } catch (error) {
      throw translated(error);
    }
  }

  /** Runs the body again, from the start, after a deadlock or serialization failure. Throws CommitUnknown. */
  write<T>(body: (tx: Tx) => Promise<T>, options: WriteOptions = {}): Promise<Written<T>> {
    return this.#again(() => this.#connected((client) => this.#transaction(client, body, options)));
  }

  /**
   * A transaction that needs no answer before its end: all of it is sent at once, behind others of its kind that are on
   * their way, or beside them. `last` moves the log's head itself and answers one row, with the sequence. Throws CommitUnknown.
   */
  async extendLog<Row extends { readonly sequence: number }>(
    before: readonly Call[],
    last: Call,
    where: 'behind' | 'beside' = 'behind',
  ): Promise<Row> {
    const send = (client: pg.PoolClient): Promise<Row> => {
      const reader = readerOf(client);
      const begun = client.query(beginText(this.#timeoutMs));
      const prepared = before.map(({ statement, values }) => reader.query(statement, values));
      const sent = Promise.all([reader.query<Row>(last.statement, last.values), begun, ...prepared]);
      return commitBehind(
        client,
        sent.then(([[row]]) => row as Row),
      );
    };
    const whole = (client: pg.PoolClient): Promise<Row> => inOneWrite(client, () => send(client));
    const row = await this.#again(() =>
      where === 'behind' ? this.#pipeline.run(whole) : this.#connected(whole),
    );
    this.#appended(row.sequence);
    return row;
  }

  async #again<T>(body: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await body();
      } catch (error) {
        if (attempt === attempts || !isRedo(error)) throw translated(error);
        if (failureOf(error) === 'no-partition') await this.#makePartitions();
        else await sleep(Math.random() * 4 ** Math.min(attempt, 4));
      }
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.pool.end();
  }

  async #connected<T>(body: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let broken = true;
    try {
      const value = await body(client);
      broken = false;
      return value;
    } catch (error) {
      broken = error instanceof CommitUnknown || !(await rolledBack(client, error));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async #transaction<T>(
    client: pg.PoolClient,
    body: (tx: Tx) => Promise<T>,
    options: WriteOptions,
  ): Promise<Written<T>> {
    const { nowMs, epoch } = await begin(client, this.#timeoutMs, options.fenced === true);
    const events: NewEvent[] = [];
    const reader = readerOf(client);
    const value = await body({
      ...reader,
      nowMs,
      epoch,
      append: (more) => {
        for (const event of more) events.push(event);
      },
    });
    const sequence = await this.#finish(client, reader, events, options);
    if (events.length > 0) this.#appended(sequence);
    return { value, sequence };
  }

  #appended(sequence: number): void {
    this.#sequence = Math.max(this.#sequence, sequence);
    this.#onAppended(sequence);
  }

  /** Appends and commits in one go: the log's head stays locked for no turn of our event loop. */
  async #finish(
    client: pg.PoolClient,
    reader: Reader,
    events: readonly NewEvent[],
    { anySequence }: WriteOptions,
  ): Promise<number> {
    if (events.length > 0) return commitBehind(client, appendEvents(reader, events));
    if (anySequence !== true) return commitBehind(client, readHead(reader));
    await commit(client);
    return this.#sequence;
  }
}

/** Thrown inside a body to start over: what it had locked was not enough. */
export class Redo extends Error {
  override readonly name = 'Redo';
}

function isRedo(error: unknown): boolean {
  if (error instanceof Redo) return true;
  const failure = failureOf(error);
  return failure === 'again' || failure === 'no-partition';
}

function poolConfig(options: DatabaseOptions, timeoutMs: number): pg.PoolConfig {
  const config = {
    connectionString: options.url,
    max: options.maxConnections ?? 12,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5000,
    // The server ends a slow statement first; this one is for a server that has stopped answering at all.
    query_timeout: timeoutMs + 5000,
    keepAlive: true,
    pipeline: true,
    application_name: 'muster',
    types: { getTypeParser },
    async onConnect(client: pg.Client) {
      // For reads outside a transaction; through a pooler it may be lost, and then the client's own timeout is left. Pages of a
      // list come in the order of an index; on a table without statistics yet the planner would collect and sort all of it.
      await client.query(`SET statement_timeout = ${timeoutMs}; SET jit = off; SET enable_bitmapscan = off`);
    },
  };
  return config as unknown as pg.PoolConfig;
}

/** Our bigints are times, counters and amounts below 2^53. */
function getTypeParser(oid: number, format?: unknown): unknown {
  if (oid === int8) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
}

function readerOf(client: pg.PoolClient): Reader {
  // Statements are sent one behind the other without waiting. When one fails, those behind it fail too ("transaction is
  // aborted"), and which of them a caller sees first is chance; the first failure is the one that tells something.
  let first: { readonly error: unknown } | null = null;
  return {
    async query<Row>(statement: Statement, values: readonly unknown[] = []) {
      try {
        const given = values.map((value) => (Array.isArray(value) ? listText(value) : value));
        const result = await client.query({ ...statement, values: given });
        return result.rows as Row[];
      } catch (error) {
        first ??= { error };
        throw first.error;
      }
    },
  };
}

/** What `send` sends goes out as one: each write of its own would wake the server for a part of it. */
function inOneWrite<T>(client: pg.PoolClient, send: () => T): T {
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}

/** True when the connection can be used again. */
async function rolledBack(client: pg.PoolClient, error: unknown): Promise<boolean> {
  if (!(error instanceof Redo) && failureOf(error) === 'unavailable' && !('severity' in (error as object)))
    return false;
  try {
    await client.query('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}
