// Reading the log, and the snapshot an engine starts from.
import {
  type ArraySize,
  type EngineRows,
  type Inventory,
  type JobDemand,
  type JobId,
  type JobSpec,
  jobDemand,
  type LiveRun,
  type LogEvent,
  type NodeFacts,
  type Policy,
  parseMemberId,
  type RunId,
  type RunState,
  submittedJob,
  type TaskPlacement,
} from '@muster/model';
import type { ClaimRow, EventQuery, LogHead } from '../contract.ts';
import type { Database, Reader } from '../database.ts';
import { type EventRow, eventColumns, readHead, toLogEvent } from '../event-log.ts';
import { stopOf } from '../rules/run-rules.ts';
import { loadUsage } from './usage.ts';

const since = {
  name: 'events-since',
  text: `SELECT ${eventColumns} FROM event WHERE sequence > $1 ORDER BY sequence LIMIT $2`,
};

export async function eventsSince(database: Database, sequence: number, limit: number): Promise<LogEvent[]> {
  return (await database.query<EventRow>(since, [sequence, limit])).map(toLogEvent);
}

const headText = {
  name: 'log-head',
  text: `
SELECT log_id AS "logId", sequence, greatest(1, (SELECT min(first) FROM event_partition)) AS first FROM log_head`,
};

export async function head(database: Database): Promise<LogHead> {
  const [row] = await database.query<LogHead>(headText);
  return row as LogHead;
}

const inScope = `($2::text IS NULL OR project = $2 OR starts_with(project, $2 || '/'))`;
const everything = {
  name: 'events',
  text: `SELECT ${eventColumns} FROM event WHERE sequence > $1 AND ${inScope} ORDER BY sequence LIMIT $3`,
};
const ofJob = {
  name: 'events-of-job',
  text: `
SELECT ${eventColumns} FROM event WHERE job = $4 AND sequence > $1 AND ${inScope}
  AND ($5::text IS NULL OR body ->> 'job' = $5) ORDER BY sequence LIMIT $3`,
};

export async function events(database: Database, query: EventQuery): Promise<LogEvent[]> {
  const { after, scope, limit, job } = query;
  const rows = await (job === null
    ? database.query<EventRow>(everything, [after, scope, limit])
    : database.query<EventRow>(ofJob, [after, scope, limit, submittedJob(job), parseMemberId(job) && job]));
  return rows.map(toLogEvent);
}

// Under an array, claims of its other members are among them.
const claimsOf = {
  name: 'claims-of-job',
  text: `
SELECT at_ms AS "atMs", body #> '{claim,victims}' AS victims FROM event
WHERE job = $1 AND kind = 'job.claimed' AND body ->> 'job' = $2 ORDER BY sequence DESC LIMIT $3`,
};

export async function claims(database: Database, job: JobId, limit: number): Promise<ClaimRow[]> {
  const rows = await database.query<ClaimRow>(claimsOf, [submittedJob(job), job, limit]);
  return rows.reverse();
}

/** Everything an engine needs, at one moment. */
export async function loadEngine(database: Database): Promise<EngineRows> {
  return database.snapshot(async (reader) => {
    const sequence = await readHead(reader);
    const [policy] = await reader.query<{ version: number; policy: Policy }>(latestPolicy);
    const nodes = await loadNodes(reader);
    const { arrays, jobs } = await loadJobs(reader);
    const runs = await loadRunFacts(reader);
    const usage = await loadUsage(reader);
    if (!policy) throw new Error('there is no policy');
    return {
      sequence,
      policyVersion: policy.version,
      policy: policy.policy,
      nodes,
      arrays,
      jobs,
      runs,
      usage,
    };
  });
}

export const latestPolicy = {
  name: 'latest-policy',
  text: 'SELECT version, policy FROM policy ORDER BY version DESC LIMIT 1',
};

const nodeRows = {
  name: 'engine-nodes',
  text: `
SELECT id AS node, name, cluster, pool, generation, i.inventory, state_name AS state, drain,
  trust_milli AS "trustMilli"
FROM node JOIN inventory i ON i.node = node.id WHERE state_name <> 'removed' ORDER BY id`,
};

function loadNodes(reader: Reader): Promise<NodeFacts[]> {
  return reader.query<NodeFacts & { inventory: Inventory }>(nodeRows);
}

// The demand is kept once for all jobs of an entry; a job whose entry retention has removed brings its spec instead. In
// pages, because a million rows in one answer would keep this process from everything else.
const pageRows = 20_000;
const jobRows = {
  name: 'engine-jobs',
  text: `
SELECT id AS job, version, name, project, tier, priority, submitted_by AS "user", duration_ms AS "durationMs",
  deadline_ms AS "deadlineMs", expected_ms AS "expectedMs", p90_ms AS "p90Ms", entry, submitted_ms AS "submittedMs", state,
  submitted_sequence AS "submittedSequence",
  spec -> 'array' AS "array",
  coalesce(spec -> 'restoreMs', (SELECT a.spec -> 'restoreMs' FROM job a WHERE a.id = job.member_of)) AS "restoreMs",
  CASE WHEN NOT EXISTS (SELECT FROM entry e WHERE e.hash = job.entry AND e.demand IS NOT NULL)
    THEN coalesce(spec, (SELECT a.spec FROM job a WHERE a.id = job.member_of)) END AS spec
FROM job WHERE ended_ms IS NULL AND id > $1 ORDER BY id LIMIT ${pageRows}`,
};
const entryRows = { name: 'engine-entries', text: 'SELECT hash, demand FROM entry WHERE demand IS NOT NULL' };

type EngineJob = EngineRows['jobs'][number];
type EngineArray = EngineRows['arrays'][number];
type JobRow = Omit<EngineJob, 'demand' | 'array' | 'state' | 'restoreMs'> & {
  readonly restoreMs: number | null;
  readonly array: ArraySize | null;
  readonly expectedMs: number | null;
  readonly p90Ms: number | null;
  readonly state: (EngineJob | EngineArray)['state'];
  readonly entry: string;
  readonly spec: JobSpec | null;
};

/** In the order of submission. */
async function loadJobs(reader: Reader): Promise<Pick<EngineRows, 'arrays' | 'jobs'>> {
  const entries = await reader.query<{ hash: string; demand: JobDemand }>(entryRows);
  const demands = new Map(entries.map(({ hash, demand }) => [hash, demand]));
  const jobs: EngineJob[] = [];
  const arrays: EngineArray[] = [];
  for (let after = '', full = true; full; ) {
    const rows = await reader.query<JobRow>(jobRows, [after]);
    for (const { entry, spec, array, state, expectedMs, p90Ms, restoreMs, ...known } of rows) {
      const job = {
        ...known,
        ...(expectedMs !== null && { estimate: { expectedMs, p90Ms: p90Ms! } }),
        ...(restoreMs !== null && { restoreMs }),
      };
      const demand = demands.get(entry) ?? (spec && jobDemand(spec));
      if (!demand) throw new Error(`job ${job.job} has no demand`);
      if (array) arrays.push({ ...job, demand, array, state: state as EngineArray['state'] });
      else jobs.push({ ...job, demand, state: state as EngineJob['state'] });
    }
    after = rows.at(-1)?.job ?? after;
    full = rows.length === pageRows;
  }
  return { arrays, jobs: jobs.sort((a, b) => a.submittedSequence - b.submittedSequence) };
}

const runRows = {
  name: 'engine-runs',
  text: `
SELECT id AS run, job, attempt, exclusive, port, uses, state, planned_ms AS "plannedMs", checkpoint_ms AS "checkpointMs"
FROM run WHERE ended_ms IS NULL AND id > $1 ORDER BY id LIMIT ${pageRows}`,
};
const taskRows = {
  name: 'engine-tasks',
  text: `
SELECT run, rank, group_index AS "group", node, cpu_milli AS "cpuMilli", memory_mib AS "memoryMib", devices,
  device_milli AS "deviceMilli"
FROM task WHERE run = ANY ($1::text[]) ORDER BY run, rank`,
};

type RunRow = Omit<LiveRun, 'tasks' | 'startedMs' | 'stopping'> & { readonly state: RunState };

async function loadRunFacts(reader: Reader): Promise<LiveRun[]> {
  const facts: LiveRun[] = [];
  for (let after = '', full = true; full; ) {
    const runs = await reader.query<RunRow>(runRows, [after]);
    const tasks = await reader.query<TaskPlacement & { run: RunId }>(taskRows, [runs.map((row) => row.run)]);
    const byRun = Map.groupBy(tasks, (task) => task.run);
    for (const { state, ...run } of runs)
      facts.push({
        ...run,
        startedMs: 'startedMs' in state ? state.startedMs : null,
        stopping: stopOf(state) !== null,
        tasks: (byRun.get(run.run) ?? []).map(({ run: _, ...task }) => task),
      });
    after = runs.at(-1)?.run ?? after;
    full = runs.length === pageRows;
  }
  return facts;
}
