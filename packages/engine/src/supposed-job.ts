// A job that is looked at and was never submitted: it is there while somebody looks, and leaves nothing behind.
import type { EntryFacts, JobDemand, JobId } from '@muster/model';
import type { State } from './state.ts';

const considered = 'job_considered' as JobId;

/** It is known and not in line yet; `look` may queue it. */
export function supposed<T>(state: State, facts: EntryFacts, demand: JobDemand, look: (job: number) => T): T {
  const { jobs, queue } = state;
  const job = jobs.add(considered, state.sequence + 1, state.clockMs);
  queue.enter(job, facts, demand);
  const putBackEmptied = queue.supposeEmptied();
  const seen = look(job);
  queue.leave(job);
  putBackEmptied();
  return seen;
}
