// The event table is partitioned by sequence, so that retention drops files instead of deleting rows. Partitions are made ahead: at start, and whenever
// the log comes near the end of the last one. A partition is built beside the table and attached, which does not keep
// readers and writers waiting as CREATE ... PARTITION OF would.
import type { Reader, Statement } from './database.ts';

export const partitionRows = 1_000_000;

const lock: Statement = {
  name: 'lock-partitions',
  text: `SELECT pg_advisory_xact_lock(hashtext('muster.event_partition'))`,
};
const look: Statement = {
  name: 'look-partitions',
  text: `SELECT (SELECT sequence FROM log_head) AS sequence, (SELECT coalesce(max(below), 1) FROM event_partition) AS below`,
};

/** Makes what is missing to have at least one whole partition free; returns the sequence from which to ask again. */
export async function makePartitions(reader: Reader, rows = partitionRows): Promise<number> {
  await reader.query(lock);
  const [now] = await reader.query<{ sequence: number; below: number }>(look);
  let below = now?.below ?? 1;
  const wanted = (now?.sequence ?? 0) + 1 + rows;
  while (below <= wanted) {
    const first = below === 1 ? 0 : below;
    below = Math.floor(first / rows) * rows + rows;
    await createPartition(reader, first, below);
  }
  return below - rows;
}

async function createPartition(reader: Reader, first: number, below: number): Promise<void> {
  const name = partitionName(first);
  const run = (text: string) => reader.query({ name: '', text });
  await run(`CREATE TABLE ${name} (LIKE event INCLUDING ALL)`);
  await run(`ALTER TABLE event ATTACH PARTITION ${name} FOR VALUES FROM (${first}) TO (${below})`);
  await run(`INSERT INTO event_partition (first, below) VALUES (${first}, ${below})`);
}

export function partitionName(first: number): string {
  return `event_from_${first}`;
}
