// A job of ours as Slurm lists it, for tests: it runs, and was submitted at 100.
import type { RunId } from '@muster/model';
import type { SlurmJob } from '../listing.ts';

export function slurmJob(run: RunId, more: Partial<SlurmJob> = {}): SlurmJob {
  return {
    id: 7,
    name: run,
    comment: `${run} ours`,
    state: 'RUNNING',
    phase: 'holds',
    reason: 'None',
    submittedS: 100,
    eligibleS: 100,
    restarts: 0,
    endS: 0,
    partOf: null,
    user: 'muster',
    uses: [],
    ...more,
  };
}
