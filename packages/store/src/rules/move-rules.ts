// A move that somebody orders (model/src/move.ts): the present run is asked for a checkpoint and stopped, and the job waits again
// with one more constraint once that run's end is proven. A move that is taken back only takes back the constraint: what is
// being stopped stays so.
import { type JobRefusal, type MoveOrder, movedCode, movedResult, moveText } from '@muster/model';
import { unclaimJob } from './claim-rules.ts';
import { askAs, stepJobRecord } from './job-rules.ts';
import type { Changes, JobRecord, RunRecord } from './records.ts';
import { stopRun } from './run-rules.ts';

/** `run` is the job's present run, when it has one. */
export function moveJob(
  changes: Changes,
  job: JobRecord,
  run: RunRecord | null,
  order: MoveOrder,
  by: string,
): JobRefusal | null {
  if (job.array) return 'member';
  if (job.state.state === 'ended') return 'already-ended';
  const move = { ...order, by, over: false };
  if (!run || !stepJobRecord(changes, job, { kind: 'move', move })) return 'not-now';
  const { place, reason } = order;
  const { id, version } = job;
  changes.event(job, { kind: 'job.moving', job: id, version, run: run.id, place, by, reason });
  const message = moveText(move);
  const wish = { code: movedCode, message, class: 'preemption', goesOn: true } as const;
  stopRun(changes, run, movedResult(message), wish);
  return null;
}

/** Where there is no move, nothing is taken back. */
export function unmoveJob(changes: Changes, job: JobRecord, by: string): JobRefusal | null {
  if (job.state.state === 'ended') return 'already-ended';
  const { move } = job.state;
  if (!move || move.over) return null;
  // Its claim is on a place that the move wanted.
  unclaimJob(changes, job, { code: 'unmoved', message: `the move was taken back by ${by}` });
  if (!stepJobRecord(changes, job, { kind: 'unmove' })) return 'not-now';
  const isWaiting = job.state.state === 'queued' || job.state.state === 'held';
  const demand = isWaiting ? { demand: askAs(job, { ...move, over: true }) } : {};
  changes.event(job, { kind: 'job.unmoved', job: job.id, version: job.version, by, ...demand });
  return null;
}
