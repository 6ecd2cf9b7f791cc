// The rows of a submit with nothing around them: job, key and event of the same sizes, written by one statement for any number
// of jobs in one transaction. What PostgreSQL does with this is the limit of any store that keeps these rows.
import { randomBytes, randomUUID } from 'node:crypto';
import { freshId, type JobSpecInput, jobDemand, parseSpec } from '@muster/model';
import type pg from 'pg';
import { withClient } from './pg-client.ts';

export const createTables = `
CREATE SCHEMA IF NOT EXISTS reference;
CREATE TABLE IF NOT EXISTS reference.job (
  id text COLLATE "C" PRIMARY KEY, project text NOT NULL, name text NOT NULL, spec jsonb NOT NULL, state jsonb NOT NULL,
  submitted_by text NOT NULL, submitted_ms bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS reference.key (
  project text NOT NULL, principal text NOT NULL, key text NOT NULL, job text NOT NULL, body_hash text NOT NULL,
  PRIMARY KEY (project, principal, key)
);
CREATE TABLE IF NOT EXISTS reference.event (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at_ms bigint NOT NULL, kind text NOT NULL, job text NOT NULL,
  body json NOT NULL
);`;

const insert = {
  name: 'reference-insert',
  text: `
WITH given AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS g (id, name, spec, event, key)
), jobs AS (
  INSERT INTO reference.job (id, project, name, spec, state, submitted_by, submitted_ms)
  SELECT id, 'default', name, spec::jsonb, $6::jsonb, 'bench', $7 FROM given
), keys AS (
  INSERT INTO reference.key (project, principal, key, job, body_hash)
  SELECT 'default', 'bench', key, id, $8 FROM given
)
INSERT INTO reference.event (at_ms, kind, job, body)
SELECT $7, 'job.submitted', id, event::json FROM given`,
};

export interface ReferenceJob {
  readonly id: string;
  readonly name: string;
  readonly spec: string;
  readonly event: string;
  readonly key: string;
}

const state = JSON.stringify({
  state: 'queued',
  attempt: 1,
  notBeforeMs: 0,
  failures: { user: 0, outOfMemory: 0, infrastructure: 0 },
  avoid: [],
});
const bodyHash = 'a'.repeat(64);

/** Prepares the texts once: the limit must not pay for validation. */
export function referenceJob(input: JobSpecInput): (key: string) => ReferenceJob {
  const defaults = { project: 'default', tier: 'standard', stopAfterMs: () => 300_000 };
  const parsed = parseSpec(input, defaults);
  if (!parsed.ok) throw new Error(`the sample job is not valid: ${JSON.stringify(parsed.problems)}`);
  const { name, project, tier, priority } = parsed.spec;
  const demand = jobDemand(parsed.spec);
  const spec = JSON.stringify(parsed.spec);
  const tail = JSON.stringify({
    version: 1,
    name,
    project,
    tier,
    priority,
    demand,
    by: 'bench',
    held: false,
  });
  return (key) => {
    const id = freshId('job', Date.now(), randomBytes(9));
    return { id, name, spec, event: `{"job":"${id}",${tail.slice(1)}`, key };
  };
}

/** One transaction by itself: a single statement commits when it ends. */
export async function insertReference(client: pg.Client, jobs: readonly ReferenceJob[]): Promise<void> {
  const values = [
    jobs.map(({ id }) => id),
    jobs.map(({ name }) => name),
    jobs.map(({ spec }) => spec),
    jobs.map(({ event }) => event),
    jobs.map(({ key }) => key),
    state,
    Date.now(),
    bodyHash,
  ];
  await client.query({ ...insert, values });
}

/** Jobs a second by one connection, as many a transaction as there are inputs. */
export function bareBatchRate(
  url: string,
  inputs: readonly JobSpecInput[],
  durationMs: number,
): Promise<number> {
  return withClient(url, async (client) => {
    await client.query(createTables);
    const make = inputs.map(referenceJob);
    const batch = (): ReferenceJob[] => make.map((one) => one(randomUUID()));
    await insertReference(client, batch());
    const startedMs = performance.now();
    let count = 0;
    for (; performance.now() < startedMs + durationMs; count += make.length)
      await insertReference(client, batch());
    return count / ((performance.now() - startedMs) / 1000);
  });
}
