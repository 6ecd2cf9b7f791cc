// Jobs and runs as people see them. A verdict is told to an entry when it changes and stays there after its last job has
// left, so it is shown only to jobs that waited already when it was told.
import {
  type JobId,
  type NodeId,
  parseMemberId,
  type RunId,
  type RunState,
  runPrefix,
  type TaskState,
} from '@muster/model';
import type { JobQuery, JobRow, MemberQuery, RunRow } from '../contract.ts';
import type { Database } from '../database.ts';
import { type JobColumns, jobRow, rowlessMemberRow } from '../rules/job-view.ts';

const jobColumns = `
SELECT job.id, coalesce(job.spec, a.spec) AS spec, job.state, job.version, job.submitted_by AS "submittedBy", job.submitted_ms AS "submittedMs",
  job.started_ms AS "startedMs", job.entry,
  CASE WHEN job.expected_ms IS NOT NULL THEN jsonb_build_object('expectedMs', job.expected_ms, 'p90Ms', job.p90_ms) END AS estimate,
  CASE WHEN (job.state_name = 'queued' OR (job.state_name = 'running' AND job.state -> 'waiting' <> '[]')) AND entry.seen_ms >= greatest((job.state -> 'sinceMs')::bigint, (job.state -> 'notBeforeMs')::bigint)
    THEN entry.verdict END AS verdict,
  job.state_name = 'queued' AND (job.state -> 'notBeforeMs')::bigint > now_ms() AS "backsOff",
  a.state AS "arrayState",
  (SELECT (run.state -> 'sinceMs')::bigint FROM run WHERE run.id = job.state ->> 'run' AND run.state_name = 'unknown') AS "unheardSinceMs",
  (SELECT run.halt FROM run WHERE run.id = job.state ->> 'run' AND run.ended_ms IS NULL) AS halt,
  (SELECT sum(cardinality(task.devices) * task.device_milli) FROM task WHERE task.run = job.state ->> 'run') AS "deviceMilli"
FROM job LEFT JOIN entry ON entry.hash = job.entry LEFT JOIN job a ON a.id = job.member_of`;

const one = { name: 'job', text: `${jobColumns} WHERE job.id = $1` };

export async function job(database: Database, id: JobId): Promise<JobRow | null> {
  const [row] = await database.query<JobColumns>(one, [id]);
  if (row) return jobRow(row);
  // A member that never started is known to its array only.
  const member = parseMemberId(id);
  const [array] = member ? await database.query<JobColumns>(one, [member.array]) : [];
  return array ? rowlessMemberRow(array, id) : null;
}

const membersOf = {
  name: 'members',
  text: `${jobColumns}
WHERE job.member_of = $1 AND job.member_index > $2 AND ($3::text[] IS NULL OR job.state_name = ANY ($3::text[]))
  AND ($4::text IS NULL OR job.state -> 'result' ->> 'outcome' = $4)
ORDER BY job.member_index LIMIT $5`,
};

export async function members(database: Database, query: MemberQuery): Promise<readonly JobRow[]> {
  const { array, after, states, outcome, limit } = query;
  return (await database.query<JobColumns>(membersOf, [array, after, states, outcome, limit])).map(jobRow);
}

/** Newest first. Each filter that is asked for is its own condition, so that the planner sees which index helps. */
export async function jobs(database: Database, query: JobQuery): Promise<readonly JobRow[]> {
  const values: unknown[] = [];
  const conditions: string[] = ['job.member_of IS NULL'];
  const where = (condition: (parameter: string) => string, value: unknown) => {
    if (value === null) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  where((p) => `(job.project = ${p} OR starts_with(job.project, ${p} || '/'))`, query.scope);
  where((p) => `job.project = ${p}`, query.project);
  where((p) => `job.state_name = ANY (${p}::text[])`, query.states);
  if (query.states && !query.states.includes('ended')) conditions.push('job.ended_ms IS NULL');
  where((p) => `job.name = ${p}`, query.name);
  where((p) => `job.submitted_by = ${p}`, query.submittedBy);
  where((p) => `job.id < ${p}`, query.before);
  values.push(query.limit);
  const filter = `WHERE ${conditions.join(' AND ')}`;
  const rows = await database.query<JobColumns>(
    { name: '', text: `${jobColumns} ${filter} ORDER BY job.id DESC LIMIT $${values.length}` },
    values,
  );
  return rows.map(jobRow);
}

const onNodes = {
  name: 'jobs-on-nodes',
  text: `${jobColumns}
WHERE job.id IN (SELECT run.job FROM task JOIN run ON run.id = task.run WHERE task.node = ANY ($1::text[]) AND NOT task.over)
ORDER BY job.id`,
};

export async function jobsOn(database: Database, nodes: readonly NodeId[]): Promise<readonly JobRow[]> {
  return (await database.query<JobColumns>(onNodes, [nodes])).map(jobRow);
}

const byKey = {
  name: 'job-by-key',
  text: 'SELECT job FROM idempotency WHERE project = $1 AND principal = $2 AND key = $3',
};

export async function jobByKey(
  database: Database,
  project: string,
  principal: string,
  key: string,
): Promise<JobId | null> {
  const [row] = await database.query<{ job: JobId }>(byKey, [project, principal, key]);
  return row?.job ?? null;
}

// Run ids begin with their job's, so that the primary key finds them; '_' is followed by ':' in byte order after digits.
const runsOf = {
  name: 'runs-of-job',
  text: `
SELECT id, job, attempt, epoch, state, planned_ms AS "plannedMs", port, checkpoint, halt FROM run
WHERE id >= $1 AND id < $2 AND job = $3 ORDER BY attempt`,
};
const tasksOf = {
  name: 'tasks-of-job',
  text: `
SELECT t.run, t.rank, t.group_index AS "group", t.node, t.cpu_milli AS "cpuMilli", t.memory_mib AS "memoryMib",
  t.devices, t.device_milli AS "deviceMilli", t.state, coalesce(n.name, t.node) AS "nodeName"
FROM task t LEFT JOIN node n ON n.id = t.node WHERE t.run >= $1 AND t.run < $2 ORDER BY t.run, t.rank`,
};

interface TaskColumns {
  readonly run: RunId;
  readonly rank: number;
  readonly group: number;
  readonly node: NodeId;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly devices: number[];
  readonly deviceMilli: number;
  readonly state: TaskState;
  readonly nodeName: string;
}

export async function runs(database: Database, id: JobId): Promise<readonly RunRow[]> {
  const prefix = runPrefix(id);
  const range = [prefix, `${prefix}:`];
  type Run = Omit<RunRow, 'tasks'> & { readonly state: RunState };
  const [rows, tasks] = await database.snapshot((reader) =>
    Promise.all([reader.query<Run>(runsOf, [...range, id]), reader.query<TaskColumns>(tasksOf, range)]),
  );
  const byRun = Map.groupBy(tasks, (task) => task.run);
  return rows.map((row) => ({
    ...row,
    tasks: (byRun.get(row.id) ?? []).map(({ run: _, nodeName, state, ...placement }) => ({
      placement,
      nodeName,
      state,
    })),
  }));
}
