// Muster's own event log, one event a line, as `muster events --follow -o json` prints it and as the API streams it. A job is one row once it has ended:
// it ran as long as its last run did, on the devices it asked for. What happened between (retries, preemptions) is the policy's
// doing and is left to the policy that is replayed.
import { deviceCount, type GroupDemand, type JobDemand, type JobFacts, parseMemberId } from '@muster/model';
import type { ToldRow, TraceBuilder } from './trace-builder.ts';
import type { LineReader, TraceFormat } from './trace-format.ts';

export const musterLog: TraceFormat = {
  name: 'muster',
  about: "Muster's event log, one event a line (muster events --follow --after 0 -o json)",
  devicesPerNode: 8,
  recognises: (head) => {
    const rows = head.filter((line) => line.trim() !== '');
    return rows.length > 0 && rows.slice(0, 3).every((line) => parsedEvent(line) !== null);
  },
  open,
};

interface ReadEvent {
  readonly kind: string;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Submitted {
  readonly facts: JobFacts;
  readonly line: number;
}

interface LastRun {
  startedMs: number | null;
  endedMs: number | null;
}

function open(into: TraceBuilder): LineReader {
  const submitted = new Map<string, Submitted>();
  const runs = new Map<string, LastRun>();
  const arrays = new Set<string>();
  into.clockOriginMs = 0;
  const read = (text: string, number: number): void => {
    const event = parsedEvent(text);
    if (!event) {
      into.take(number, { bad: 'it is not an event of the log as JSON' });
      return;
    }
    const { kind, body } = event;
    const job = String(body.job ?? '');
    if (kind === 'job.submitted') {
      submitted.set(job, { facts: body as unknown as JobFacts, line: number });
      if (body.array) arrays.add(job);
    } else if (kind === 'run.running') runs.set(job, { startedMs: body.startedMs as number, endedMs: null });
    else if (kind === 'run.ended')
      runs.set(job, { startedMs: null, ...runs.get(job), endedMs: body.endedMs as number });
    else if (kind === 'job.ended' && !arrays.has(job)) {
      into.take(number, rowOf(submitted, runs.get(job), job));
      runs.delete(job);
      // Members of an array still need its facts.
      if (!parseMemberId(job)) submitted.delete(job);
    }
  };
  return {
    line: (text, number) => {
      if (text.trim() !== '') read(text, number);
    },
    end: () => {
      for (const [job, { line }] of submitted) {
        if (!arrays.has(job)) into.take(line, { excluded: 'it had not ended when the log was written' });
      }
    },
  };
}

function parsedEvent(text: string): ReadEvent | null {
  if (!text.startsWith('{')) return null;
  try {
    const { kind, body } = JSON.parse(text) as { kind?: unknown; body?: Record<string, unknown> };
    const told = kind ?? body?.kind;
    return typeof told === 'string' && typeof body === 'object' ? { kind: told, body } : null;
  } catch {
    return null;
  }
}

function rowOf(submitted: ReadonlyMap<string, Submitted>, run: LastRun | undefined, job: string): ToldRow {
  const facts = submitted.get(parseMemberId(job)?.array ?? job)?.facts;
  if (!facts) return { excluded: 'it was submitted before the log begins' };
  if (!run || run.startedMs === null || run.endedMs === null) return { excluded: 'it ended without running' };
  if (run.endedMs <= run.startedMs) return { excluded: 'it ran for 0 s' };
  const size = devicesOf(facts.demand);
  if (size === 0) return { excluded: 'it asks for no device' };
  return {
    submitMs: facts.submittedMs,
    runMs: run.endedMs - run.startedMs,
    askedMs: facts.durationMs ?? 0,
    size,
    milli: partOf(facts.demand),
    user: facts.user,
    project: facts.project,
    program: facts.name,
  };
}

/** By the first alternative of each group. */
function devicesOf({ groups }: JobDemand): number {
  return groups.reduce((sum, group) => sum + group.tasks * perTask(group), 0);
}

function perTask({ accelerators: [first] }: GroupDemand): number {
  return first === undefined ? 0 : deviceCount(first);
}

/** Thousandths of its device, where all it asks for is a part of one. */
function partOf({ groups }: JobDemand): number {
  const [only, ...others] = groups;
  const milli = only?.accelerators[0]?.milli ?? 1000;
  return others.length === 0 && only?.tasks === 1 ? Math.min(1000, milli) : 1000;
}
