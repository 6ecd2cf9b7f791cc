// What `muster simulate` tells a person: what became of the file's rows, and the policies side by side.
import { type Cli, type Column, shortDuration } from '@muster/cli';
import { type Comparison, durations, formats, type Measures, policyRows, type ReadReport } from '@muster/sim';

/** Bad rows told one by one; the rest are counted. */
const badShown = 5;

/** Nothing is silently dropped: one line for each kind of row that is not a job. */
export function readLines({ file, rows, jobs, excluded, bad, badCount }: ReadReport): string[] {
  const lines = excluded.map(({ reason, count, firstLine }) => {
    const told = count === 1 ? '1 row is excluded' : `${count} rows are excluded, each`;
    return `${file}: ${told} because ${reason} (first: line ${firstLine})`;
  });
  for (const { line, why } of bad.slice(0, badShown))
    lines.push(`${file}:${line}: ${why}; the row is left out`);
  if (badCount > badShown)
    lines.push(`${file}: ${badCount} bad rows in all, of ${rows}; ${jobs} jobs were read`);
  return lines;
}

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;
const seconds = (s: number): string => whole.format(s);
const slow = (value: number): string =>
  value >= 100 ? whole.format(value) : value.toFixed(value < 10 ? 2 : 1);

export function printComparison(cli: Cli, { trace, fleet, notes, policies }: Comparison): void {
  const span = shortDuration(trace.spanS * 1000);
  cli.line(
    `${cli.paint('bold', trace.file)}  ${whole.format(trace.jobs)} jobs of ${trace.users} users in ${span}, ` +
      `${whole.format(fleet.devices)} devices, load ${percent(trace.load)}`,
  );
  cli.table<Measures>(columns(policies), policies);
  for (const note of notes) cli.line(cli.paint('dim', note));
  const impossible = policies[0]?.impossible ?? 0;
  if (impossible > 0)
    cli.line(`${whole.format(impossible)} jobs ask for more than this fleet has; they are in no figure.`);
}

function columns(rows: readonly Measures[]): readonly Column<Measures>[] {
  const right = 'right' as const;
  const stops = rows.some(({ preemptions }) => preemptions > 0);
  const figure = (title: string, importance: number, cell: (row: Measures) => string): Column<Measures> => ({
    title,
    cell,
    importance,
    align: right,
  });
  return [
    { title: 'POLICY', cell: ({ policy }) => policy, importance: 100, fixed: true },
    { title: 'DURATIONS', cell: (row) => row.durations ?? '', importance: 60 },
    figure('AVG WAIT S', 95, (row) => seconds(row.avgWaitS)),
    figure('P50', 40, (row) => seconds(row.medianWaitS)),
    figure('P99', 70, (row) => seconds(row.p99WaitS)),
    figure('MAX', 65, (row) => seconds(row.maxWaitS)),
    figure('AVG JCT S', 80, (row) => seconds(row.avgJctS)),
    figure('SLOWDOWN', 90, (row) => slow(row.boundedSlowdown)),
    figure('USED', 85, (row) => percent(row.utilisation)),
    figure('SCATTERED', 30, (row) =>
      rows.every(({ fragmentation }) => fragmentation === 0) ? '' : percent(row.fragmentation),
    ),
    figure('UNFAIR', 50, (row) => percent(row.unfairPart)),
    figure('SHARE ERR', 35, (row) => percent(row.shareError)),
    figure('STOPS', 55, (row) => (stops ? whole.format(row.preemptions) : '')),
    figure('GOODPUT', 54, (row) => (stops ? percent(row.goodput) : '')),
    figure('COST', 45, (row) => (row.cost === null ? '' : whole.format(row.cost))),
    figure('MAKESPAN', 42, (row) => shortDuration(row.makespanS * 1000)),
  ];
}

export function printLists(cli: Cli): void {
  const lists = {
    policies: policyRows.map(({ name, about, believes }) => ({ name, about, believes })),
    formats: formats.map(({ name, about }) => ({ name, about })),
    durations,
  };
  cli.show(lists, () => {
    cli.line(cli.paint('bold', 'Policies (* believes something of run times: --durations)'));
    for (const { name, about, believes } of lists.policies)
      cli.line(`  ${`${name}${believes ? '*' : ''}`.padEnd(14)} ${about}`);
    cli.line(cli.paint('bold', 'Formats'));
    for (const { name, about } of lists.formats) cli.line(`  ${name.padEnd(14)} ${about}`);
  });
}
