// What is old goes: ended jobs with their runs, tasks and keys, whole partitions of the log with the snapshots in front of
// them, audit rows. A partition waits for a snapshot behind it, so that a replay can start at the oldest that is kept. In
// transactions of their own, each proving the epoch, because together they would hold locks for long.
import { type JobId, runPrefix } from '@muster/model';
import type { Outcome, Retained, Retention } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { partitionName } from '../event-partitions.ts';

/** A client may repeat a submit for this long, whatever became of the job. */
const keyLifeMs = 7 * 86_400_000;

export async function retain(
  database: Database,
  epoch: number,
  retention: Retention,
): Promise<Outcome<Retained, 'stale-epoch'>> {
  const jobs = await step(database, epoch, (tx) => retainJobs(tx, retention));
  const eventPartitions = jobs && (await step(database, epoch, (tx) => retainEvents(tx, retention)));
  const rest = eventPartitions && (await step(database, epoch, (tx) => retainRest(tx, retention)));
  if (!jobs || !eventPartitions || !rest) return { outcome: 'refused', refusal: 'stale-epoch' };
  const value = { jobs: jobs.value, eventPartitions: eventPartitions.value };
  return { outcome: 'committed', sequence: rest.sequence, value };
}

async function step(database: Database, epoch: number, body: (tx: Tx) => Promise<number>) {
  const { value, sequence } = await database.write(async (tx) => (tx.epoch === epoch ? body(tx) : null), {
    fenced: true,
  });
  return value === null ? null : { value, sequence };
}

const oldJobs = {
  name: 'old-jobs',
  text: `
SELECT id FROM job WHERE ended_ms < now_ms() - $1::bigint AND member_of IS NULL ORDER BY ended_ms LIMIT $2 FOR UPDATE SKIP LOCKED`,
};
// Run ids begin with their job's, so that the primary keys find them.
const deleteTasks = {
  name: 'retain-tasks',
  text: `DELETE FROM task USING unnest($1::text[]) AS p (prefix) WHERE run >= p.prefix AND run < p.prefix || ':'`,
};
const deleteRuns = {
  name: 'retain-runs',
  text: `DELETE FROM run USING unnest($1::text[]) AS p (prefix) WHERE id >= p.prefix AND id < p.prefix || ':'`,
};
const deleteJobs = {
  name: 'retain-jobs',
  text: 'DELETE FROM job WHERE id = ANY ($1::text[]) OR member_of = ANY ($1::text[])',
};

async function retainJobs(tx: Tx, { jobsMs, limit }: Retention): Promise<number> {
  const ids = (await tx.query<{ id: JobId }>(oldJobs, [jobsMs, limit])).map((row) => row.id);
  if (ids.length === 0) return 0;
  const prefixes = ids.map(runPrefix);
  await tx.query(deleteTasks, [prefixes]);
  await tx.query(deleteRuns, [prefixes]);
  await tx.query(deleteJobs, [ids]);
  return ids.length;
}

const oldPartitions = {
  name: 'old-partitions',
  text: `
SELECT p.first FROM event_partition p, log_head h
WHERE p.below <= h.sequence AND (SELECT at_ms FROM event WHERE sequence = p.below - 1) < now_ms() - $1::bigint
  AND EXISTS (SELECT FROM snapshot s WHERE s.sequence >= p.below - 1)
ORDER BY p.first`,
};
const forgetPartition = { name: 'forget-partition', text: 'DELETE FROM event_partition WHERE first = $1' };

// A snapshot whose next event is gone starts no replay. Of those older than two days one a day is enough to start from.
const deadSnapshots = {
  name: 'retain-snapshots',
  text: `
DELETE FROM snapshot s WHERE s.sequence + 1 < (SELECT min(first) FROM event_partition)
  OR (s.at_ms < now_ms() - 2 * 86400000
    AND EXISTS (SELECT FROM snapshot o WHERE o.at_ms / 86400000 = s.at_ms / 86400000 AND o.sequence < s.sequence))`,
};

async function retainEvents(tx: Tx, { eventsMs }: Retention): Promise<number> {
  const rows = await tx.query<{ first: number }>(oldPartitions, [eventsMs]);
  // Dropping waits for readers of the log and keeps writers waiting meanwhile: better to try again another time.
  await tx.query({ name: '', text: `SET LOCAL lock_timeout = '2s'` });
  for (const { first } of rows) {
    await tx.query({ name: '', text: `DROP TABLE ${partitionName(first)}` });
    await tx.query(forgetPartition, [first]);
  }
  await tx.query(deadSnapshots);
  return rows.length;
}

const leftovers = [
  {
    name: 'retain-keys',
    text: `
DELETE FROM idempotency i WHERE created_ms < now_ms() - ${keyLifeMs} AND NOT EXISTS (SELECT FROM job WHERE id = i.job)`,
  },
  // A verdict or demand of an entry that no job waits in; an entry of a job just being submitted is a day younger.
  {
    name: 'retain-entries',
    text: `
DELETE FROM entry WHERE seen_ms < now_ms() - 86400000 AND hash NOT IN (SELECT entry FROM job WHERE ended_ms IS NULL)`,
  },
  { name: 'retain-servers', text: 'DELETE FROM server WHERE announced_ms < now_ms() - 86400000' },
  { name: 'retain-enrolments', text: 'DELETE FROM enrolment WHERE expires_ms < now_ms() - 86400000' },
];
const oldAudit = { name: 'retain-audit', text: 'DELETE FROM audit WHERE at_ms < now_ms() - $1::bigint' };
const oldDecisions = {
  name: 'retain-decisions',
  text: 'DELETE FROM decision WHERE committed_ms < now_ms() - $1::bigint',
};

async function retainRest(tx: Tx, { auditMs, eventsMs }: Retention): Promise<number> {
  for (const statement of leftovers) await tx.query(statement);
  await tx.query(oldAudit, [auditMs]);
  await tx.query(oldDecisions, [eventsMs]);
  return 0;
}
