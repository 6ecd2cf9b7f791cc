// Snapshots: what an engine is loaded from, kept as it was, so that a replay has a place to start. The text comes in pieces of
// a few megabytes; each is compressed by itself, so that neither side ever holds the whole twice.
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Outcome, SnapshotRow } from '../contract.ts';
import type { Database } from '../database.ts';

const insert = {
  name: 'insert-snapshot',
  text: `
INSERT INTO snapshot (sequence, at_ms, bytes) VALUES ($1, now_ms(), $2) ON CONFLICT DO NOTHING RETURNING sequence`,
};
const insertPart = {
  name: 'insert-snapshot-part',
  text: 'INSERT INTO snapshot_part (sequence, part, data) VALUES ($1, $2, $3)',
};

/** Level 1: at a million jobs level 6 saves a fifteenth of the size for twice the time. */
const level = 1;

export async function saveSnapshot(
  database: Database,
  epoch: number,
  sequence: number,
  pieces: Iterable<string>,
  bytesMax: number,
): Promise<Outcome<SnapshotRow | null, 'stale-epoch' | 'too-large'>> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    const part = gzipSync(piece, { level });
    bytes += part.length;
    if (bytes > bytesMax) return { outcome: 'refused', refusal: 'too-large' };
    parts.push(part);
  }
  const written = await database.write<SnapshotRow | null | 'stale-epoch'>(
    async (tx) => {
      if (tx.epoch !== epoch) return 'stale-epoch';
      const [row] = await tx.query(insert, [sequence, bytes]);
      // The same sequence is the same snapshot.
      if (!row) return null;
      for (const [i, part] of parts.entries()) await tx.query(insertPart, [sequence, i, part]);
      return { sequence, atMs: tx.nowMs, bytes };
    },
    { fenced: true },
  );
  if (written.value === 'stale-epoch') return { outcome: 'refused', refusal: written.value };
  return { outcome: 'committed', sequence: written.sequence, value: written.value };
}

const list = {
  name: 'snapshots',
  text: 'SELECT sequence, at_ms AS "atMs", bytes FROM snapshot ORDER BY sequence',
};

export function snapshots(database: Database): Promise<SnapshotRow[]> {
  return database.query<SnapshotRow>(list);
}

const readPart = {
  name: 'snapshot-part',
  text: 'SELECT data FROM snapshot_part WHERE sequence = $1 AND part = $2',
};

/** The pieces as they were saved; none when there is no such snapshot. */
export async function* snapshotPieces(database: Database, sequence: number): AsyncGenerator<string> {
  for (let part = 0; ; part++) {
    const [row] = await database.query<{ data: Buffer }>(readPart, [sequence, part]);
    if (!row) return;
    yield gunzipSync(row.data).toString();
  }
}
