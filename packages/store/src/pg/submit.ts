// Submit, batched: one statement claims keys and writes jobs, their events and the log's head together, and goes to the
// server with BEGIN before it and COMMIT behind it, so that a group costs one round trip. Keys come first, because waiting for
// another server's uncommitted key while holding the log's head would deadlock: the head moves by how many keys were claimed.
// In order, because two servers with the same keys would else wait for each other.
import {
  entryFacts,
  freshArray,
  freshPast,
  type JobId,
  type JobState,
  OperationalError,
} from '@muster/model';
import type { Outcome, Submit, SubmitRefusal, Submitted } from '../contract.ts';
import type { Database } from '../database.ts';
import { versionOf } from '../event-log.ts';
import { KnownEntries } from './entries.ts';
import { type Holder, keyHolders, repeatedInGroup } from './idempotency.ts';

export type SubmitOutcome = Outcome<Submitted, SubmitRefusal>;

// Specs and bodies come as lines of one text: JSON has no line breaks of its own, and a line needs no escaping, which for an
// array would cost more than the insert. Each insert reads only the columns it needs, and the state that fresh jobs
// share is made once. Where a key was taken, `numbers` has the place in the log of each job, 0 for one that is not to be.
const insert = {
  name: 'insert-jobs',
  text: `
WITH claimed AS (
  INSERT INTO idempotency (project, principal, key, job, body_hash, created_ms)
  SELECT project, principal, key, job, body_hash, now.ms
  FROM unnest($1::text[], $2::text[], $8::text[], $17::text[], $18::text[]) AS i (job, project, principal, key, body_hash),
    (SELECT now_ms() AS ms OFFSET 0) AS now
  WHERE key IS NOT NULL
  ORDER BY project, principal, key
  ON CONFLICT (project, principal, key) DO NOTHING
  RETURNING job
), counted AS MATERIALIZED (
  SELECT count(*) - $19 AS taken, CASE WHEN count(*) < $19 THEN array_agg(job) END AS jobs FROM claimed
), numbered AS MATERIALIZED (
  SELECT taken, jobs, CASE WHEN taken < 0 THEN (
    SELECT array_agg(CASE WHEN fresh THEN place ELSE 0 END ORDER BY n) FROM (
      SELECT n, fresh, count(*) FILTER (WHERE fresh) OVER (ORDER BY n) AS place FROM (
        SELECT n, key IS NULL OR id = ANY (jobs) IS TRUE AS fresh
        FROM unnest($1::text[], $17::text[]) WITH ORDINALITY AS k (id, key, n)
      ) AS k
    ) AS k
  ) END AS numbers FROM counted
), head AS MATERIALIZED (
  UPDATE log_head SET sequence = sequence + cardinality($1::text[]) + taken FROM numbered
  RETURNING sequence AS last, sequence - cardinality($1::text[]) - taken AS base, now_ms() AS at_ms, jobs, numbers
), fresh AS MATERIALIZED (
  SELECT last, base, at_ms, jobs, numbers, $11::jsonb || jsonb_build_object('sinceMs', at_ms) AS alone,
    $15::jsonb || jsonb_build_object('sinceMs', at_ms) AS members FROM head
), jobs AS (
  INSERT INTO job (id, project, tier, priority, name, entry, duration_ms, deadline_ms, expected_ms, p90_ms, spec, state, state_name, version,
    submitted_by, submitted_ms, submitted_sequence)
  SELECT id, project, tier, priority, name, entry, duration_ms, deadline_ms, expected_ms, p90_ms, spec::jsonb,
    CASE WHEN count = 0 AND NOT held THEN alone ELSE
      CASE WHEN count = 0 THEN alone ELSE members || jsonb_build_object('waiting', ARRAY[[0, count - 1]]) END
        || CASE WHEN held THEN jsonb_build_object('state', 'held', 'by', by) ELSE '{}' END END,
    CASE WHEN held THEN 'held' ELSE 'queued' END, 1, by, at_ms, base + coalesce(numbers[n], n)
  FROM fresh, ROWS FROM (unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::uuid[], $7::boolean[],
    $8::text[], $13::bigint[], $14::bigint[], $16::int[], $20::bigint[], $21::bigint[]), string_to_table($9, E'\\n'))
    WITH ORDINALITY AS i (id, project, tier, priority, name, entry, held, by, duration_ms, deadline_ms, count, expected_ms,
      p90_ms, spec, n)
  WHERE numbers IS NULL OR numbers[n] > 0
), events AS (
  INSERT INTO event (sequence, at_ms, kind, version, job, project, body)
  SELECT base + coalesce(numbers[n], n), at_ms, 'job.submitted', $12, id, project, body::json
  FROM fresh, ROWS FROM (unnest($1::text[], $2::text[]), string_to_table($10, E'\\n'))
    WITH ORDINALITY AS i (id, project, body, n)
  WHERE numbers IS NULL OR numbers[n] > 0
)
SELECT last AS sequence, numbers IS NOT NULL AS "someTaken", jobs AS claimed, pg_notify('muster_events', '') FROM fresh`,
};

interface Inserted {
  readonly sequence: number;
  readonly someTaken: boolean;
  /** The jobs whose keys were claimed; null where all were, or none. */
  readonly claimed: readonly JobId[] | null;
}

/** The part of a fresh job's state that is always the same, if it is not held. */
const freshState = JSON.stringify({
  state: 'queued',
  attempt: 1,
  notBeforeMs: 0,
  claim: null,
  ...freshPast,
} satisfies Omit<Extract<JobState, { state: 'queued' }>, 'sinceMs'>);

/** Of an array: all but which members wait. */
const { waiting: _, ...freshArrayState } = freshArray({ count: 1, parallel: null }, 0, null);
const arrayText = JSON.stringify(freshArrayState);

/** What a process need not ask the database again. Projects are never removed once they exist. */
interface Memory {
  readonly projects: Set<string>;
  readonly entries: KnownEntries;
}

export function commitSubmits(database: Database) {
  const memory: Memory = { projects: new Set(), entries: new KnownEntries() };
  return async (items: readonly Submit[]): Promise<SubmitOutcome[]> => {
    try {
      const asked = unknownProjects(items, memory.projects);
      // Where nothing is to be asked the group is sent in this turn, before the answers of the last one go out.
      if (asked.size > 0) await learnProjects(database, asked, memory.projects);
      return await submitAll(database, items, memory);
    } catch (error) {
      // Ids are random, so nobody looks for one that is taken: the group is split until it stands alone.
      if (items.length === 1 && isTakenId(error))
        return [{ outcome: 'refused', refusal: { code: 'id-taken' } }];
      throw error;
    }
  };
}

function isTakenId(error: unknown): boolean {
  const { cause } = error as { readonly cause?: { readonly constraint?: string } };
  return cause?.constraint === 'job_pkey';
}

const knownProjects = {
  name: 'known-projects',
  text: 'SELECT path FROM project WHERE path = ANY ($1::text[])',
};

function unknownProjects(items: readonly Submit[], known: ReadonlySet<string>): Set<string> {
  return new Set(items.map((item) => item.spec.project).filter((path) => !known.has(path)));
}

async function learnProjects(
  database: Database,
  asked: ReadonlySet<string>,
  known: Set<string>,
): Promise<void> {
  for (const { path } of await database.query<{ path: string }>(knownProjects, [[...asked]])) known.add(path);
}

async function submitAll(
  database: Database,
  items: readonly Submit[],
  { projects, entries }: Memory,
): Promise<SubmitOutcome[]> {
  const repeated = repeatedInGroup(items);
  const sent = items.filter((item) => projects.has(item.spec.project) && !repeated.has(item));
  const { sequence, someTaken, claimed } = await insertJobs(database, sent, entries);
  const mine = new Set(claimed);
  const taken = someTaken ? sent.filter((item) => item.key !== null && !mine.has(item.id)) : [];
  const holders = await heldKeys(database, taken);
  const untold = new Set(taken.filter((item) => !holders.has(item)));

  return items.map((item): SubmitOutcome => {
    if (!projects.has(item.spec.project)) return { outcome: 'refused', refusal: { code: 'unknown-project' } };
    const first = repeated.get(item) ?? item;
    if (untold.has(first)) return { outcome: 'unknown' };
    const holder =
      holders.get(first) ?? (first === item ? null : { job: first.id, bodyHash: first.bodyHash });
    if (holder && holder.bodyHash !== item.bodyHash)
      return { outcome: 'refused', refusal: { code: 'key-reused', job: holder.job } };
    const value = holder ? { job: holder.job, repeated: true } : { job: item.id, repeated: false };
    return { outcome: 'committed', sequence, value };
  });
}

/**
 * The rest of the group is committed by now, and no failure of this look may say otherwise: whose holder cannot be read, or
 * was removed for its age in between, does not know what its key stands for and may ask with it again.
 */
async function heldKeys(database: Database, taken: readonly Submit[]): Promise<ReadonlyMap<Submit, Holder>> {
  try {
    return await keyHolders(database, taken);
  } catch (error) {
    if (error instanceof OperationalError) return new Map();
    throw error;
  }
}

/** So large a group does enough before it takes the log's head that a connection of its own is worth it. */
const besideFrom = 250;
const nothing: Inserted = { sequence: 0, someTaken: false, claimed: null };

async function insertJobs(
  database: Database,
  items: readonly Submit[],
  entries: KnownEntries,
): Promise<Inserted> {
  if (items.length === 0) return nothing;
  const demands = items.map((item) => JSON.stringify(item.demand));
  const hashes = items.map((item, i) => entries.hash(item, demands[i] as string));
  const fresh = entries.unknown(hashes, demands);
  const values = [
    items.map((item) => item.id),
    items.map((item) => item.spec.project),
    items.map((item) => item.spec.tier),
    items.map((item) => item.spec.priority),
    items.map((item) => item.spec.name),
    hashes,
    items.map((item) => item.held),
    items.map((item) => item.principal),
    items.map((item) => JSON.stringify(item.spec)).join('\n'),
    items.map((item, i) => eventBody(item, demands[i] as string)).join('\n'),
    freshState,
    versionOf('job.submitted'),
    items.map((item) => item.spec.timeLimitMs),
    items.map((item) => item.spec.deadlineMs),
    arrayText,
    items.map((item) => item.spec.array?.count ?? 0),
    items.map((item) => item.key),
    items.map((item) => item.bodyHash),
    items.reduce((sum, item) => sum + (item.key === null ? 0 : 1), 0),
    items.map((item) => item.estimate?.expectedMs ?? null),
    items.map((item) => item.estimate?.p90Ms ?? null),
  ];
  const where = items.length < besideFrom ? 'behind' : 'beside';
  const inserted = await database.extendLog<Inserted>(fresh.calls, { statement: insert, values }, where);
  entries.remember(fresh.hashes);
  return inserted;
}

/** The event has no spec, only what the engine and readers need; its time is its row's. */
function eventBody({ id, spec, principal, held, estimate }: Submit, demand: string): string {
  const { name, array } = spec;
  const common = { by: principal, held, job: id, version: 1, name, ...(array && { array }) };
  const facts = JSON.stringify({ ...common, ...entryFacts(spec, principal, estimate) });
  return `${facts.slice(0, -1)},"demand":${demand}}`;
}
