// Writes rows in the Standard Workload Format, so that what the generator makes can be read by any simulator.
import type { TraceRow } from './trace-builder.ts';

export function swfText(
  rows: readonly TraceRow[],
  header: readonly (readonly [string, string | number])[],
): string {
  const comments = header.map(([key, value]) => `; ${key}: ${value}`);
  return `${[...comments, ...rows.map(line)].join('\n')}\n`;
}

function line(row: TraceRow, index: number): string {
  const s = (ms: number): number => Math.round(ms / 1000);
  const number = (name: string): string => /\d+$/.exec(name)?.[0] ?? '-1';
  return [
    index + 1,
    s(row.submitMs),
    -1,
    s(row.runMs),
    row.size,
    -1,
    -1,
    row.size,
    row.askedMs > 0 ? s(row.askedMs) : -1,
    -1,
    1,
    number(row.user),
    number(row.project),
    number(row.program),
    -1,
    -1,
    -1,
    -1,
  ].join(' ');
}
