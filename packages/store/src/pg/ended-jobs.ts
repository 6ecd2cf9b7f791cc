// Jobs that came to an end by themselves, for whoever learns how long jobs run. A job that was stopped for another and went on
// counts with the time of all its runs. Members of arrays are not among them: no index has their ends.
import type { JobSpec, RunEstimate } from '@muster/model';
import type { EndedJob, EndedPlace } from '../contract.ts';
import type { Database } from '../database.ts';

// A run's id begins with its job's, so that the primary key finds it. `cancelled` and infrastructure say nothing about the work.
const columns = `
SELECT job.id, job.spec, job.submitted_by AS "user", job.ended_ms AS "endedMs", job.expected_ms AS "expectedMs", job.p90_ms AS "p90Ms",
  (SELECT sum(run.ended_ms - (run.state ->> 'startedMs')::bigint) FROM run
   WHERE run.id >= 'run_' || substr(job.id, 5) || '_' AND run.id < 'run_' || substr(job.id, 5) || '_:') AS "ranMs"
FROM job
WHERE job.ended_ms IS NOT NULL AND job.member_of IS NULL AND jsonb_typeof(job.spec -> 'array') IS DISTINCT FROM 'object'
  AND (job.state -> 'result' ->> 'outcome' = 'succeeded'
    OR job.state -> 'result' ->> 'class' IN ('user', 'out-of-memory', 'timeout'))`;

const newest = {
  name: 'newest-ended-jobs',
  text: `${columns} ORDER BY job.ended_ms DESC, job.id DESC LIMIT $1`,
};
const later = {
  name: 'later-ended-jobs',
  text: `${columns} AND (job.ended_ms, job.id) > ($2::bigint, $3) ORDER BY job.ended_ms, job.id LIMIT $1`,
};

interface EndedColumns extends EndedPlace {
  readonly spec: JobSpec;
  readonly user: string;
  readonly expectedMs: number | null;
  readonly p90Ms: number | null;
  readonly ranMs: number | null;
}

export async function endedJobs(
  database: Database,
  after: EndedPlace | null,
  limit: number,
): Promise<readonly EndedJob[]> {
  const rows = after
    ? await database.query<EndedColumns>(later, [limit, after.endedMs, after.id])
    : (await database.query<EndedColumns>(newest, [limit])).reverse();
  return rows.map(({ expectedMs, p90Ms, ranMs, ...row }) => ({
    ...row,
    ranMs: Number(ranMs ?? 0),
    estimate: expectedMs === null ? null : ({ expectedMs, p90Ms } as RunEstimate),
  }));
}
