// Submit, item by item: a key that is held is a repetition or refused, a taken id is refused, and neighbours are not touched.
import { type EventBody, entryFacts, entryKey, freshArray, freshPast, type JobState } from '@muster/model';
import type { Outcome, Submit, SubmitRefusal, Submitted } from '@muster/store';
import { entryHash } from '@muster/store/rules';
import type { MemoryDatabase, Tx } from './database.ts';
import type { Tables } from './tables.ts';

export type SubmitOutcome = Outcome<Submitted, SubmitRefusal>;

export function submitAll(database: MemoryDatabase, items: readonly Submit[]): SubmitOutcome[] {
  const { value, sequence } = database.write((tx) => items.map((item) => submitOne(tx, item)));
  return value.map((outcome) => (outcome.outcome === 'committed' ? { ...outcome, sequence } : outcome));
}

function submitOne(tx: Tx, item: Submit): SubmitOutcome {
  const { tables, nowMs } = tx;
  const { id, spec, principal, key, bodyHash } = item;
  if (!tables.projects.has(spec.project)) return refused({ code: 'unknown-project' });
  const name = key === null ? null : keyText(spec.project, principal, key);
  const holder = name === null ? undefined : tables.keys.get(name);
  if (holder && holder.bodyHash !== bodyHash) return refused({ code: 'key-reused', job: holder.job });
  if (holder) return committed({ job: holder.job, repeated: true });
  if (tables.jobs.has(id)) return refused({ code: 'id-taken' });
  if (name !== null) tables.keys.set(name, { job: id, bodyHash, createdMs: nowMs });
  insertJob(tx, item);
  return committed({ job: id, repeated: false });
}

function insertJob(tx: Tx, item: Submit): void {
  const { tables, nowMs, nextSequence } = tx;
  const { id, principal, demand, estimate } = item;
  const spec: Submit['spec'] = JSON.parse(JSON.stringify(item.spec));
  const facts = entryFacts(spec, principal, estimate);
  const { project, tier, priority, durationMs, deadlineMs } = facts;
  const entry = entryHash(entryKey(facts, demand));
  storeEntry(tables, entry, demand, nowMs);
  tables.addJob({
    id,
    project,
    tier,
    priority,
    name: spec.name,
    entry,
    durationMs,
    deadlineMs,
    estimate: estimate ?? null,
    spec,
    memberOf: null,
    memberIndex: null,
    submittedBy: principal,
    submittedMs: nowMs,
    submittedSequence: nextSequence,
    state: freshState(item, nowMs),
    version: 1,
    startedMs: null,
  });
  tx.append([{ body: submittedEvent(item, nowMs), project }]);
}

/** What its jobs ask for, kept once for all of them; a new demand has not been told anything. */
export function storeEntry(tables: Tables, hash: string, demand: Submit['demand'], nowMs: number): void {
  const known = tables.entries.get(hash);
  if (!known) tables.entries.set(hash, { demand, verdict: null, seenMs: nowMs });
  else if (known.demand === null) Object.assign(known, { demand, verdict: null, seenMs: nowMs });
}

function freshState({ spec, principal, held }: Submit, nowMs: number) {
  if (spec.array) return freshArray(spec.array, nowMs, held ? principal : null);
  const fresh = { attempt: 1, notBeforeMs: 0, claim: null, ...freshPast, sinceMs: nowMs };
  return (held ? { state: 'held', by: principal, ...fresh } : { state: 'queued', ...fresh }) as JobState;
}

function submittedEvent(item: Submit, submittedMs: number): EventBody {
  const { id, spec, principal, held, demand, estimate } = item;
  const { name, array } = spec;
  const facts = entryFacts(spec, principal, estimate);
  const common = { kind: 'job.submitted' as const, by: principal, held, job: id, version: 1, name };
  return { ...common, ...(array && { array }), ...facts, demand, submittedMs };
}

export function keyText(project: string, principal: string, key: string): string {
  return JSON.stringify([project, principal, key]);
}

function committed(value: Submitted): SubmitOutcome {
  return { outcome: 'committed', sequence: 0, value };
}

function refused(refusal: SubmitRefusal): SubmitOutcome {
  return { outcome: 'refused', refusal };
}
