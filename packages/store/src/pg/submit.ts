// Submit, batched: first the idempotency keys are claimed, then one statement writes jobs, their events and the
// log's head together. It is one statement because a job's row carries the sequence of its event, which exists
// only under the head's lock; keys come before it, because waiting for another server's uncommitted key while holding the head would deadlock.
import { type JobId, type JobState, noFailures } from '@muster/model';
import type { Outcome, Submit, SubmitRefusal, Submitted } from '../contract.ts';
import type { Database, Reader, Tx } from '../database.ts';
import { versionOf } from '../event-log.ts';
import { KnownEntries } from './entries.ts';

export type SubmitOutcome = Outcome<Submitted, SubmitRefusal>;

const claim = {
  name: 'claim-keys',
  text: `
WITH item AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS i (project, principal, key, job, body_hash)
), claimed AS (
  INSERT INTO idempotency (project, principal, key, job, body_hash, created_ms)
  SELECT project, principal, key, job, body_hash, now_ms() FROM item JOIN project p ON p.path = item.project
  ORDER BY project, principal, key
  ON CONFLICT (project, principal, key) DO NOTHING
  RETURNING job
)
SELECT job FROM claimed`,
};

const holders = {
  name: 'key-holders',
  text: `
SELECT project, principal, key, job, body_hash AS "bodyHash"
FROM idempotency JOIN unnest($1::text[], $2::text[], $3::text[]) AS i (project, principal, key)
  USING (project, principal, key)`,
};

// Specs and bodies come as lines of one text: JSON has no line breaks of its own, and a line needs no escaping, which for an
// array would cost more than the insert. A state that all fresh jobs share is made once.
const insert = {
  name: 'insert-jobs',
  text: `
WITH item AS MATERIALIZED (
  SELECT i.*, row_number() OVER (ORDER BY i.n) AS place
  FROM ROWS FROM (unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::uuid[], $7::boolean[],
    $8::text[]), string_to_table($9, E'\\n'), string_to_table($10, E'\\n'))
    WITH ORDINALITY AS i (id, project, tier, priority, name, entry, held, by, spec, body, n)
  JOIN project p ON p.path = i.project
  WHERE NOT EXISTS (SELECT FROM job WHERE job.id = i.id)
), head AS MATERIALIZED (
  UPDATE log_head SET sequence = sequence + (SELECT count(*) FROM item)
  RETURNING sequence - (SELECT count(*) FROM item) AS base, now_ms() AS at_ms
), fresh AS MATERIALIZED (
  SELECT base, at_ms, $11::jsonb || jsonb_build_object('state', 'queued', 'sinceMs', at_ms) AS queued FROM head
), jobs AS (
  INSERT INTO job (id, project, tier, priority, name, entry, spec, state, state_name, version, submitted_by,
    submitted_ms, submitted_sequence)
  SELECT id, project, tier, priority, name, entry, spec::jsonb,
    CASE WHEN held THEN queued || jsonb_build_object('state', 'held', 'by', by) ELSE queued END,
    CASE WHEN held THEN 'held' ELSE 'queued' END, 1, by, at_ms, base + place
  FROM item, fresh
), events AS (
  INSERT INTO event (sequence, at_ms, kind, version, job, project, body)
  SELECT base + place, at_ms, 'job.submitted', $12, id, project, body::json FROM item, fresh
)
SELECT item.id, base + count(*) OVER () AS sequence,
  CASE WHEN place = 1 THEN pg_notify('muster_events', '') END
FROM item, fresh`,
};

/** The part of a fresh job's state that is always the same. */
const freshState = JSON.stringify({
  attempt: 1,
  notBeforeMs: 0,
  failures: noFailures,
  avoid: [],
} satisfies Omit<Extract<JobState, { state: 'queued' }>, 'state' | 'sinceMs'>);

export function commitSubmits(database: Database) {
  const entries = new KnownEntries();
  return async (items: readonly Submit[]): Promise<SubmitOutcome[]> => {
    const { value, sequence } = await database.write((tx) => submitAll(tx, items, entries));
    entries.remember(value.entries);
    return value.outcomes.map((outcome) =>
      outcome.outcome === 'committed' ? { ...outcome, sequence } : outcome,
    );
  };
}

async function submitAll(tx: Tx, items: readonly Submit[], known: KnownEntries) {
  const answers = new Map<Submit, SubmitOutcome>();
  const { fresh, followers, held } = await claimKeys(tx, items, answers);
  const entries = fresh.length > 0 ? await insertJobs(tx, fresh, known, answers) : [];
  for (const [follower, first] of followers) {
    const holder = held.get(keyText(follower));
    const answer = answers.get(first) as SubmitOutcome;
    if (holder) answers.set(follower, repeated(follower, holder.job, holder.bodyHash));
    else
      answers.set(
        follower,
        answer.outcome === 'committed' ? repeated(follower, first.id, first.bodyHash) : answer,
      );
  }
  return { outcomes: items.map((item) => answers.get(item) as SubmitOutcome), entries };
}

interface Claims {
  /** Items that are to become jobs. */
  readonly fresh: readonly Submit[];
  /** Items whose key an earlier item of the same group has. */
  readonly followers: ReadonlyMap<Submit, Submit>;
  /** Keys that an earlier request had. */
  readonly held: ReadonlyMap<string, Holder>;
}

interface Holder {
  readonly project: string;
  readonly principal: string;
  readonly key: string;
  readonly job: JobId;
  readonly bodyHash: string;
}

async function claimKeys(
  tx: Tx,
  items: readonly Submit[],
  answers: Map<Submit, SubmitOutcome>,
): Promise<Claims> {
  const firsts = new Map<string, Submit>();
  const followers = new Map<Submit, Submit>();
  for (const item of items) {
    if (item.key === null) continue;
    const first = firsts.get(keyText(item));
    if (first) followers.set(item, first);
    else firsts.set(keyText(item), item);
  }
  if (firsts.size === 0) return { fresh: items, followers, held: new Map() };
  const keyed = [...firsts.values()];
  const claimed = new Set(
    (
      await tx.query<{ job: JobId }>(claim, [
        ...keyColumns(keyed),
        keyed.map((item) => item.id),
        keyed.map((item) => item.bodyHash),
      ])
    ).map((row) => row.job),
  );
  const taken = keyed.filter((item) => !claimed.has(item.id));
  const held = taken.length > 0 ? await answerTaken(tx, taken, answers) : new Map<string, Holder>();
  return { fresh: items.filter((item) => !answers.has(item) && !followers.has(item)), followers, held };
}

function keyColumns(items: readonly Submit[]): unknown[] {
  return [
    items.map((item) => item.spec.project),
    items.map((item) => item.principal),
    items.map((item) => item.key),
  ];
}

function keyText(item: {
  readonly spec: { readonly project: string };
  readonly principal: string;
  readonly key: string | null;
}) {
  return JSON.stringify([item.spec.project, item.principal, item.key]);
}

/** A key that is neither claimed nor held belongs to an unknown project: left for the insert to refuse. */
async function answerTaken(reader: Reader, items: readonly Submit[], answers: Map<Submit, SubmitOutcome>) {
  const rows = await reader.query<Holder>(holders, keyColumns(items));
  const held = new Map(
    rows.map((row) => [
      keyText({ spec: { project: row.project }, principal: row.principal, key: row.key }),
      row,
    ]),
  );
  for (const item of items) {
    const holder = held.get(keyText(item));
    if (holder) answers.set(item, repeated(item, holder.job, holder.bodyHash));
  }
  return held;
}

function repeated(item: Submit, job: JobId, bodyHash: string): SubmitOutcome {
  if (item.bodyHash !== bodyHash) return { outcome: 'refused', refusal: { code: 'key-reused', job } };
  return { outcome: 'committed', sequence: 0, value: { job, repeated: true } };
}

async function insertJobs(
  tx: Tx,
  items: readonly Submit[],
  known: KnownEntries,
  answers: Map<Submit, SubmitOutcome>,
): Promise<string[]> {
  const demands = items.map((item) => JSON.stringify(item.demand));
  const hashes = items.map((item, i) => known.hash(item.spec, item.demand, demands[i] as string));
  const stored = await known.store(tx, hashes, demands);
  const rows = await tx.query<{ id: JobId; sequence: number }>(insert, [
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
  ]);
  const inserted = new Set(rows.map((row) => row.id));
  if (rows[0]) tx.appended(rows[0].sequence);
  for (const item of items)
    if (inserted.has(item.id))
      answers.set(item, { outcome: 'committed', sequence: 0, value: { job: item.id, repeated: false } });
  if (inserted.size < items.length)
    await refuseRest(
      tx,
      items.filter((item) => !inserted.has(item.id)),
      answers,
    );
  return stored;
}

/** The event has no spec, only what the engine and readers need; its time is its row's. */
function eventBody({ id, spec, principal, held }: Submit, demand: string): string {
  const { name, project, tier, priority } = spec;
  const facts = JSON.stringify({ by: principal, held, job: id, version: 1, name, project, tier, priority });
  return `${facts.slice(0, -1)},"demand":${demand}}`;
}

const known = { name: 'known-projects', text: 'SELECT path FROM project WHERE path = ANY ($1::text[])' };
const unclaim = {
  name: 'unclaim-keys',
  text: 'DELETE FROM idempotency WHERE job = ANY ($1::text[]) AND (project, principal, key) IN (SELECT * FROM unnest($2::text[], $3::text[], $4::text[]))',
};

async function refuseRest(
  tx: Tx,
  items: readonly Submit[],
  answers: Map<Submit, SubmitOutcome>,
): Promise<void> {
  const rows = await tx.query<{ path: string }>(known, [items.map((item) => item.spec.project)]);
  const projects = new Set(rows.map((row) => row.path));
  for (const item of items) {
    const code = projects.has(item.spec.project) ? 'id-taken' : 'unknown-project';
    answers.set(item, { outcome: 'refused', refusal: { code } });
  }
  const keyed = items.filter((item) => item.key !== null);
  if (keyed.length > 0) await tx.query(unclaim, [keyed.map((item) => item.id), ...keyColumns(keyed)]);
}
