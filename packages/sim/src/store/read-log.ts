// The log, decisions and snapshots, what an engine is loaded from, and what of all this is old enough to go.

import type { Decision, NodeFacts } from '@muster/model';
import {
  type EngineRows,
  type JobId,
  jobDemand,
  type LogEvent,
  parseMemberId,
  runId,
  submittedJob,
} from '@muster/model';
import type {
  ClaimRow,
  DecisionQuery,
  EventQuery,
  Outcome,
  Retained,
  Retention,
  SnapshotRow,
} from '@muster/store';
import { stopOf } from '@muster/store/rules';
import type { MemoryDatabase } from './database.ts';
import { covers } from './identity.ts';
import { byId, type StoredEvent, type StoredJob, type Tables } from './tables.ts';

export function eventsSince({ tables }: MemoryDatabase, sequence: number, limit: number): LogEvent[] {
  return tables.events.slice(sequence, sequence + limit).map(toLogEvent);
}

export function events({ tables }: MemoryDatabase, { scope, after, job, limit }: EventQuery): LogEvent[] {
  const found = tables.events.slice(after).filter((event) => {
    if (!covers(scope, event.project)) return false;
    if (job === null) return true;
    const { body } = event;
    return event.job === submittedJob(job) && (!parseMemberId(job) || ('job' in body && body.job === job));
  });
  return found.slice(0, limit).map(toLogEvent);
}

export function claims({ tables }: MemoryDatabase, job: JobId, limit: number): ClaimRow[] {
  const found = tables.events.flatMap(({ atMs, body }) =>
    body.kind === 'job.claimed' && body.job === job ? [{ atMs, victims: body.claim.victims }] : [],
  );
  return found.slice(-limit);
}

function toLogEvent({ sequence, atMs, body }: StoredEvent): LogEvent {
  return { sequence, atMs, body };
}

export function loadEngine({ tables }: MemoryDatabase): EngineRows {
  const { version: policyVersion, policy } = tables.policy();
  const open = byId(tables.jobs.values()).filter(({ state }) => state.state !== 'ended');
  const jobs = open
    .filter(({ spec }) => !spec?.array)
    .map((row) => jobFacts(tables, row) as unknown as EngineRows['jobs'][number]);
  const arrays = open
    .filter(({ spec }) => spec?.array)
    .map(
      (row) =>
        ({ ...jobFacts(tables, row), array: row.spec?.array }) as unknown as EngineRows['arrays'][number],
    );
  return {
    sequence: tables.events.length,
    policyVersion,
    policy,
    nodes: loadNodes(tables),
    arrays,
    jobs: jobs.sort((a, b) => a.submittedSequence - b.submittedSequence),
    runs: loadRuns(tables),
    usage: [...tables.usage.values()].sort((a, b) => (a.project < b.project ? -1 : 1)),
  };
}

function jobFacts(tables: Tables, row: StoredJob) {
  const {
    id,
    version,
    name,
    project,
    tier,
    priority,
    durationMs,
    deadlineMs,
    estimate,
    submittedMs,
    submittedSequence,
  } = row;
  const demand = tables.entries.get(row.entry)?.demand ?? jobDemand(tables.specOf(row));
  const times = { durationMs, deadlineMs, submittedMs, submittedSequence };
  const { restoreMs } = tables.specOf(row);
  return {
    job: id,
    version,
    name,
    project,
    tier,
    priority,
    user: row.submittedBy,
    ...times,
    ...(estimate && { estimate }),
    ...(restoreMs !== undefined && { restoreMs }),
    demand,
    state: row.state,
  };
}

function loadNodes(tables: Tables): NodeFacts[] {
  return byId(tables.nodes.values()).flatMap((row) => {
    const { id, name, cluster, pool, generation, inventory, state, drain, trustMilli } = row;
    if (!inventory || state.state === 'removed') return [];
    return [{ node: id, name, cluster, pool, generation, inventory, state: state.state, drain, trustMilli }];
  });
}

function loadRuns(tables: Tables): EngineRows['runs'] {
  return byId(tables.liveRuns.values()).map((row) => {
    const { id, job, attempt, exclusive, port, uses, state, plannedMs, checkpointMs } = row;
    return {
      run: id,
      job,
      attempt,
      exclusive,
      port,
      uses,
      plannedMs,
      checkpointMs,
      startedMs: 'startedMs' in state ? state.startedMs : null,
      stopping: stopOf(state) !== null,
      tasks: row.tasks.map(({ state: _, ...placement }) => placement),
    };
  });
}

export function decisions({ tables }: MemoryDatabase, query: DecisionQuery): readonly Decision[] {
  const { after, fromSequence, fromMs = 0, limit } = query;
  return tables.decisions
    .filter((row) => row.replayable && row.id > after && row.sequence >= fromSequence && row.nowMs >= fromMs)
    .slice(0, limit)
    .map(decisionOf);
}

export function lifeAt({ tables }: MemoryDatabase, sequence: number): Decision | null {
  const found = tables.decisions.filter(
    (row) => row.replayable && row.turn === 0 && row.sequence <= sequence,
  );
  const last = found.sort((a, b) => a.sequence - b.sequence || a.id - b.id).at(-1);
  return last ? decisionOf(last) : null;
}

function decisionOf({ replayable: _, committedMs: __, ...row }: Tables['decisions'][number]): Decision {
  return row;
}

export function saveSnapshot(
  database: MemoryDatabase,
  epoch: number,
  sequence: number,
  pieces: readonly string[],
  bytesMax: number,
): Outcome<SnapshotRow | null, 'stale-epoch' | 'too-large'> {
  const bytes = pieces.reduce((total, piece) => total + Buffer.byteLength(piece), 0);
  if (bytes > bytesMax) return { outcome: 'refused', refusal: 'too-large' };
  const { value, sequence: at } = database.write<SnapshotRow | null | 'stale-epoch'>((tx) => {
    if (tx.epoch !== epoch) return 'stale-epoch';
    if (tx.tables.snapshots.has(sequence)) return null;
    const row = { sequence, atMs: tx.nowMs, bytes };
    tx.tables.snapshots.set(sequence, { ...row, pieces });
    return row;
  });
  if (value === 'stale-epoch') return { outcome: 'refused', refusal: value };
  return { outcome: 'committed', sequence: at, value };
}

export function snapshots({ tables }: MemoryDatabase): readonly SnapshotRow[] {
  return [...tables.snapshots.values()]
    .map(({ sequence, atMs, bytes }) => ({ sequence, atMs, bytes }))
    .sort((a, b) => a.sequence - b.sequence);
}

const keyLifeMs = 7 * 86_400_000;

/** The log is one partition here, and never wholly old: no event goes. */
export function retain(
  database: MemoryDatabase,
  epoch: number,
  { jobsMs, auditMs, limit }: Retention,
): Outcome<Retained, 'stale-epoch'> {
  const { value, sequence } = database.write((tx) => {
    if (tx.epoch !== epoch) return null;
    const { tables, nowMs } = tx;
    const old = [...tables.jobs.values()]
      .filter(({ memberOf, state }) => memberOf === null && endedBefore(state, nowMs - jobsMs))
      .sort((a, b) => endedMsOf(a) - endedMsOf(b))
      .slice(0, limit);
    for (const { id } of old) removeJob(tables, id);
    for (const [name, key] of tables.keys)
      if (key.createdMs < nowMs - keyLifeMs && !tables.jobs.has(key.job)) tables.keys.delete(name);
    const kept = tables.audit.filter(({ atMs }) => atMs >= nowMs - auditMs);
    tables.audit.splice(0, tables.audit.length, ...kept);
    return { jobs: old.length, eventPartitions: 0 };
  });
  return value === null
    ? { outcome: 'refused', refusal: 'stale-epoch' }
    : { outcome: 'committed', sequence, value };
}

function endedBefore(state: StoredJob['state'], ms: number): boolean {
  return state.state === 'ended' && state.endedMs < ms;
}

function endedMsOf({ state }: StoredJob): number {
  return state.state === 'ended' ? state.endedMs : 0;
}

function removeJob(tables: Tables, id: JobId): void {
  const ids = [id, ...[...(tables.members.get(id)?.values() ?? [])].map((member) => member.id)];
  for (const one of ids) for (let n = 1; tables.runs.delete(runId(one, n)); n++);
  tables.removeJob(id);
}
