// The log: gap-free and in commit order. A plain sequence would be neither, because transactions commit in another order than they
// draw numbers, and aborted ones leave holes; a reader that resumes after N would miss a lower number committed
// later. So numbers come from one counter row, whose lock is held from the last statement of a transaction to its COMMIT.
import {
  type EventBody,
  type EventKind,
  eventVersions,
  type LogEvent,
  submittedJob,
  upcast,
} from '@muster/model';
import type { Reader } from './database.ts';

export interface NewEvent {
  readonly body: EventBody;
  /** The project of the job it is about; null for nodes, clusters, leader and policy. */
  readonly project: string | null;
}

const append = {
  name: 'append-events',
  text: `
WITH head AS (
  UPDATE log_head SET sequence = sequence + cardinality($1::text[])
  RETURNING sequence - cardinality($1::text[]) AS base, now_ms() AS at_ms
), inserted AS (
  INSERT INTO event (sequence, at_ms, kind, version, job, project, body)
  SELECT base + n, at_ms, kind, version, job, project, body::json
  FROM head, unnest($1::text[], $2::smallint[], $3::text[], $4::text[], $5::text[])
    WITH ORDINALITY AS e (kind, version, job, project, body, n)
)
SELECT base + cardinality($1::text[]) AS sequence, pg_notify('muster_events', '') FROM head`,
};

export async function appendEvents(reader: Reader, events: readonly NewEvent[]): Promise<number> {
  const [row] = await reader.query<{ sequence: number }>(append, [
    events.map(({ body }) => body.kind),
    events.map(({ body }) => versionOf(body.kind)),
    // What happens to a member is found under its array.
    events.map(({ body }) => ('job' in body ? submittedJob(body.job) : null)),
    events.map(({ project }) => project),
    events.map(({ body }) => eventText(body)),
  ]);
  return row?.sequence as number;
}

export function versionOf(kind: EventKind): number {
  return eventVersions[kind] ?? 1;
}

/** The kind has a column of its own. */
export function eventText(body: EventBody): string {
  const { kind: _, ...rest } = body;
  return JSON.stringify(rest);
}

const head = { name: 'head-sequence', text: 'SELECT sequence FROM log_head' };

export async function readHead(reader: Reader): Promise<number> {
  const [row] = await reader.query<{ sequence: number }>(head);
  return row?.sequence as number;
}

export interface EventRow {
  readonly sequence: number;
  readonly atMs: number;
  readonly kind: EventKind;
  readonly version: number;
  readonly body: Record<string, unknown>;
}

export const eventColumns = 'sequence, at_ms AS "atMs", kind, version, body';

export function toLogEvent(row: EventRow): LogEvent {
  // A job is submitted when its event is written, so that time is stored once.
  const body = row.kind === 'job.submitted' ? { ...row.body, submittedMs: row.atMs } : row.body;
  return { sequence: row.sequence, atMs: row.atMs, body: upcast(row.kind, row.version, body) };
}
