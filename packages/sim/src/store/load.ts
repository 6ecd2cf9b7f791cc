// Rows as the rules see them: copies of jobs, their present runs and tasks, changed by the rules and written back by apply.ts.
import {
  type ArrayState,
  type IndexRange,
  type JobId,
  type JobState,
  type NodeId,
  parseRunId,
  type RunId,
  submittedJob,
} from '@muster/model';
import type { ArrayRecord, JobRecord, Loaded, Locked, RunRecord, TaskRecord } from '@muster/store/rules';
import { byId, type StoredJob, type StoredNode, type StoredRun, type Tables } from './tables.ts';

/** The jobs, and the arrays of those that are members. */
export function loadJobs(tables: Tables, ids: Iterable<JobId>): Locked {
  const wanted = new Set<JobId>();
  for (const id of ids) wanted.add(id).add(submittedJob(id));
  const rows = [...wanted].flatMap((id) => tables.jobs.get(id) ?? []);
  return recordsOf(tables, byId(rows), new Map());
}

/** The members of an array that have a row and have not ended. */
export function loadMembers(
  tables: Tables,
  array: ArrayRecord,
  [first, last]: IndexRange,
): Map<JobId, JobRecord> {
  const rows = [...(tables.members.get(array.id) ?? [])]
    .filter(([index, row]) => index >= first && index <= last && row.state.state !== 'ended')
    .map(([, row]) => row);
  return recordsOf(tables, byId(rows), new Map([[array.id, array]])).jobs;
}

function recordsOf(
  tables: Tables,
  rows: readonly StoredJob[],
  known: ReadonlyMap<JobId, ArrayRecord>,
): Locked {
  const arrays = new Map(known);
  for (const row of rows) {
    const size = row.spec?.array;
    if (size) arrays.set(row.id, { ...termsOf(tables, row), size, state: row.state as ArrayState });
  }
  const jobs = new Map<JobId, JobRecord>();
  for (const row of rows) {
    if (row.spec?.array) continue;
    const array = row.memberOf === null ? null : (arrays.get(row.memberOf) ?? null);
    jobs.set(row.id, { ...termsOf(tables, row), array, fresh: false, state: row.state as JobState });
  }
  return { jobs, arrays };
}

function termsOf(tables: Tables, row: StoredJob) {
  const { id, project, version, startedMs } = row;
  const { retry, stop, checkpoint, fenced = false } = tables.specOf(row);
  return { id, project, version, startedMs, retry, stop, checkpoint, fenced };
}

/** The jobs of these runs, with those of the runs that are not over. */
export function loadWithRuns(tables: Tables, runs: Iterable<RunId>): Loaded {
  const wanted = [...new Set(runs)];
  const locked = loadJobs(
    tables,
    wanted.flatMap((run) => parseRunId(run)?.job ?? []),
  );
  return { ...locked, runs: loadRuns(tables, locked.jobs, wanted) };
}

export function loadRuns(
  tables: Tables,
  jobs: ReadonlyMap<JobId, JobRecord>,
  ids: readonly RunId[],
): ReadonlyMap<RunId, RunRecord> {
  const runs = new Map<RunId, RunRecord>();
  for (const row of byId(ids.flatMap((id) => tables.liveRuns.get(id) ?? []))) {
    const job = jobs.get(row.job);
    if (job) runs.set(row.id, recordOf(tables, row, job));
  }
  return runs;
}

function recordOf(tables: Tables, row: StoredRun, job: JobRecord): RunRecord {
  const { id, attempt, exclusive, port, uses, stopAfterMs, state, checkpoint, checkpointMs, halt } = row;
  const tasks = row.tasks.map((task): TaskRecord => {
    const start = tables.outboxRow(id, task.node, 'start');
    return {
      ...task,
      start: start && { id: start.id, attemptedSession: start.attemptedSession },
      changed: false,
    };
  });
  return {
    id,
    job,
    attempt,
    exclusive,
    port,
    uses,
    stopAfterMs,
    state,
    checkpoint,
    checkpointMs,
    halt,
    tasks,
    changed: false,
  };
}

/** The present runs of these jobs. */
export function placedRuns(tables: Tables, jobs: Iterable<JobRecord>): ReadonlyMap<RunId, RunRecord> {
  const all = [...jobs];
  const placed = all.flatMap(({ state }) => ('run' in state ? [state.run] : []));
  return loadRuns(tables, new Map(all.map((job) => [job.id, job])), placed);
}

export interface LoadedNodes {
  readonly nodes: ReadonlyMap<NodeId, StoredNode>;
  readonly runs: ReadonlyMap<RunId, RunRecord>;
  /** Live runs by node. */
  runsOn(node: NodeId): readonly RunRecord[];
}

/** Nodes with every run that has a task on them that is not over, and `also` these runs. */
export function loadNodes(tables: Tables, ids: readonly NodeId[], also: readonly RunId[] = []): LoadedNodes {
  const wanted = new Set(ids);
  const live = [...tables.liveRuns.values()].filter(({ tasks }) =>
    tasks.some((task) => wanted.has(task.node) && task.state.state !== 'ended'),
  );
  const { runs } = loadWithRuns(tables, [...live.map(({ id }) => id), ...also]);
  const runsOn = (node: NodeId) =>
    [...runs.values()].filter(({ tasks }) => tasks.some((task) => task.node === node));
  return { nodes: tables.nodes, runs, runsOn };
}
