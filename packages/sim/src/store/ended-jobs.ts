// Jobs that came to an end by themselves, for whoever learns how long jobs run.
import { isArray, type JobState } from '@muster/model';
import type { EndedJob, EndedPlace } from '@muster/store';
import type { MemoryDatabase } from './database.ts';
import type { StoredJob, Tables } from './tables.ts';

export function endedJobs(
  { tables }: MemoryDatabase,
  after: EndedPlace | null,
  limit: number,
): readonly EndedJob[] {
  const ended = [...tables.jobs.values()].flatMap((row) => endedJob(tables, row)).sort(comparePlaces);
  return after
    ? ended.filter((each) => comparePlaces(each, after) > 0).slice(0, limit)
    : ended.slice(Math.max(0, ended.length - limit));
}

function endedJob(tables: Tables, { id, spec, state, estimate, submittedBy: user }: StoredJob): EndedJob[] {
  if (spec === null || isArray(state) || state.state !== 'ended' || !endedByItself(state)) return [];
  let ranMs = 0;
  for (const run of tables.runs.values())
    if (run.job === id && run.state.state === 'ended' && run.state.startedMs !== null)
      ranMs += run.state.endedMs - run.state.startedMs;
  return [{ id, spec, user, endedMs: state.endedMs, ranMs, estimate }];
}

function endedByItself({ result }: Extract<JobState, { state: 'ended' }>): boolean {
  if (result.outcome === 'succeeded') return true;
  return result.class === 'user' || result.class === 'out-of-memory' || result.class === 'timeout';
}

function comparePlaces(a: EndedPlace, b: EndedPlace): number {
  return a.endedMs - b.endedMs || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
