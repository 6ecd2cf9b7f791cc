// The steps of a job, each with its event. Called by the rules of runs and by hold, release and cancel.
import {
  afterRun,
  canonicalJson,
  type EventBody,
  type JobDemand,
  type JobId,
  type JobStateEvent,
  type Move,
  moveDemand,
  pastOf,
  type RunResult,
  savedMsOf,
  stepJob,
} from '@muster/model';
import { memberStepped, takeFresh } from './array-rules.ts';
import type { Changes, JobRecord, RunRecord } from './records.ts';

/** False when the job does not take this event now. */
export function stepJobRecord(changes: Changes, job: JobRecord, event: JobStateEvent): boolean {
  const stepped = stepJob(job.state, event);
  if (!stepped.ok) return false;
  if (stepped.next === job.state) return true;
  takeFresh(changes, job);
  const before = job.state;
  job.state = stepped.next;
  job.version++;
  if (job.state.state === 'running') job.startedMs = job.state.startedMs;
  changes.jobs.add(job);
  memberStepped(changes, job, before);
  return true;
}

export function jobRunStarted(changes: Changes, run: RunRecord): void {
  const { job } = run;
  // A job that is being cancelled does not become running; its run does.
  stepJobRecord(changes, job, { kind: 'run-start', run: run.id, nowMs: changes.nowMs });
  changes.event(job, {
    kind: 'run.running',
    run: run.id,
    job: job.id,
    version: job.version,
    startedMs: changes.nowMs,
  });
}

/** `preemptor` is the job for which the run was stopped. */
export function jobRunEnded(
  changes: Changes,
  run: RunRecord,
  result: RunResult,
  preemptor: JobId | null,
): void {
  const { job } = run;
  const { state } = job;
  if (!('run' in state)) return;
  const { move } = state;
  const then = afterRun(job.retry, state.failures, state.avoid, result);
  const { nowMs } = changes;
  const startedMs = 'startedMs' in run.state ? run.state.startedMs : null;
  const savedMs = savedMsOf({ startedMs, checkpointMs: run.checkpoint?.atMs ?? null });
  if (!stepJobRecord(changes, job, { kind: 'run-end', run: run.id, result, then, preemptor, savedMs, nowMs }))
    return;
  changes.event(job, afterEnd(job, result, move));
}

/** `move` is the one that it had while it was placed. */
function afterEnd(job: JobRecord, because: RunResult, move: Move | undefined): EventBody {
  const { id, version, state } = job;
  if (state.state === 'queued') {
    const { attempt, sinceMs, notBeforeMs } = state;
    const when = { attempt, sinceMs, notBeforeMs };
    const demand = move ? { demand: askAs(job, move) } : {};
    return { kind: 'job.requeued', job: id, version, because, ...when, ...pastOf(state), ...demand };
  }
  return endedEvent(job);
}

/** The job's entry, and what it asks of the fleet, as the move says; gives the latter. */
export function askAs(job: JobRecord, move: Move): JobDemand {
  const demand = moveDemand(move);
  job.entry = { key: `${move.base.head}|${canonicalJson(demand)}`, demand };
  return demand;
}

export function endedEvent(job: JobRecord): EventBody {
  if (job.state.state !== 'ended') throw new Error(`job ${job.id} has not ended`);
  return { kind: 'job.ended', job: job.id, version: job.version, result: job.state.result };
}
