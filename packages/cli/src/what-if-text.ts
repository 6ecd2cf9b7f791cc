// The answer to a what-if on a terminal: who is stopped, preempted, starts or waits for another reason, and what it costs.
import type {
  LostWork,
  WhatIfList,
  WhatIfMove,
  WhatIfPreemption,
  WhatIfStart,
  WhatIfStopView,
  WhatIfView,
} from '@muster/model';
import type { Cli } from './cli.ts';
import { clean } from './text/clean.ts';
import { moneyText } from './text/money.ts';
import type { Column } from './text/table.ts';
import { localTimes, shortDuration } from './text/time.ts';
import { wrap } from './text/width.ts';

/** On a terminal; what "muster whatif" prints, and "muster policy apply" before it does anything. */
export function whatIfLines(cli: Cli, answer: WhatIfView): string[] {
  const before = cli.paint('dim', `At event ${answer.sequence}, with this change:`);
  const sections = [
    section(cli, answer.stops, ['job is stopped by it', 'jobs are stopped by it'], stopColumns),
    waitsAgain(cli, answer),
    section(cli, answer.preempts, ['job is preempted', 'jobs are preempted'], preemptColumns),
    section(
      cli,
      answer.spares,
      ['job is no longer preempted', 'jobs are no longer preempted'],
      preemptColumns,
    ),
    section(cli, answer.starts, ['job starts', 'jobs start'], startColumns),
    section(cli, answer.startsNot, ['job no longer starts', 'jobs no longer start'], startColumns),
    section(cli, answer.moves, ['job starts elsewhere', 'jobs start elsewhere'], moveColumns),
    costLines(cli, answer),
    reasons(cli, answer),
  ].filter((lines) => lines.length > 0);
  const lines = [before];
  if (sections.length === 0) lines.push('  nothing else is decided than without it');
  for (const section of sections) lines.push(...section.map((line) => (line === '' ? '' : `  ${line}`)));
  if (!answer.settled)
    lines.push(
      cli.paint('yellow', `There is more to come: only the first ${answer.cycles} cycles were looked at.`),
    );
  return lines;
}

/** What it costs: work that is lost, and what all that runs costs from then on. */
function costLines(cli: Cli, { cost }: WhatIfView): string[] {
  const { lostMicro, sparedMicro, hourMicro } = cost;
  const lines = [
    ...(lostMicro > 0 ? [`lost work worth ${money(lostMicro)}`] : []),
    ...(sparedMicro > 0 ? [`work worth ${money(sparedMicro)} that is no longer lost`] : []),
    ...(hourMicro !== 0
      ? [`${money(Math.abs(hourMicro))} an hour ${hourMicro > 0 ? 'more' : 'less'} for what runs`]
      : []),
  ];
  return lines.length === 0
    ? []
    : ['', cli.paint('bold', 'What it costs'), ...lines.map((line) => `  ${line}`)];
}

const money = (micro: number): string => moneyText(micro / 1_000_000);

type Named = { readonly name: string };
type OfJob = { readonly job: string; readonly project: string };

function section<T extends OfJob>(
  cli: Cli,
  { count, items }: WhatIfList<T>,
  [one, several]: readonly [string, string],
  columns: readonly Column<T & Named>[],
): string[] {
  if (count === 0) return [];
  const hidden = count - items.length;
  const also = hidden > 0 && items.length > 0 ? `; ${hidden} of them not shown` : '';
  const title = cli.paint('bold', `${count} ${count === 1 ? one : several}${also}`);
  const lines = items.length > 0 ? cli.tableLines<T & Named>([...common(), ...columns], items) : [];
  return ['', title, ...lines.map((line) => `  ${line}`)];
}

function common<T extends OfJob & Named>(): Column<T>[] {
  return [
    { title: 'NAME', cell: ({ name }) => name, importance: 8, least: 10 },
    { title: 'JOB', cell: ({ job }) => job, importance: 9 },
    { title: 'PROJECT', cell: ({ project }) => project, importance: 6, least: 8 },
  ];
}

const startColumns: readonly Column<WhatIfStart & Named>[] = [
  { title: 'NODES', cell: ({ nodes }) => some(nodes), importance: 7, least: 8 },
  { title: 'AN HOUR', cell: ({ hourMicro }) => money(hourMicro), align: 'right', importance: 4 },
];

function lostColumns<T extends LostWork>(): Column<T>[] {
  return [
    { title: 'LOSES', cell: ({ lostMs }) => shortDuration(lostMs), align: 'right', importance: 6 },
    { title: 'WORTH', cell: ({ lostMicro }) => money(lostMicro), align: 'right', importance: 6 },
  ];
}

const moveColumns: readonly Column<WhatIfMove & Named>[] = [
  { title: 'FROM', cell: ({ from }) => some(from), importance: 5, least: 8 },
  { title: 'TO', cell: ({ to }) => some(to), importance: 7, least: 8 },
];
const stopColumns: readonly Column<WhatIfStopView & Named>[] = [
  ...lostColumns<WhatIfStopView & Named>(),
  { title: 'THEN', cell: ({ requeued }) => (requeued ? 'waits again' : 'ends'), importance: 7 },
];
const preemptColumns: readonly Column<WhatIfPreemption & Named>[] = [
  ...lostColumns<WhatIfPreemption & Named>(),
  { title: 'FOR', cell: ({ by }) => by ?? 'another project', importance: 7 },
  { title: 'BY RIGHT OF', cell: ({ right }) => right, importance: 5 },
];

function some(names: readonly string[]): string {
  return names.length > 4 ? `${names.slice(0, 4).join(', ')} and ${names.length - 4} more` : names.join(', ');
}

/** Why those that are stopped do not start elsewhere; each reason once. */
function waitsAgain(cli: Cli, { stops }: WhatIfView): string[] {
  const waiting = stops.items.filter(({ afterText }) => afterText !== null);
  return [...Map.groupBy(waiting, ({ afterText }) => afterText)].flatMap(([text, jobs]) => [
    `  ${some(jobs.map(({ name, job }) => `${clean(name)} (${job})`))}`,
    ...reasonLines(cli, text ?? ''),
  ]);
}

/** Indented, with times as the reader's clock has them. */
function reasonLines(cli: Cli, text: string): string[] {
  const width = (cli.width ?? Number.POSITIVE_INFINITY) - 6;
  return wrap(localTimes(clean(text), cli.nowMs), width).map((line) => `    ${line}`);
}

/** Of the others; a job that is stopped has its reason beside it. */
function reasons(cli: Cli, { verdicts, stops }: WhatIfView): string[] {
  const told = new Set(stops.items.filter(({ afterText }) => afterText !== null).map(({ job }) => job));
  const untold = verdicts.items.filter(({ job, jobs }) => jobs > 1 || !told.has(job));
  const hidden = verdicts.count - verdicts.items.length;
  if (untold.length + hidden === 0) return [];
  const lines = ['', cli.paint('bold', 'Reasons to wait that change')];
  for (const { name, job, project, jobs, beforeText, afterText } of untold) {
    const also = jobs > 1 ? ` and ${jobs - 1} like it` : '';
    lines.push(`  ${clean(name)}${also} (${job}, project ${clean(project)})`);
    lines.push(...reasonLines(cli, `was: ${beforeText ?? 'not waiting'}`));
    lines.push(...reasonLines(cli, `now: ${afterText ?? 'not looked at yet'}`));
  }
  if (hidden > 0) lines.push(`  ${hidden} more, not shown`);
  return lines;
}
