// The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, comments and a header behind semicolons,
// -1 for what is not known. A job is replayed with the size it asked for, and with what it used where it did not say.
import type { ToldRow, TraceBuilder } from './trace-builder.ts';
import type { LineReader, TraceFormat } from './trace-format.ts';

const fields = {
  submitS: 1,
  runS: 3,
  usedSize: 4,
  askedSize: 7,
  askedS: 8,
  user: 11,
  group: 12,
  program: 13,
  queue: 14,
} as const;
const width = 18;

export const swf: TraceFormat = {
  name: 'swf',
  about: 'Standard Workload Format (Parallel Workloads Archive)',
  devicesPerNode: 1,
  savesWork: false,
  recognises: (head) => {
    const rows = head.filter((line) => line.trim() !== '' && !line.startsWith(';'));
    const alike = rows.filter((line) => /^\s*-?\d+(\s+-?[\d.]+){10,}\s*$/.test(line));
    return alike.length * 2 > rows.length;
  },
  open,
};

function open(into: TraceBuilder): LineReader {
  const header = new Map<string, number>();
  return {
    line: (text, number) => {
      const line = text.trim();
      if (line === '') return;
      if (line.startsWith(';')) readHeader(line, header);
      else into.take(number, readRow(line, into));
    },
    end: () => {
      into.machineDevices = header.get('MaxProcs') ?? header.get('MaxNodes') ?? null;
      const start = header.get('UnixStartTime');
      into.clockOriginMs = start === undefined || start <= 0 ? null : start * 1000;
    },
  };
}

function readHeader(line: string, header: Map<string, number>): void {
  const told = /^;\s*(MaxProcs|MaxNodes|UnixStartTime):\s*(\d+)/.exec(line);
  if (told && !header.has(told[1]!)) header.set(told[1]!, Number(told[2]));
}

function readRow(line: string, into: TraceBuilder): ToldRow {
  const texts = line.split(/\s+/);
  if (texts.length !== width) return { bad: `it has ${texts.length} fields, and the format has ${width}` };
  const values = texts.map(Number);
  const wrong = values.findIndex(Number.isNaN);
  if (wrong >= 0) return { bad: `field ${wrong + 1} is "${texts[wrong]}", not a number` };
  const runS = values[fields.runS]!;
  const askedSize = values[fields.askedSize]!;
  const size = askedSize > 0 ? askedSize : values[fields.usedSize]!;
  if (runS <= 0) return { excluded: runS === 0 ? 'it ran for 0 s' : 'its run time is not known' };
  if (size <= 0) return { excluded: 'its size is not known' };
  if (askedSize <= 0) into.note('Where the size asked for is not told, the size that was used counts.');
  return {
    submitMs: Math.round(values[fields.submitS]! * 1000),
    runMs: Math.round(runS * 1000),
    askedMs: Math.max(0, Math.round(values[fields.askedS]! * 1000)),
    size,
    milli: 1000,
    user: named('user', values[fields.user]!),
    project: named('group', values[fields.group]!),
    program: `${named('program', values[fields.program]!)}@${values[fields.queue]!}`,
  };
}

function named(what: string, value: number): string {
  return value < 0 ? `${what}-unknown` : `${what}-${value}`;
}
