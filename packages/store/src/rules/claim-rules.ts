// A claim is given with its victims' stops in one transaction, and given up when its job is cancelled or held, or when the
// engine finds that it can no longer be had. Claims are not capacity: what they name is still sold to the victims, and the
// start that uses a claim is an ordinary one.
import {
  type JobId,
  type PreemptUnit,
  preemptedResult,
  type Reason,
  type Right,
  type RunId,
  rightText,
} from '@muster/model';
import { stepJobRecord } from './job-rules.ts';
import type { Changes, JobRecord, RunRecord } from './records.ts';
import { stopRun } from './run-rules.ts';

/** A victim that has ended meanwhile only helps. */
export function claimJob(
  changes: Changes,
  job: JobRecord,
  unit: PreemptUnit,
  runs: ReadonlyMap<RunId, RunRecord>,
): void {
  for (const { run: id, right } of unit.claim.victims) {
    const run = runs.get(id);
    if (run) preemptRun(changes, run, job, right);
  }
  stepJobRecord(changes, job, { kind: 'claim', claim: unit.claim });
  const { version } = job;
  changes.event(job, { kind: 'job.claimed', job: job.id, version, run: unit.run, claim: unit.claim });
}

function preemptRun(changes: Changes, run: RunRecord, { id, project }: JobRecord, right: Right): void {
  const message = `preempted for ${id} of project ${project}, ${rightText[right]}`;
  const preemptor: JobId = id;
  stopRun(changes, run, preemptedResult(message), {
    code: 'preempted',
    message,
    class: 'preemption',
    preemptor,
  });
}

/** Gives the job's claim up, when it has one. */
export function unclaimJob(changes: Changes, job: JobRecord, reason: Reason): void {
  if (job.state.state !== 'queued' || job.state.claim === null) return;
  stepJobRecord(changes, job, { kind: 'unclaim' });
  changes.event(job, { kind: 'job.unclaimed', job: job.id, version: job.version, reason });
}
