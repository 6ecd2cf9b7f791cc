// Cancel, hold and release: what a person may ask of a job. A cancelled job is never started again (S4).
import { cancelledResult, type IndexRange, type JobId, type JobRefusal, type RunId } from '@muster/model';
import { dropFresh, stopAll } from './array-rules.ts';
import { unclaimJob } from './claim-rules.ts';
import { endedEvent, stepJobRecord } from './job-rules.ts';
import type { ArrayRecord, Changes, JobRecord, RunRecord } from './records.ts';
import { stopRun } from './run-rules.ts';

/** `run` is the job's present run, when it has one. */
export function cancelJob(changes: Changes, job: JobRecord, run: RunRecord | null, by: string): void {
  const before = job.state.state;
  unclaimJob(changes, job, { code: 'cancelled', message: `cancelled by ${by}` });
  if (!stepJobRecord(changes, job, { kind: 'cancel', by, nowMs: changes.nowMs })) return;
  if (job.state.state === 'ended') {
    changes.event(job, endedEvent(job));
    return;
  }
  if (before !== 'stopping')
    changes.event(job, { kind: 'job.stopping', job: job.id, version: job.version, by });
  const message = `cancelled by ${by}`;
  if (run)
    stopRun(changes, run, cancelledResult(message), { code: 'cancelled', message, class: 'cancelled' });
}

/** Members of the range: those that never started will not, those that wait or run are cancelled. */
export function cancelMembers(
  changes: Changes,
  array: ArrayRecord,
  range: IndexRange,
  members: ReadonlyMap<JobId, JobRecord>,
  runs: ReadonlyMap<RunId, RunRecord>,
  by: string,
): void {
  dropFresh(changes, array, range, by);
  for (const member of members.values()) {
    const run = 'run' in member.state ? runs.get(member.state.run) : undefined;
    cancelJob(changes, member, run ?? null, by);
  }
}

export function cancelArray(
  changes: Changes,
  array: ArrayRecord,
  members: ReadonlyMap<JobId, JobRecord>,
  runs: ReadonlyMap<RunId, RunRecord>,
  by: string,
): void {
  stopAll(changes, array, by);
  cancelMembers(changes, array, [0, array.size.count - 1], members, runs, by);
}

export function holdJob(changes: Changes, job: JobRecord, by: string): JobRefusal | null {
  unclaimJob(changes, job, { code: 'held', message: `held by ${by}` });
  const { version } = job;
  if (!stepJobRecord(changes, job, { kind: 'hold', by })) return refusal(job);
  if (job.version !== version)
    changes.event(job, { kind: 'job.held', job: job.id, version: job.version, by });
  return null;
}

export function releaseJob(changes: Changes, job: JobRecord, by: string): JobRefusal | null {
  // Nothing holds it: a repeated request is no error.
  if (job.state.state === 'queued') return null;
  if (!stepJobRecord(changes, job, { kind: 'release', nowMs: changes.nowMs })) return refusal(job);
  const { id, version } = job;
  changes.event(job, { kind: 'job.released', job: id, version, by, sinceMs: changes.nowMs });
  return null;
}

function refusal(job: JobRecord): JobRefusal {
  return job.state.state === 'ended' ? 'already-ended' : 'not-now';
}
