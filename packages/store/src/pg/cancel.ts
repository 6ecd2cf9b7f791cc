// Cancel, hold and release of one job by a person.
import type { JobId, JobRefusal, JobState } from '@muster/model';
import type { ChangeRefusal, Outcome } from '../contract.ts';
import type { Database } from '../database.ts';
import { cancelJob, holdJob, releaseJob } from '../rules/cancel-rules.ts';
import { Changes } from '../rules/records.ts';
import { applyChanges } from './apply.ts';
import { loadRuns, lockJobs } from './load.ts';

type Change = 'cancel' | 'hold' | 'release';

export async function changeJob(
  database: Database,
  change: Change,
  id: JobId,
  by: string,
  versions: readonly number[] | undefined,
): Promise<Outcome<JobState, ChangeRefusal | JobRefusal>> {
  const { value, sequence } = await database.write<JobState | ChangeRefusal | JobRefusal>(
    async (tx) => {
      const jobs = await lockJobs(tx, [id]);
      const job = jobs.get(id);
      if (!job) return 'not-found';
      if (versions && !versions.includes(job.version)) return 'stale-version';
      const changes = new Changes(tx.nowMs);
      if (change === 'cancel') {
        const run = 'run' in job.state ? job.state.run : null;
        const runs = await loadRuns(tx, jobs, run === null ? [] : [run]);
        cancelJob(changes, job, run === null ? null : (runs.get(run) ?? null), by);
      } else {
        const refusal = change === 'hold' ? holdJob(changes, job, by) : releaseJob(changes, job, by);
        if (refusal !== null) return refusal;
      }
      await applyChanges(tx, changes);
      return job.state;
    },
    { fenced: true },
  );
  return typeof value === 'string'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}
