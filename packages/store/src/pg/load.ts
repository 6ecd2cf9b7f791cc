// Brings jobs, their present runs and tasks into memory for the rules, under the jobs' row locks. The run and task rows
// are read by later statements than the lock, because a statement sees what was committed when it began.
import {
  type ArraySize,
  type ArrayState,
  type IndexRange,
  type JobId,
  type JobState,
  type NodeId,
  parseRunId,
  type RunId,
  type RunState,
  submittedJob,
  type TaskState,
  type Uses,
} from '@muster/model';
import type { Reader } from '../database.ts';
import type {
  ArrayRecord,
  JobRecord,
  JobTerms,
  Loaded,
  Locked,
  RunRecord,
  TaskRecord,
} from '../rules/records.ts';

const jobColumns = `id, project, version, state, started_ms AS "startedMs", spec -> 'retry' AS retry, spec -> 'stop' AS stop,
  spec -> 'checkpoint' AS checkpoint, spec ? 'fenced' AS fenced, spec -> 'array' AS size, member_of AS "memberOf"`;

const lockJobsText = {
  name: 'lock-jobs',
  text: `
SELECT ${jobColumns} FROM job WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE`,
};
// Ids of members begin with their array's, and '[' is followed by '\' in byte order.
const lockMembersText = {
  name: 'lock-members',
  text: `
SELECT ${jobColumns} FROM job WHERE id >= $1 || '[' AND id < $1 || '\\' AND ended_ms IS NULL
  AND member_index BETWEEN $2 AND $3 ORDER BY id FOR NO KEY UPDATE`,
};

const loadRunsText = {
  name: 'load-runs',
  text: `
SELECT id, job, attempt, exclusive, port, uses, stop_after_ms AS "stopAfterMs", state, checkpoint,
  checkpoint_ms AS "checkpointMs", halt
FROM run WHERE id = ANY ($1::text[]) AND ended_ms IS NULL`,
};

const loadTasksText = {
  name: 'load-tasks',
  text: `
SELECT run, rank, group_index AS "group", node, cpu_milli AS "cpuMilli", memory_mib AS "memoryMib", devices,
  device_milli AS "deviceMilli", state
FROM task WHERE run = ANY ($1::text[]) ORDER BY run, rank`,
};

// Not joined to the tasks: statistics of a table that is empty most of the time make the planner compare every task with
// every row, and thousands of runs that end together took seconds.
const loadStartsText = {
  name: 'load-starts',
  text: `
SELECT id, run, node, attempted_session AS "attemptedSession"
FROM outbox WHERE run = ANY ($1::text[]) AND kind = 'start'`,
};

interface JobColumns extends JobTerms {
  readonly id: JobId;
  readonly version: number;
  readonly state: JobState | ArrayState;
  readonly startedMs: number | null;
  readonly size: ArraySize | null;
  readonly memberOf: JobId | null;
}

interface RunColumns {
  readonly id: RunId;
  readonly job: JobId;
  readonly attempt: number;
  readonly exclusive: boolean;
  readonly port: number;
  readonly uses: Uses;
  readonly stopAfterMs: number | null;
  readonly state: RunState;
  readonly checkpoint: RunRecord['checkpoint'];
  readonly checkpointMs: number | null;
  readonly halt: RunRecord['halt'];
}

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
}

interface StartColumns {
  readonly id: number;
  readonly run: RunId;
  readonly node: NodeId;
  readonly attemptedSession: string | null;
}

/** The jobs, and the arrays of those that are members. */
export async function lockJobs(reader: Reader, ids: Iterable<JobId>): Promise<Locked> {
  const wanted = new Set<JobId>();
  for (const id of ids) wanted.add(id).add(submittedJob(id));
  return recordsOf(await reader.query<JobColumns>(lockJobsText, [[...wanted]]), new Map());
}

/** The members of a locked array that have a row and have not ended. */
export async function lockMembers(
  reader: Reader,
  array: ArrayRecord,
  [first, last]: IndexRange,
): Promise<Map<JobId, JobRecord>> {
  const rows = await reader.query<JobColumns>(lockMembersText, [array.id, first, last]);
  return recordsOf(rows, new Map([[array.id, array]])).jobs;
}

function recordsOf(rows: readonly JobColumns[], known: ReadonlyMap<JobId, ArrayRecord>): Locked {
  const arrays = new Map(known);
  for (const { memberOf: _, size, state, ...row } of rows)
    if (size) arrays.set(row.id, { ...row, size, state: state as ArrayState });
  const jobs = new Map<JobId, JobRecord>();
  for (const { memberOf, size, state, ...row } of rows) {
    if (size) continue;
    const array = memberOf === null ? null : (arrays.get(memberOf) ?? null);
    const { retry, stop, checkpoint, fenced } = array ?? row;
    const record = { ...row, retry, stop, checkpoint, fenced, array, fresh: false, state: state as JobState };
    jobs.set(row.id, record);
  }
  return { jobs, arrays };
}

/** The jobs of these runs, locked, with those of the runs that are not over. */
export async function lockRuns(reader: Reader, runs: Iterable<RunId>): Promise<Loaded> {
  const wanted = [...new Set(runs)];
  const locked = await lockJobs(
    reader,
    wanted.flatMap((run) => parseRunId(run)?.job ?? []),
  );
  return { ...locked, runs: await loadRuns(reader, locked.jobs, wanted) };
}

/** `jobs` are locked. */
export async function loadRuns(
  reader: Reader,
  jobs: ReadonlyMap<JobId, JobRecord>,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, RunRecord>> {
  if (ids.length === 0) return new Map();
  const [runRows, taskRows, startRows] = await Promise.all([
    reader.query<RunColumns>(loadRunsText, [ids]),
    reader.query<TaskColumns>(loadTasksText, [ids]),
    reader.query<StartColumns>(loadStartsText, [ids]),
  ]);
  const starts = new Map(startRows.map((row) => [`${row.run} ${row.node}`, row]));
  const tasks = Map.groupBy(taskRows, (row) => row.run);
  const runs = new Map<RunId, RunRecord>();
  for (const row of runRows) {
    const job = jobs.get(row.job);
    if (job)
      runs.set(row.id, {
        ...row,
        job,
        tasks: (tasks.get(row.id) ?? []).map((task) => taskRecord(task, starts)),
        changed: false,
      });
  }
  return runs;
}

function taskRecord({ run, ...task }: TaskColumns, starts: ReadonlyMap<string, StartColumns>): TaskRecord {
  const row = starts.get(`${run} ${task.node}`);
  const start = row ? { id: row.id, attemptedSession: row.attemptedSession } : null;
  return { ...task, start, changed: false };
}

const liveRunsText = {
  name: 'live-runs-of-nodes',
  text: 'SELECT DISTINCT run FROM task WHERE node = ANY ($1::text[]) AND NOT over',
};

/** Runs with a task on these nodes that is not over. Complete only while the nodes' rows are locked. */
export async function liveRuns(reader: Reader, nodes: readonly NodeId[]): Promise<RunId[]> {
  const rows = await reader.query<{ run: RunId }>(liveRunsText, [nodes]);
  return rows.map((row) => row.run);
}
