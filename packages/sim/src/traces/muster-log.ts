// Muster's own event log, one event a line, as `muster events --follow -o json` prints it and as the API streams it. A job is one row once it has ended:
// it ran as long as its last run did, on the devices it asked for.
import { deviceCount, type GroupDemand, type JobDemand } from '@muster/model';
import { type PastEvent, PastJobs, type Told } from './past-jobs.ts';
import type { ToldRow, TraceBuilder } from './trace-builder.ts';
import type { LineReader, TraceFormat } from './trace-format.ts';

export const musterLog: TraceFormat = {
  name: 'muster',
  about: "Muster's event log, one event a line (muster events --follow --after 0 -o json)",
  devicesPerNode: 8,
  savesWork: true,
  recognises: (head) => {
    const rows = head.filter((line) => line.trim() !== '');
    return rows.length > 0 && rows.slice(0, 3).every((line) => parsedEvent(line) !== null);
  },
  open,
};

function open(into: TraceBuilder): LineReader {
  const past = new PastJobs();
  const lines = new Map<string, number>();
  into.clockOriginMs = 0;
  const read = (text: string, number: number): void => {
    const event = parsedEvent(text);
    if (!event) {
      into.take(number, { bad: 'it is not an event of the log as JSON' });
      return;
    }
    if (event.kind === 'job.submitted') lines.set(String(event.body.job), number);
    const told = past.take(event);
    if (told) into.take(number, rowOf(told));
  };
  return {
    line: (text, number) => {
      if (text.trim() !== '') read(text, number);
    },
    end: () => {
      for (const { job } of past.unfinished(0))
        into.take(lines.get(job) ?? 0, { excluded: 'it had not ended when the log was written' });
    },
  };
}

function parsedEvent(text: string): PastEvent | null {
  if (!text.startsWith('{')) return null;
  try {
    const { kind, body } = JSON.parse(text) as { kind?: unknown; body?: Record<string, unknown> };
    const told = kind ?? body?.kind;
    return typeof told === 'string' && typeof body === 'object' ? { kind: told, body } : null;
  } catch {
    return null;
  }
}

function rowOf(told: Told): ToldRow {
  if ('excluded' in told) return told;
  const { facts, runMs } = told;
  const size = devicesAsked(facts.demand);
  if (size === 0) return { excluded: 'it asks for no device' };
  return {
    submitMs: facts.submittedMs,
    runMs,
    askedMs: facts.durationMs ?? 0,
    size,
    milli: partOf(facts.demand),
    user: facts.user,
    project: facts.project,
    program: facts.name,
  };
}

/** By the first alternative of each group. */
export function devicesAsked({ groups }: JobDemand): number {
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
