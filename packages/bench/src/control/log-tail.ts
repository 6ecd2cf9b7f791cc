// A second pair of eyes on the event log, straight from the database: it sees an event as soon as it is committed, and takes
// nothing from the API that is being measured.
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogEvent } from '@muster/model';
import { openStore, type Store } from '@muster/store';

export interface LogTail {
  /** Reads on until `done` says so of an event. */
  until(done: (event: LogEvent) => boolean, withinMs: number): Promise<void>;
  /** Forgets what has happened so far. */
  skip(): Promise<void>;
  close(): Promise<void>;
}

const pageSize = 2000;
/** A hint may be lost; looking this often costs nothing that would show. */
const pollMs = 20;

export async function openLogTail(databaseUrl: string): Promise<LogTail> {
  const store: Store = await openStore({ url: databaseUrl });
  let sequence = (await store.head()).sequence;
  let wake: () => void = () => {};
  let hinted = false;
  const endHints = store.onEvents(() => {
    hinted = true;
    wake();
  });

  async function pause(): Promise<void> {
    if (!hinted) await Promise.race([sleep(pollMs), new Promise<void>((resolve) => (wake = resolve))]);
    hinted = false;
  }

  return {
    async until(done, withinMs) {
      const endMs = performance.now() + withinMs;
      for (;;) {
        const events = await store.eventsSince(sequence, pageSize);
        for (const event of events) {
          sequence = event.sequence;
          if (done(event)) return;
        }
        if (events.length === pageSize) continue;
        if (performance.now() > endMs)
          throw new Error(`the awaited event did not come within ${withinMs} ms`);
        await pause();
      }
    },
    async skip() {
      sequence = (await store.head()).sequence;
    },
    async close() {
      endHints();
      await store.close();
    },
  };
}
