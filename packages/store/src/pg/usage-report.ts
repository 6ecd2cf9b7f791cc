// What was used in a period, from the runs themselves: as far back as ended runs are kept.
import type { UsageQuery, UsageRow } from '../contract.ts';
import type { Database } from '../database.ts';

const between = {
  name: 'usage-between',
  text: `
SELECT job.project, job.submitted_by AS "user", job.tier, u.key,
  floor(sum(u.value::numeric * (least(coalesce(run.ended_ms, $3), $3) - greatest(run.planned_ms, $2))) / 3600)::bigint
    AS "unitHoursMilli",
  count(*)::int AS runs
FROM run JOIN job ON job.id = run.job, jsonb_each_text(run.uses) AS u (key, value)
WHERE run.planned_ms < $3 AND (run.ended_ms IS NULL OR run.ended_ms > $2)
  AND ($1::text IS NULL OR job.project = $1 OR starts_with(job.project, $1 || '/'))
GROUP BY job.project, job.submitted_by, job.tier, u.key ORDER BY job.project, job.submitted_by, job.tier, u.key`,
};

export function usageBetween(
  database: Database,
  { scope, fromMs, untilMs }: UsageQuery,
): Promise<UsageRow[]> {
  return database.query<UsageRow>(between, [scope, fromMs, untilMs]);
}
