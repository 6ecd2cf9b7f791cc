// "Something was committed": from this process at once, from others by LISTEN on a connection of its own. Only hints: a
// lost one costs the time until the reader's next poll, so a broken connection is reconnected without hurry. Through
// a pooler in transaction mode nothing is heard from others, and polling carries on.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const retryMs = 1000;

export class Hints {
  readonly #url: string;
  readonly #listeners = new Set<() => void>();
  #pending = false;
  #closed = false;
  #client: pg.Client | null = null;
  #running = false;

  constructor(url: string) {
    this.#url = url;
  }

  /** Many commits in one turn are one hint. */
  give(): void {
    if (this.#pending || this.#listeners.size === 0) return;
    this.#pending = true;
    setImmediate(() => {
      this.#pending = false;
      for (const listener of [...this.#listeners]) listener();
    });
  }

  on(listener: () => void): () => void {
    // A wrapper, so that one function given twice is two listeners.
    const own = () => listener();
    this.#listeners.add(own);
    if (!this.#running && !this.#closed) void this.#listen();
    return () => {
      this.#listeners.delete(own);
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    await this.#client?.end().catch(() => {});
  }

  async #listen(): Promise<void> {
    this.#running = true;
    while (!this.#closed) {
      const client = new pg.Client({
        connectionString: this.#url,
        connectionTimeoutMillis: 5000,
        keepAlive: true,
        application_name: 'muster-listen',
      });
      this.#client = client;
      const ended = new Promise<void>((resolve) => {
        client.once('end', () => resolve());
        client.on('error', () => resolve());
      });
      client.on('notification', () => this.give());
      try {
        await client.connect();
        await client.query('LISTEN muster_events');
        // What was committed while nobody listened.
        this.give();
        await ended;
      } catch {
        // Tried again below.
      }
      await client.end().catch(() => {});
      if (!this.#closed) await sleep(retryMs, undefined, { ref: false });
    }
    this.#running = false;
  }
}
