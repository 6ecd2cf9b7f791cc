// Submit, batched: keys are claimed, then one statement writes jobs, their events and the log's head together. It is
// one statement because a job's row carries the sequence of its event, which exists only under the head's lock.
import { entryFacts, freshArray, freshPast, type JobState } from '@muster/model';
import type { Outcome, Submit, SubmitRefusal, Submitted } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { versionOf } from '../event-log.ts';
import { KnownEntries } from './entries.ts';
import { claimKeys } from './idempotency.ts';

export type SubmitOutcome = Outcome<Submitted, SubmitRefusal>;

// Specs and bodies come as lines of one text: JSON has no line breaks of its own, and a line needs no escaping, which for an
// array would cost more than the insert. Each insert reads only the columns it needs, and the state that fresh jobs
// share is made once.
const insert = {
  name: 'insert-jobs',
  text: `
WITH head AS MATERIALIZED (
  UPDATE log_head SET sequence = sequence + cardinality($1::text[])
  RETURNING sequence - cardinality($1::text[]) AS base, now_ms() AS at_ms
), fresh AS MATERIALIZED (
  SELECT base, at_ms, $11::jsonb || jsonb_build_object('sinceMs', at_ms) AS alone,
    $15::jsonb || jsonb_build_object('sinceMs', at_ms) AS members FROM head
), jobs AS (
  INSERT INTO job (id, project, tier, priority, name, entry, duration_ms, deadline_ms, spec, state, state_name, version, submitted_by,
    submitted_ms, submitted_sequence)
  SELECT id, project, tier, priority, name, entry, duration_ms, deadline_ms, spec::jsonb,
    CASE WHEN held THEN jsonb_build_object('state', 'held', 'by', by) ELSE jsonb_build_object('state', 'queued') END
      || CASE WHEN count = 0 THEN alone ELSE members || jsonb_build_object('waiting', ARRAY[[0, count - 1]]) END,
    CASE WHEN held THEN 'held' ELSE 'queued' END, 1, by, at_ms, base + n
  FROM fresh, ROWS FROM (unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::uuid[], $7::boolean[],
    $8::text[], $13::bigint[], $14::bigint[], $16::int[]), string_to_table($9, E'\\n'))
    WITH ORDINALITY AS i (id, project, tier, priority, name, entry, held, by, duration_ms, deadline_ms, count, spec, n)
), events AS (
  INSERT INTO event (sequence, at_ms, kind, version, job, project, body)
  SELECT base + n, at_ms, 'job.submitted', $12, id, project, body::json
  FROM fresh, ROWS FROM (unnest($1::text[], $2::text[]), string_to_table($10, E'\\n'))
    WITH ORDINALITY AS i (id, project, body, n)
)
SELECT base + cardinality($1::text[]) AS sequence, pg_notify('muster_events', '') FROM fresh`,
};

/** The part of a fresh job's state that is always the same. */
const freshState = JSON.stringify({
  attempt: 1,
  notBeforeMs: 0,
  claim: null,
  ...freshPast,
} satisfies Omit<Extract<JobState, { state: 'queued' }>, 'state' | 'sinceMs'>);

/** Of an array: all but which members wait. */
const { state: _, waiting: __, ...freshArrayState } = freshArray({ count: 1, parallel: null }, 0, null);
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
      const { value, sequence } = await database.write((tx) => submitAll(tx, items, memory));
      memory.entries.remember(value.entries);
      return value.outcomes.map((outcome) =>
        outcome.outcome === 'committed' ? { ...outcome, sequence } : outcome,
      );
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

async function submitAll(tx: Tx, items: readonly Submit[], memory: Memory) {
  await learnProjects(tx, items, memory.projects);
  const placed = items.filter((item) => memory.projects.has(item.spec.project));
  const { fresh, held } = await claimKeys(tx, placed);
  const entries = fresh.length > 0 ? await insertJobs(tx, fresh, memory.entries) : [];
  const outcomes = items.map((item): SubmitOutcome => {
    if (!memory.projects.has(item.spec.project))
      return { outcome: 'refused', refusal: { code: 'unknown-project' } };
    const holder = held.get(item);
    if (holder && holder.bodyHash !== item.bodyHash)
      return { outcome: 'refused', refusal: { code: 'key-reused', job: holder.job } };
    const value = holder ? { job: holder.job, repeated: true } : { job: item.id, repeated: false };
    return { outcome: 'committed', sequence: 0, value };
  });
  return { outcomes, entries };
}

const knownProjects = {
  name: 'known-projects',
  text: 'SELECT path FROM project WHERE path = ANY ($1::text[])',
};

async function learnProjects(tx: Tx, items: readonly Submit[], known: Set<string>): Promise<void> {
  const asked = new Set(items.map((item) => item.spec.project).filter((path) => !known.has(path)));
  if (asked.size === 0) return;
  for (const { path } of await tx.query<{ path: string }>(knownProjects, [[...asked]])) known.add(path);
}

/** Returns the entries it stored. */
async function insertJobs(tx: Tx, items: readonly Submit[], entries: KnownEntries): Promise<string[]> {
  const demands = items.map((item) => JSON.stringify(item.demand));
  const hashes = items.map((item, i) => entries.hash(item, demands[i] as string));
  const stored = await entries.store(tx, hashes, demands);
  await tx.last(insert, [
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
  ]);
  return stored;
}

/** The event has no spec, only what the engine and readers need; its time is its row's. */
function eventBody({ id, spec, principal, held }: Submit, demand: string): string {
  const { name, array } = spec;
  const common = { by: principal, held, job: id, version: 1, name, ...(array && { array }) };
  const facts = JSON.stringify({ ...common, ...entryFacts(spec, principal) });
  return `${facts.slice(0, -1)},"demand":${demand}}`;
}
