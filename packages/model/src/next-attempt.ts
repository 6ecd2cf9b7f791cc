// Whether a job has another attempt once its present run is over: what can no longer write is refused by the next one, and where there is
// none, by nobody.
import type { JobSpec } from './job-spec.ts';
import type { JobState } from './job-state.ts';
import { afterRun } from './outcome.ts';
import type { RunState } from './run-state.ts';

/** Nobody has cancelled it, and what its run is being stopped for does not end it either. */
export function hasNextAttempt(job: JobState, run: RunState, retry: JobSpec['retry']): boolean {
  if (job.state !== 'starting' && job.state !== 'running') return false;
  const stop = run.state === 'stopping' || run.state === 'unknown' ? run.stop : null;
  return stop === null || afterRun(retry, job.failures, job.avoid, stop.result).kind === 'retry';
}
