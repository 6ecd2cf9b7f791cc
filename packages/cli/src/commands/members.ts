// muster members: the members of an array that have started, by index.
import { type JobView, nearest } from '@muster/model';
import { Command, Option } from 'commander';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { findJob } from '../find-job.ts';
import { jobReason, jobState, jobTime } from '../job-text.ts';
import { paintState } from '../text/style.ts';
import type { Column } from '../text/table.ts';

const outcomes = ['succeeded', 'failed', 'cancelled'] as const;
type Outcome = (typeof outcomes)[number];

interface Flags {
  readonly outcome?: string;
  readonly limit: string;
}

export function membersCommand(cli: Cli): Command {
  return new Command('members')
    .summary('list the members of an array')
    .description(
      'List the members of an array that have started, by index. "muster show" tells which have not.',
    )
    .argument('<job>', 'an id, the start of one, or a name')
    .option('--outcome <outcome>', `only those that ended so: ${outcomes.join(', ')}`)
    .addOption(new Option('-n, --limit <n>', 'at most this many').default('200'))
    .action(cli.act((word: string, flags: Flags) => list(cli, word, flags)));
}

async function list(cli: Cli, word: string, flags: Flags): Promise<void> {
  const limit = Number(flags.limit);
  if (!Number.isInteger(limit) || limit < 1)
    throw usage(`--limit wants a whole number from 1, got "${flags.limit}"`);
  const outcome = outcomeOf(flags.outcome);
  const client = cli.client();
  const id = await findJob(client, word);
  const items: JobView[] = [];
  let next: string | null = null;
  do {
    const page = await client.jobs.members(id, {
      outcome,
      limit: Math.min(limit - items.length, 1000),
      ...(next ? { cursor: next } : {}),
    });
    items.push(...page.items);
    next = page.next;
  } while (next !== null && items.length < limit);
  cli.show({ items, next }, () => {
    if (items.length === 0) cli.line('No member fits.');
    else cli.table(columns(cli), items);
    if (next !== null) cli.line(cli.paint('dim', `more than ${flags.limit} members; -n shows more`));
  });
}

function outcomeOf(text: string | undefined): Outcome | undefined {
  const known = outcomes.find((outcome) => outcome === text);
  if (text === undefined || known) return known;
  const near = nearest(text, outcomes);
  throw usage(
    `there is no outcome "${text}"; ${near ? `did you mean "${near}"? ` : ''}they are ${outcomes.join(', ')}`,
  );
}

function columns(cli: Cli): Column<JobView>[] {
  return [
    { title: 'MEMBER', cell: (job) => job.id, importance: 100, fixed: true },
    {
      title: 'STATE',
      cell: jobState,
      paint: (text) => paintState(cli.paint, text),
      importance: 90,
      fixed: true,
    },
    { title: 'ATTEMPT', cell: (job) => String(job.attempt), align: 'right', importance: 50 },
    { title: 'TIME', cell: (job) => jobTime(job, cli.nowMs), align: 'right', importance: 70 },
    { title: 'REASON', cell: jobReason, importance: 40, least: 24 },
  ];
}
