// Microsoft's Philly as Pollux, Sia and ElasticFlow use it: timestamp, duration in seconds, GPUs, and the virtual cluster,
// which becomes the project. It names no users and no asked times. Its clock is taken as UTC.
import { Columns } from './columns.ts';
import type { ToldRow, TraceBuilder } from './trace-builder.ts';
import type { LineReader, TraceFormat } from './trace-format.ts';

export const philly: TraceFormat = {
  name: 'philly',
  about: 'Microsoft Philly: timestamp,duration,num_gpus,gpu_time,cluster',
  devicesPerNode: 8,
  savesWork: true,
  recognises: ([first = '']) => new Columns(first).has('timestamp', 'duration', 'num_gpus'),
  open,
};

function open(into: TraceBuilder): LineReader {
  let columns: Columns | null = null;
  into.clockOriginMs = 0;
  return {
    line: (text, number) => {
      if (text.trim() === '') return;
      if (columns === null) {
        columns = new Columns(text);
        columns.require('philly', 'timestamp', 'duration', 'num_gpus');
      } else into.take(number, readRow(columns, text.split(',')));
    },
    end: () => {},
  };
}

function readRow(columns: Columns, fields: readonly string[]): ToldRow {
  if (fields.length !== columns.width)
    return { bad: `it has ${fields.length} fields, and line 1 names ${columns.width}` };
  const timestamp = columns.text(fields, 'timestamp');
  const submitMs = Date.parse(`${timestamp.replace(' ', 'T')}Z`);
  const durationS = columns.number(fields, 'duration');
  const size = columns.number(fields, 'num_gpus');
  if (Number.isNaN(submitMs)) return { bad: `its timestamp is "${timestamp}", not a time` };
  if (Number.isNaN(durationS))
    return { bad: `its duration is "${columns.text(fields, 'duration')}", not a number` };
  if (Number.isNaN(size)) return { bad: `num_gpus is "${columns.text(fields, 'num_gpus')}", not a number` };
  if (durationS <= 0) return { excluded: 'it ran for 0 s' };
  if (size === 0) return { excluded: 'it asks for no GPU' };
  const project = columns.text(fields, 'cluster') || 'philly';
  return {
    submitMs,
    runMs: Math.round(durationS * 1000),
    askedMs: 0,
    size,
    milli: 1000,
    user: columns.text(fields, 'user') || project,
    project,
    program: 'job',
  };
}
