// The figures side by side: one row a policy, a bar in every cell for the eye, the best of each column set apart.
import type { Measures } from '../metrics/measures.ts';
import { escaped } from './svg.ts';
import { count, duration, factor, percent } from './words.ts';

interface FigureColumn {
  readonly title: string;
  readonly hint: string;
  readonly value: (row: Measures) => number;
  readonly text: (value: number) => string;
  readonly better: 'less' | 'more' | 'neither';
}

const columns: readonly FigureColumn[] = [
  {
    title: 'Average wait',
    hint: 'time beyond the run time',
    value: (row) => row.avgWaitS,
    text: duration,
    better: 'less',
  },
  {
    title: 'Median',
    hint: 'half of all jobs wait at most this',
    value: (row) => row.medianWaitS,
    text: duration,
    better: 'less',
  },
  {
    title: 'P99',
    hint: '99 of 100 jobs wait at most this',
    value: (row) => row.p99WaitS,
    text: duration,
    better: 'less',
  },
  {
    title: 'Longest',
    hint: 'the longest wait of any job',
    value: (row) => row.maxWaitS,
    text: duration,
    better: 'less',
  },
  {
    title: 'Slowdown',
    hint: 'time in the system / run time, at least 10 s, mean',
    value: (row) => row.boundedSlowdown,
    text: factor,
    better: 'less',
  },
  {
    title: 'Average JCT',
    hint: 'from submit to end',
    value: (row) => row.avgJctS,
    text: duration,
    better: 'less',
  },
  {
    title: 'In use',
    hint: 'part of all device-time held by runs, to the last end',
    value: (row) => row.utilisation,
    text: percent,
    better: 'more',
  },
  {
    title: 'Scattered',
    hint: 'part of the free device-time on partly used nodes',
    value: (row) => row.fragmentation,
    text: percent,
    better: 'less',
  },
  {
    title: 'Unfair',
    hint: 'part of jobs that end later than an equal share would have them',
    value: (row) => row.unfairPart,
    text: percent,
    better: 'less',
  },
  {
    title: 'Share error',
    hint: 'what projects lacked of their equal share, mean',
    value: (row) => row.shareError,
    text: percent,
    better: 'less',
  },
  { title: 'Stops', hint: 'preemptions', value: (row) => row.preemptions, text: count, better: 'neither' },
  {
    title: 'Goodput',
    hint: 'part of the held device-time that was work kept',
    value: (row) => row.goodput,
    text: percent,
    better: 'more',
  },
  {
    title: 'Cost',
    hint: 'held device-time at the price of the fleet',
    value: (row) => row.cost ?? 0,
    text: count,
    better: 'less',
  },
  {
    title: 'Makespan',
    hint: 'from the first submit to the last end',
    value: (row) => row.makespanS,
    text: duration,
    better: 'less',
  },
];

export function figuresTable(
  rows: readonly Measures[],
  labels: readonly string[],
  colours: readonly number[],
): string {
  const shown = columns.filter(
    ({ value }) => rows.some((row) => value(row) !== value(rows[0]!)) || value(rows[0]!) !== 0,
  );
  const head = shown.map(
    ({ title, hint }) => `<th scope="col" title="${escaped(hint)}">${escaped(title)}</th>`,
  );
  const body = rows.map((row, i) => {
    const cells = shown.map((column) => cell(column, column.value(row), rows));
    return `<tr><th scope="row"><span class="dot c${colours[i]}"></span>${escaped(labels[i]!)}</th>${cells.join('')}</tr>`;
  });
  return `<div class="scroll"><table><thead><tr><th scope="col">Policy</th>${head.join('')}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}

function cell({ value, text, better }: FigureColumn, own: number, rows: readonly Measures[]): string {
  const all = rows.map(value);
  const most = Math.max(...all);
  const best = better === 'less' ? Math.min(...all) : most;
  const isBest =
    better !== 'neither' && rows.length > 1 && own === best && all.some((other) => other !== best);
  const width = most === 0 ? 0 : Math.round((own / most) * 100);
  return `<td${isBest ? ' class="best"' : ''}><span class="figure">${escaped(text(own))}</span><span class="bar" style="width:${width}%"></span></td>`;
}
