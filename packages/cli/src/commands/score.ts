// muster score: the choice among clusters, pools and alternatives as a table, the runners-up included.
import type { ScoreHow, ScoreRow, ScoreView } from '@muster/model';
import { formatDurationMs } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { findJob } from '../find-job.ts';
import { atPlace, readOneJob } from '../spec/check.ts';
import { clean } from '../text/clean.ts';
import { moneyText } from '../text/money.ts';
import type { Column } from '../text/table.ts';
import { shortDuration } from '../text/time.ts';

export function scoreCommand(cli: Cli): Command {
  return new Command('score')
    .summary('where a job could go, and what each place costs')
    .description(
      'Every kind of place (cluster, pool, kind of capacity, alternative) where the tasks of a job could run, with each term\n' +
        'of its score in money: what starts now first, then the cheapest. A star marks where they would go if the job were\n' +
        'next. The job is one that has not ended, or that of a file.',
    )
    .argument('[job]', 'an id, the start of one, or a name')
    .option('-f, --file <file>', 'a job that is not submitted, YAML or JSON; "-" is stdin')
    .action(
      cli.act(async (word: string | undefined, { file }: { file?: string }) => {
        if ((word === undefined) === (file === undefined))
          throw usage('name a job, or give a file with -f; one of the two');
        const score = file === undefined ? await ofJob(cli, word!) : await ofFile(cli, file);
        cli.show(score, () => print(cli, score));
      }),
    );
}

async function ofJob(cli: Cli, word: string): Promise<ScoreView> {
  const client = cli.client();
  return client.score({ job: await findJob(client, word) });
}

async function ofFile(cli: Cli, path: string): Promise<ScoreView> {
  const { file, document } = await readOneJob(path, cli.terminal.stdin);
  return cli
    .client()
    .score({ spec: document.value })
    .catch((error) => {
      throw atPlace(document, file, error);
    });
}

function print(cli: Cli, { rows, workMs, placed }: ScoreView): void {
  if (placed !== null)
    cli.line(`It is ${clean(placed)}. Below is what it would cost to start now, where it is or elsewhere.`);
  if (rows.length === 0) {
    cli.line('No node that takes work could ever run it; "muster submit --dry-run" says why.');
    return;
  }
  cli.line(
    cli.paint('dim', `What ${formatDurationMs(workMs)} of one task's work costs; (h) is for an hour of it:`),
  );
  cli.table<ScoreRow>(columns(rows), rows);
  if (placed === null && rows.every(({ chosen }) => chosen === 0))
    cli.line(cli.paint('dim', 'It does not start anywhere now; "muster why" or a dry run says why.'));
}

const howWords: Readonly<Record<ScoreHow, string>> = {
  now: 'now',
  preempts: 'stops',
  waits: 'in',
  unknown: 'not known',
  part: 'a part only',
};

function starts({ how, victims, waitMs }: ScoreRow): string {
  if (how === 'preempts') return `${howWords[how]} ${victims}`;
  return how === 'waits' ? `${howWords[how]} ${shortDuration(waitMs)}` : howWords[how];
}

type Term =
  | 'price'
  | 'speed'
  | 'preference'
  | 'trust'
  | 'fragmentation'
  | 'waiting'
  | 'preemption'
  | 'transfer';

function columns(rows: readonly ScoreRow[]): Column<ScoreRow>[] {
  const groups = new Set(rows.map(({ group }) => group));
  const money = (title: string, term: Term, importance: number): Column<ScoreRow> => ({
    title,
    cell: (row) => moneyText(row[term]),
    align: 'right',
    importance,
  });
  const wherePriced = (
    title: string,
    cell: (row: ScoreRow) => string | null,
    importance: number,
  ): Column<ScoreRow>[] =>
    rows.some((row) => cell(row) !== null) ? [{ title, cell: (row) => cell(row) ?? '', importance }] : [];
  return [
    { title: '', cell: ({ chosen }) => (chosen > 0 ? '*' : ' '), importance: 100, fixed: true },
    ...(groups.size > 1
      ? [{ title: 'GROUP', cell: ({ group }: ScoreRow) => group, importance: 97, least: 8 }]
      : []),
    { title: 'CLUSTER', cell: ({ cluster }) => cluster, importance: 90, least: 7 },
    { title: 'POOL', cell: ({ pool }) => pool, importance: 95, least: 6 },
    { title: 'CAPACITY', cell: ({ capacity }) => capacity ?? '', importance: 60 },
    ...wherePriced('REGION', ({ region }) => region, 62),
    ...wherePriced('INSTANCE', ({ instanceType }) => instanceType, 61),
    { title: 'DEVICES', cell: ({ models }) => models.join(', '), importance: 85, least: 6 },
    { title: 'ALT', cell: ({ alternative }) => String(alternative + 1), align: 'right', importance: 40 },
    { title: 'STARTS', cell: starts, importance: 96, fixed: true },
    money('PRICE(h)', 'price', 80),
    money('SPEED(h)', 'speed', 75),
    money('PREFER(h)', 'preference', 70),
    money('TRUST(h)', 'trust', 72),
    money('FRAGMENT(h)', 'fragmentation', 71),
    money('WAITING', 'waiting', 78),
    money('PREEMPTION', 'preemption', 77),
    // Nothing to see for jobs that do not say where their data is.
    money('TRANSFER', 'transfer', rows.some(({ transfer }) => transfer > 0) ? 79 : 20),
    {
      title: 'TOTAL',
      cell: ({ total }) => moneyText(total),
      align: 'right',
      importance: 99,
      fixed: true,
    },
    {
      title: 'FITS',
      cell: ({ tasksFit, nodes }) => `${tasksFit} on ${nodes}`,
      align: 'right',
      importance: 50,
    },
  ];
}
