// The in-memory store passes the suite that the PostgreSQL store passes, unchanged.
import { contractSuite } from '@muster/store/testing';
import { seeded } from '../random.ts';
import { MemoryDatabase } from './database.ts';
import { openMemoryStore } from './memory-store.ts';

// A millisecond goes by with every look at it, as on a real server no two writes of a test are at one moment.
let nowMs = 1_800_000_000_000;
const random = seeded(1);

contractSuite({
  async store() {
    return openMemoryStore(new MemoryDatabase({ nowMs: () => ++nowMs, random: random.unit }));
  },
  async pass(ms) {
    nowMs += ms;
  },
});
