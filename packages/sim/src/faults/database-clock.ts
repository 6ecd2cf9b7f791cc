// The clock of a real database in a virtual world: a file that now_ms() reads. Setting it by a statement was every third
// round trip of a world.
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface DatabaseClock {
  /** Makes now_ms() of a database on this machine read it. */
  readonly sql: string;
  /** Never goes back. */
  set(nowMs: number): void;
  close(): void;
}

export function openDatabaseClock(): DatabaseClock {
  const folder = mkdtempSync(join(tmpdir(), 'muster-clock-'));
  // The server may run as another account.
  chmodSync(folder, 0o711);
  const path = join(folder, 'now-ms');
  const file = openSync(path, 'w', 0o644);
  let latestMs = 0;
  const set = (nowMs: number): void => {
    if (nowMs <= latestMs) return;
    latestMs = nowMs;
    // As long as any other moment in milliseconds until the year 2286, so that each write covers the last.
    writeSync(file, String(nowMs), 0);
  };
  set(1_000_000_000_000);
  return {
    sql: `CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT pg_read_file('${path}')::bigint $$`,
    set,
    close() {
      closeSync(file);
      rmSync(folder, { recursive: true });
    },
  };
}
