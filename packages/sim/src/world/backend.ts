// What a virtual world keeps its rows in: the in-memory database, or a real one (faults/postgres.ts).
import type { LogEvent } from '@muster/model';
import type { Store } from '@muster/store';
import type { Random } from '../random.ts';
import { MemoryDatabase } from '../store/database.ts';
import { openMemoryStore } from '../store/memory-store.ts';
import { type DatabaseWeather, databaseLine } from './database-line.ts';
import type { VirtualProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';

export interface Backend {
  /** The operator's own way in, which nothing disturbs. */
  readonly direct: Store;
  /** On a connection of this process, in this weather. */
  open(process: VirtualProcess, weather: DatabaseWeather, random: Random): Store;
  /** What was committed since the last look, in order. */
  news(): Promise<readonly LogEvent[]>;
  close(): Promise<void>;
}

export type MakeBackend = (
  scheduler: Scheduler,
  random: Random,
  /** How far the database's clock is ahead of the world's. */
  skewMs: () => number,
) => Promise<Backend>;

export const memoryBackend: MakeBackend = async (scheduler, random, skewMs) => {
  let news: LogEvent[] = [];
  const database = new MemoryDatabase({
    nowMs: () => scheduler.nowMs + skewMs(),
    random: random.split('database').unit,
    onCommit: (events) => {
      for (const event of events) news.push(event);
    },
  });
  return {
    direct: openMemoryStore(database),
    open: (process, weather, of) =>
      openMemoryStore(database, databaseLine({ scheduler, process, random: of, weather })),
    async news() {
      const told = news;
      news = [];
      return told;
    },
    close: async () => {},
  };
};
