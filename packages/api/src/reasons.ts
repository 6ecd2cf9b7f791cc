// Why waiting jobs wait, for lists and single jobs. The stored verdict of a queue entry is told only when it changes, so it is
// good for a job that waited when it was told, and says nothing about one that came later: the entry may have been
// empty in between, which the engine knows. For those it is asked, once for all jobs of an entry. What it cannot say
// soon is left out: no reason is better than one of another day.
import { setTimeout as delay } from 'node:timers/promises';
import type { JobId, PlannedJob, Verdict } from '@muster/model';
import type { JobRow } from '@muster/store';
import type { Api } from './deps.ts';

/** A list must not wait for a long decision. */
const withinMs = 500;

/** When jobs of these are planned to start. Few have such a time, and only queued ones. */
export async function plannedStarts(api: Api, rows: readonly JobRow[]): Promise<ReadonlyMap<JobId, number>> {
  if (!rows.some(({ state }) => state.state === 'queued')) return new Map();
  const planned = await soon<readonly PlannedJob[]>(api.control.planned(), []);
  return new Map(planned.map(({ job, startMs }) => [job, startMs]));
}

export async function withReasons(api: Api, rows: readonly JobRow[]): Promise<readonly JobRow[]> {
  const unexplained = rows.filter(({ state, verdict }) => state.state === 'queued' && verdict === null);
  if (unexplained.length === 0) return rows;
  // One of each entry.
  const asked = new Map(unexplained.map(({ entry, id }) => [entry, id]));
  const verdicts = await soon(api.control.verdicts([...asked.values()]), new Map<JobId, Verdict>());
  return rows.map((row) => {
    if (row.state.state !== 'queued' || row.verdict !== null) return row;
    const verdict = verdicts.get(asked.get(row.entry)!);
    // About to be placed, or placed since the row was read: that is no reason to wait.
    return verdict && verdict.kind !== 'placed' ? { ...row, verdict } : row;
  });
}

async function soon<T>(answer: Promise<T>, none: T): Promise<T> {
  const abort = new AbortController();
  const late = delay(withinMs, none, { signal: abort.signal, ref: false }).catch(() => none);
  const found = await Promise.race([answer.catch(() => none), late]);
  abort.abort();
  return found;
}
