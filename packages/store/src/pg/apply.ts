// Writes what the rules decided: a handful of statements however many rows changed, sent one behind the other without
// waiting. Node rows that only give capacity back are locked here, in id order.
import { type ArrayState, type JobState, type NodeId, parseMemberId } from '@muster/model';
import type { Tx } from '../database.ts';
import { settleArrays } from '../rules/array-rules.ts';
import { deltasOf } from '../rules/capacity-rules.ts';
import type { ArrayRecord, Changes, JobRecord, RunRecord } from '../rules/records.ts';
import { changeCapacity } from './capacity.ts';
import { entryHash, insertEntries } from './entries.ts';
import { writeUsage } from './usage.ts';

const updateJobs = {
  name: 'update-jobs',
  text: `
UPDATE job SET state = c.state::jsonb, state_name = c.state_name, version = c.version, started_ms = c.started_ms,
  ended_ms = c.ended_ms, entry = coalesce(c.entry, job.entry)
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::bigint[], $6::bigint[], $7::uuid[])
  AS c (id, state, state_name, version, started_ms, ended_ms, entry)
WHERE job.id = c.id`,
};

const updateRuns = {
  name: 'update-runs',
  text: `
UPDATE run SET state = c.state::jsonb, state_name = c.state_name, ended_ms = c.ended_ms
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS c (id, state, state_name, ended_ms)
WHERE run.id = c.id`,
};

const updateTasks = {
  name: 'update-tasks',
  text: `
UPDATE task SET state = c.state::jsonb, state_name = c.state_name, over = c.state_name = 'ended'
FROM unnest($1::text[], $2::int[], $3::text[], $4::text[]) AS c (run, rank, state, state_name)
WHERE task.run = c.run AND task.rank = c.rank`,
};

const updateCheckpoints = {
  name: 'update-checkpoints',
  text: `
UPDATE run SET checkpoint = c.checkpoint::jsonb, checkpoint_ms = c.logged_ms
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS c (id, checkpoint, logged_ms) WHERE run.id = c.id`,
};

const updateHalts = {
  name: 'update-halts',
  text: `
UPDATE run SET halt = c.halt::jsonb FROM unnest($1::text[], $2::text[]) AS c (id, halt) WHERE run.id = c.id`,
};

const deleteRows = { name: 'delete-outbox-rows', text: 'DELETE FROM outbox WHERE id = ANY ($1::bigint[])' };
const deleteRunRows = {
  name: 'delete-outbox-of-runs',
  text: 'DELETE FROM outbox WHERE run = ANY ($1::text[])',
};
// Only a stop that no longer waits for a checkpoint takes the place of one that does; the row is handed out again then.
const insertStops = {
  name: 'insert-stop-rows',
  text: `
INSERT INTO outbox (epoch, node, run, kind, stop)
SELECT $1::bigint, node, run, 'stop', stop::jsonb FROM unnest($2::text[], $3::text[], $4::text[]) AS s (node, run, stop)
ON CONFLICT (run, node, kind) DO UPDATE SET stop = excluded.stop, attempted_session = NULL
WHERE outbox.stop -> 'ask' <> 'null' AND excluded.stop -> 'ask' = 'null'`,
};
const repeatStops = {
  name: 'repeat-stop-rows',
  text: `
UPDATE outbox o SET attempted_session = NULL FROM unnest($1::text[], $2::text[]) AS s (node, run)
WHERE o.run = s.run AND o.node = s.node AND o.kind = 'stop'`,
};

/** In a fenced transaction, whose epoch the stop rows carry. */
export async function applyChanges(tx: Tx, changes: Changes): Promise<void> {
  settleArrays(changes);
  const jobs = [...changes.jobs];
  await Promise.all([
    insertMembers(
      tx,
      jobs.filter(({ fresh }) => fresh),
    ),
    writeJobs(tx, [...jobs.filter(({ fresh }) => !fresh), ...changes.arrays]),
    writeRuns(tx, [...changes.runs]),
    writeTasks(tx, changes),
    writeCheckpoints(tx, [...changes.checkpoints]),
    writeHalts(tx, [...changes.halts]),
    releaseCapacity(tx, changes.endedRuns),
    writeOutbox(tx, changes),
  ]);
  await writeUsage(tx, changes.usage);
  tx.append(changes.events);
}

// A member has what its array has, but for the spec, which is kept once.
const insertMembersText = {
  name: 'insert-members',
  text: `
INSERT INTO job (id, project, tier, priority, name, entry, duration_ms, deadline_ms, expected_ms, p90_ms, member_of, member_index, state,
  state_name, version, submitted_by, submitted_ms, submitted_sequence, started_ms, ended_ms)
SELECT m.id, a.project, a.tier, a.priority, a.name, a.entry, a.duration_ms, a.deadline_ms, a.expected_ms, a.p90_ms, a.id, m.index,
  m.state::jsonb, m.state_name, m.version, a.submitted_by, a.submitted_ms, a.submitted_sequence, m.started_ms, m.ended_ms
FROM unnest($1::text[], $2::text[], $3::int[], $4::text[], $5::text[], $6::int[], $7::bigint[], $8::bigint[])
  AS m (id, member_of, index, state, state_name, version, started_ms, ended_ms)
JOIN job a ON a.id = m.member_of`,
};

async function insertMembers(tx: Tx, jobs: readonly JobRecord[]): Promise<void> {
  if (jobs.length === 0) return;
  const members = jobs.map((job) => parseMemberId(job.id)!);
  await tx.query(insertMembersText, [
    jobs.map((job) => job.id),
    members.map(({ array }) => array),
    members.map(({ index }) => index),
    jobs.map((job) => JSON.stringify(job.state)),
    jobs.map((job) => job.state.state),
    jobs.map((job) => job.version),
    jobs.map((job) => job.startedMs),
    jobs.map((job) => endedMs(job.state)),
  ]);
}

async function writeJobs(tx: Tx, jobs: readonly (JobRecord | ArrayRecord)[]): Promise<void> {
  if (jobs.length === 0) return;
  const entries = jobs.map((job) => ('entry' in job ? (job.entry ?? null) : null));
  const hashes = entries.map((entry) => entry && entryHash(entry.key));
  const demands = entries.map((entry) => entry && JSON.stringify(entry.demand));
  const changed = hashes.some((hash) => hash !== null);
  if (changed)
    await tx.query(insertEntries, [
      hashes.filter((hash) => hash !== null),
      demands.filter((text) => text !== null),
    ]);
  await tx.query(updateJobs, [
    jobs.map((job) => job.id),
    jobs.map((job) => JSON.stringify(job.state)),
    jobs.map((job) => job.state.state),
    jobs.map((job) => job.version),
    jobs.map((job) => job.startedMs),
    jobs.map((job) => endedMs(job.state)),
    hashes,
  ]);
}

function endedMs(state: JobState | ArrayState): number | null {
  return state.state === 'ended' ? state.endedMs : null;
}

async function writeRuns(tx: Tx, runs: readonly RunRecord[]): Promise<void> {
  if (runs.length === 0) return;
  await tx.query(updateRuns, [
    runs.map((run) => run.id),
    runs.map((run) => JSON.stringify(run.state)),
    runs.map((run) => run.state.state),
    runs.map((run) => (run.state.state === 'ended' ? run.state.endedMs : null)),
  ]);
}

async function writeTasks(tx: Tx, { tasks }: Changes): Promise<void> {
  if (tasks.length === 0) return;
  await tx.query(updateTasks, [
    tasks.map(({ run }) => run.id),
    tasks.map(({ task }) => task.rank),
    tasks.map(({ task }) => JSON.stringify(task.state)),
    tasks.map(({ task }) => task.state.state),
  ]);
}

async function writeCheckpoints(tx: Tx, runs: readonly RunRecord[]): Promise<void> {
  if (runs.length === 0) return;
  await tx.query(updateCheckpoints, [
    runs.map((run) => run.id),
    runs.map((run) => JSON.stringify(run.checkpoint)),
    runs.map((run) => run.checkpointMs),
  ]);
}

async function writeHalts(tx: Tx, runs: readonly RunRecord[]): Promise<void> {
  if (runs.length === 0) return;
  const halts = runs.map(({ halt }) => halt && JSON.stringify(halt));
  await tx.query(updateHalts, [runs.map((run) => run.id), halts]);
}

async function releaseCapacity(tx: Tx, runs: readonly RunRecord[]): Promise<void> {
  if (runs.length > 0) await changeCapacity(tx, deltasOf(runs, -1));
}

async function writeOutbox(tx: Tx, changes: Changes): Promise<void> {
  const over = new Set(changes.endedRuns.map((run) => run.id));
  const stops = changes.stops.filter(({ run }) => !over.has(run));
  const again = stops.filter((stop) => stop.again);
  await Promise.all([
    changes.closedRows.size > 0 ? tx.query(deleteRows, [[...changes.closedRows]]) : null,
    over.size > 0 ? tx.query(deleteRunRows, [[...over]]) : null,
    again.length > 0
      ? tx.query(repeatStops, [again.map(({ node }) => node), again.map(({ run }) => run)])
      : null,
    stops.length > 0
      ? tx.query(insertStops, [
          tx.epoch,
          stops.map(({ node }) => node satisfies NodeId),
          stops.map(({ run }) => run),
          stops.map(({ stop }) => JSON.stringify(stop)),
        ])
      : null,
  ]);
}
