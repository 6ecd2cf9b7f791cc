// Alibaba's GPU trace of 2023 (openb): pods with whole GPUs or a part of one. A pod's run time is from when it was scheduled to
// its deletion, its submit its creation; its quality class (`qos`) becomes the project. Pods without a GPU are excluded: a replay sells GPUs.
import { Columns } from './columns.ts';
import type { ToldRow, TraceBuilder } from './trace-builder.ts';
import { type LineReader, type TraceFormat, TraceRefused } from './trace-format.ts';

export const openb: TraceFormat = {
  name: 'openb',
  about: 'Alibaba openb pod list: name,...,num_gpu,gpu_milli,...,creation_time,deletion_time,scheduled_time',
  devicesPerNode: 8,
  savesWork: true,
  recognises: ([first = '']) => new Columns(first).has('name', 'num_gpu', 'gpu_milli'),
  open,
};

function open(into: TraceBuilder): LineReader {
  let columns: Columns | null = null;
  return {
    line: (text, number) => {
      if (text.trim() === '') return;
      if (columns === null) columns = readHeader(text);
      else into.take(number, readRow(columns, text.split(',')));
    },
    end: () => {},
  };
}

function readHeader(text: string): Columns {
  const columns = new Columns(text);
  columns.require('openb', 'name', 'num_gpu', 'gpu_milli');
  if (!columns.has('creation_time', 'deletion_time'))
    throw new TraceRefused(
      'this pod list has no creation_time and deletion_time (the multigpu lists have none), so there is nothing to replay',
    );
  return columns;
}

function readRow(columns: Columns, fields: readonly string[]): ToldRow {
  if (fields.length !== columns.width)
    return { bad: `it has ${fields.length} fields, and line 1 names ${columns.width}` };
  const createdS = columns.number(fields, 'creation_time');
  const deletedS = columns.number(fields, 'deletion_time');
  const scheduledS = columns.number(fields, 'scheduled_time');
  const size = columns.number(fields, 'num_gpu');
  const milli = columns.number(fields, 'gpu_milli');
  for (const [name, value] of [
    ['creation_time', createdS],
    ['num_gpu', size],
    ['gpu_milli', milli],
  ] as const)
    if (Number.isNaN(value)) return { bad: `${name} is "${columns.text(fields, name)}", not a number` };
  if (size === 0) return { excluded: 'it asks for no GPU' };
  if (Number.isNaN(scheduledS)) return { excluded: 'it was never scheduled' };
  if (Number.isNaN(deletedS)) return { excluded: 'it was never deleted, so its run time is not known' };
  if (deletedS <= scheduledS) return { excluded: 'it ran for 0 s' };
  const sharing = size === 1 && milli > 0 && milli < 1000;
  return {
    submitMs: Math.round(createdS * 1000),
    runMs: Math.round((deletedS - scheduledS) * 1000),
    askedMs: 0,
    size,
    milli: sharing ? milli : 1000,
    user: 'openb',
    project: columns.text(fields, 'qos') || 'openb',
    program: columns.text(fields, 'gpu_spec') || 'any',
  };
}
