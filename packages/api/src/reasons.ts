// Why waiting jobs wait, for lists and single jobs. The stored verdict of a queue entry is told only when it changes, so it is
// good for a job that waited when it was told, and says nothing about one that came later: the entry may have been
// empty in between. For those the engine is asked, once for all jobs of an entry. What it cannot say soon is left out:
// no reason is better than one of another day.
import { setTimeout as delay } from 'node:timers/promises';
import type { JobId, PlannedJob, Verdict } from '@muster/model';
import type { JobRow } from '@muster/store';
import type { Api } from './deps.ts';

/** A list must not wait for a long decision. */
const withinMs = 500;

/** When jobs of these are planned to start. Few have such a time, and only queued ones. */
export async function plannedStarts(api: Api, rows: readonly JobRow[]): Promise<ReadonlyMap<JobId, number>> {
  if (!rows.some(({ state }) => state.state === 'queued')) return new Map();
  const abort = new AbortController();
  const none: readonly PlannedJob[] = [];
  const planned = await Promise.race([
    api.control.planned().catch(() => none),
    delay(withinMs, none, { signal: abort.signal, ref: false }).catch(() => none),
  ]);
  abort.abort();
  return new Map(planned.map(({ job, startMs }) => [job, startMs]));
}

export async function withReasons(api: Api, rows: readonly JobRow[]): Promise<readonly JobRow[]> {
  const unexplained = rows.filter(({ state, verdict }) => state.state === 'queued' && verdict === null);
  if (unexplained.length === 0) return rows;
  const byEntry = new Map<string, Verdict>();
  const abort = new AbortController();
  const asking = ask(api, unexplained, byEntry, abort.signal).catch(() => {});
  await Promise.race([asking, delay(withinMs, null, { signal: abort.signal, ref: false })]);
  abort.abort();
  return rows.map((row) =>
    row.state.state === 'queued' && row.verdict === null
      ? { ...row, verdict: byEntry.get(row.entry) ?? null }
      : row,
  );
}

async function ask(
  api: Api,
  rows: readonly JobRow[],
  byEntry: Map<string, Verdict>,
  signal: AbortSignal,
): Promise<void> {
  const asked = new Set<string>();
  for (const { id, entry } of rows) {
    if (signal.aborted) return;
    if (asked.has(entry)) continue;
    asked.add(entry);
    const { verdict } = await api.control.explain(id, 0);
    // About to be placed, or placed since the row was read: that is no reason to wait.
    if (verdict && verdict.kind !== 'placed') byEntry.set(entry, verdict);
  }
}
