// Jobs, members, runs and what was used, as people see them.
import { type ArrayState, type JobId, type NodeId, parseMemberId, runId } from '@muster/model';
import type { JobQuery, JobRow, MemberQuery, RunRow, UsageQuery, UsageRow } from '@muster/store';
import { type JobColumns, jobRow, rowlessMemberRow } from '@muster/store/rules';
import type { MemoryDatabase } from './database.ts';
import { covers } from './identity.ts';
import { byId, type StoredJob } from './tables.ts';

export function job(database: MemoryDatabase, id: JobId): JobRow | null {
  const row = database.tables.jobs.get(id);
  if (row) return jobRow(columnsOf(database, row));
  const member = parseMemberId(id);
  const array = member && database.tables.jobs.get(member.array);
  return array ? rowlessMemberRow(columnsOf(database, array), id) : null;
}

function columnsOf(database: MemoryDatabase, row: StoredJob): JobColumns {
  const { tables } = database;
  const { id, state, version, submittedBy, submittedMs, startedMs, entry, estimate } = row;
  const run = 'run' in state ? tables.runs.get(state.run) : undefined;
  return {
    id,
    spec: tables.specOf(row),
    state,
    version,
    submittedBy,
    submittedMs,
    startedMs,
    estimate,
    entry,
    verdict: toldVerdict(database, row),
    backsOff: state.state === 'queued' && 'notBeforeMs' in state && state.notBeforeMs > database.nowMs(),
    arrayState: row.memberOf ? (tables.jobs.get(row.memberOf)?.state as ArrayState) : null,
    halt: run && run.state.state !== 'ended' ? run.halt : null,
    unheardSinceMs: run?.state.state === 'unknown' ? run.state.sinceMs : null,
    deviceMilli: run
      ? run.tasks.reduce((sum, task) => sum + task.devices.length * task.deviceMilli, 0)
      : null,
  };
}

/** A verdict stays with its entry after its last job has left: only jobs that waited already when it was told are shown it. */
function toldVerdict({ tables }: MemoryDatabase, { state, entry }: StoredJob): JobRow['verdict'] {
  const waits =
    state.state === 'queued' || (state.state === 'running' && 'waiting' in state && state.waiting.length > 0);
  const told = tables.entries.get(entry);
  if (!waits || !told || !('sinceMs' in state)) return null;
  const sinceMs = Math.max(state.sinceMs, 'notBeforeMs' in state ? state.notBeforeMs : 0);
  return told.seenMs >= sinceMs ? told.verdict : null;
}

export function jobs(database: MemoryDatabase, query: JobQuery): readonly JobRow[] {
  const rows = byId(database.tables.jobs.values()).reverse();
  const found = rows.filter(
    (row) =>
      row.memberOf === null &&
      covers(query.scope, row.project) &&
      (query.project === null || row.project === query.project) &&
      (query.states === null || query.states.includes(row.state.state)) &&
      (query.name === null || row.name === query.name) &&
      (query.submittedBy === null || row.submittedBy === query.submittedBy) &&
      (query.before === null || row.id < query.before),
  );
  return found.slice(0, query.limit).map((row) => jobRow(columnsOf(database, row)));
}

export function jobsOn(database: MemoryDatabase, nodes: readonly NodeId[]): readonly JobRow[] {
  const { tables } = database;
  const wanted = new Set(nodes);
  const found = [...tables.liveRuns.values()].filter(({ tasks }) =>
    tasks.some(({ node, state }) => wanted.has(node) && state.state !== 'ended'),
  );
  const rows = [...new Set(found.map((run) => run.job))].flatMap((id) => tables.jobs.get(id) ?? []);
  return byId(rows).map((row) => jobRow(columnsOf(database, row)));
}

export function members(database: MemoryDatabase, query: MemberQuery): readonly JobRow[] {
  const rows = [...(database.tables.members.get(query.array) ?? [])].sort(([a], [b]) => a - b);
  return rows
    .filter(([index]) => index > query.after)
    .map(([, row]) => row)
    .filter(({ state }) => query.states === null || query.states.includes(state.state))
    .filter(({ state }) => query.outcome === null || outcomeOf(state) === query.outcome)
    .slice(0, query.limit)
    .map((row) => jobRow(columnsOf(database, row)));
}

function outcomeOf(state: StoredJob['state']): string | null {
  return state.state === 'ended' ? state.result.outcome : null;
}

/** Attempts count from 1, and every one of them has a row. */
export function runs({ tables }: MemoryDatabase, id: JobId): readonly RunRow[] {
  const rows: RunRow[] = [];
  for (let attempt = 1; ; attempt++) {
    const row = tables.runs.get(runId(id, attempt));
    if (!row) return rows;
    const { job: of, epoch, state, plannedMs, port, checkpoint, halt } = row;
    const tasks = row.tasks.map(({ state: taskState, ...placement }) => {
      const nodeName = tables.nodes.get(placement.node)?.name ?? placement.node;
      return { placement, nodeName, state: taskState };
    });
    rows.push({ id: row.id, job: of, attempt, epoch, state, plannedMs, port, checkpoint, halt, tasks });
  }
}

/** Amounts times milliseconds of every run in the period. */
export function usage(
  { tables }: MemoryDatabase,
  { scope, fromMs, untilMs }: UsageQuery,
): readonly UsageRow[] {
  const sums = new Map<
    string,
    { row: Omit<UsageRow, 'unitHoursMilli' | 'runs'>; sum: number; runs: number }
  >();
  for (const run of tables.runs.values()) {
    const of = tables.jobs.get(run.job);
    const endedMs = run.state.state === 'ended' ? run.state.endedMs : untilMs;
    if (!of || !covers(scope, of.project) || run.plannedMs >= untilMs) continue;
    if (run.state.state === 'ended' && endedMs <= fromMs) continue;
    const forMs = Math.min(endedMs, untilMs) - Math.max(run.plannedMs, fromMs);
    for (const [key, amount] of Object.entries(run.uses)) {
      const row = { project: of.project, user: of.submittedBy, tier: of.tier, key };
      const name = JSON.stringify(row);
      const sum = sums.get(name) ?? { row, sum: 0, runs: 0 };
      sums.set(name, { row, sum: sum.sum + amount * forMs, runs: sum.runs + 1 });
    }
  }
  return [...sums.values()]
    .map(({ row, sum, runs: count }) => ({ ...row, unitHoursMilli: Math.floor(sum / 3600), runs: count }))
    .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

function sortKey({ project, user, tier, key }: UsageRow): string {
  return [project, user, tier, key].join('\0');
}
