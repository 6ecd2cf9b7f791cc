// muster ps: the jobs that matter now. Those not ended, and those that ended a short while ago; --all goes further back.
import type { JobFilter, MusterClient } from '@muster/client';
import { type JobView, nearest } from '@muster/model';
import { Command, Option } from 'commander';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { jobProgress, jobReason, jobSize, jobState, jobTime } from '../job-text.ts';
import { repeatedly } from '../repeatedly.ts';
import { paintState } from '../text/style.ts';
import type { Column } from '../text/table.ts';
import { ago, localTime } from '../text/time.ts';

interface Flags {
  readonly all?: boolean;
  readonly state?: string;
  readonly project?: string;
  readonly name?: string;
  readonly user?: string;
  readonly limit: string;
  readonly watch?: boolean;
}

type State = JobView['state'];
const liveStates: readonly State[] = ['queued', 'held', 'starting', 'running', 'stopping'];
const outcomes = ['succeeded', 'failed', 'cancelled'] as const;
const recentMs = 3_600_000;
const recentCount = 10;

export function psCommand(cli: Cli): Command {
  return new Command('ps')
    .alias('jobs')
    .summary('list jobs')
    .description(
      'List the jobs that have not ended and the last few that ended within the hour, newest first.',
    )
    .option('-a, --all', 'all jobs, however long ago they ended')
    .option(
      '--state <states>',
      `only these, separated by commas: ${[...liveStates, 'ended', ...outcomes].join(', ')}`,
    )
    .option('--project <path>', 'only this project and those below it')
    .option('--name <name>', 'only jobs of this name')
    .option('--user <name>', 'only jobs this one submitted')
    .addOption(new Option('-n, --limit <n>', 'at most this many').default('200'))
    .option('--watch', 'show it again when something changes')
    .action(
      cli.act((flags: Flags) => {
        const client = cli.client();
        return repeatedly(cli, client, flags.watch ?? false, () => ps(cli, client, flags));
      }),
    );
}

async function ps(cli: Cli, client: MusterClient, flags: Flags): Promise<string[] | { value: unknown }> {
  const filtered = [flags.state, flags.project, flags.name, flags.user].some((flag) => flag !== undefined);
  const page = await jobsToShow(cli, client, flags);
  if (cli.globals.output === 'json' || cli.globals.output === 'yaml') return { value: page };
  if (page.items.length > 0) {
    const more = page.next === null ? [] : [cli.paint('dim', `more than ${flags.limit} jobs; -n shows more`)];
    const lines = cli.tableLines(columns(cli), page.items);
    const untold = !lines[0]?.includes('REASON') && page.items.some((job) => jobReason(job) !== '');
    const hint = untold ? [cli.paint('dim', 'no room for reasons; see: muster why JOB, or -o wide')] : [];
    return [...lines, ...more, ...hint];
  }
  if (filtered) return ['No job fits.'];
  return [
    flags.all ? 'There is no job yet.' : 'No job is waiting or running.',
    'Submit one:  muster run --gpus 1 -- python train.py     or  muster submit -f job.yaml',
    ...(flags.all ? [] : ['Older ones:  muster ps --all']),
  ];
}

async function jobsToShow(
  cli: Cli,
  client: MusterClient,
  flags: Flags,
): Promise<{ items: JobView[]; next: string | null }> {
  const limit = Number(flags.limit);
  if (!Number.isInteger(limit) || limit < 1)
    throw usage(`--limit wants a whole number from 1, got "${flags.limit}"`);
  const filter: JobFilter = { project: flags.project, name: flags.name, submittedBy: flags.user };
  const chosen = flags.state === undefined ? null : parseStates(flags.state);
  if (chosen || flags.all)
    return collected(client, { ...filter, state: chosen?.states }, limit, chosen?.outcomes ?? null);
  const [live, ended] = await Promise.all([
    collected(client, { ...filter, state: liveStates }, limit, null),
    client.jobs.list({ ...filter, state: ['ended'], limit: recentCount }),
  ]);
  const recent = ended.items.filter(({ endedAt }) => cli.nowMs - Date.parse(endedAt ?? '') < recentMs);
  const items = [...live.items, ...recent].sort((a, b) => (a.id < b.id ? 1 : -1));
  return { items, next: live.next };
}

async function collected(
  client: MusterClient,
  filter: JobFilter,
  limit: number,
  only: ReadonlySet<string> | null,
) {
  const items: JobView[] = [];
  let next: string | null = null;
  do {
    const page = await client.jobs.list({
      ...filter,
      limit: Math.min(limit, 1000),
      ...(next ? { cursor: next } : {}),
    });
    items.push(...page.items.filter((job) => only === null || only.has(jobState(job))));
    next = page.next;
  } while (next !== null && items.length < limit);
  return { items: items.slice(0, limit), next };
}

function parseStates(text: string): { states: State[]; outcomes: ReadonlySet<string> | null } {
  const known: readonly string[] = [...liveStates, 'ended', ...outcomes];
  const words = text.split(',').map((word) => word.trim());
  for (const word of words) {
    if (known.includes(word)) continue;
    const near = nearest(word, known);
    throw usage(
      `there is no state "${word}"; ${near ? `did you mean "${near}"? ` : ''}states are ${known.join(', ')}`,
    );
  }
  const named = (word: string): boolean => (outcomes as readonly string[]).includes(word);
  const states = [...new Set(words.map((word) => (named(word) ? 'ended' : word) as State))];
  // The API knows "ended"; how it ended is looked at here.
  const wanted = words.some(named) && !words.includes('ended') ? new Set(words) : null;
  return { states, outcomes: wanted };
}

function columns(cli: Cli): Column<JobView>[] {
  return [
    { title: 'JOB', cell: (job) => job.id, importance: 100, fixed: true },
    { title: 'NAME', cell: (job) => job.name, importance: 60, least: 10 },
    {
      title: 'STATE',
      cell: (job) => (job.verdict?.kind === 'impossible' ? 'impossible' : jobProgress(job)),
      paint: (text) => paintState(cli.paint, text),
      importance: 90,
      fixed: true,
    },
    { title: 'SIZE', cell: jobSize, importance: 50 },
    { title: 'TIME', cell: (job) => jobTime(job, cli.nowMs), align: 'right', importance: 70 },
    { title: 'PROJECT', cell: (job) => job.project, importance: 20, least: 8 },
    { title: 'TIER', cell: (job) => job.tier, importance: 5, wide: true },
    { title: 'PRIORITY', cell: (job) => String(job.priority), importance: 5, wide: true },
    { title: 'ATTEMPT', cell: (job) => String(job.attempt), importance: 5, wide: true },
    { title: 'BY', cell: (job) => job.submittedBy, importance: 10, least: 6 },
    { title: 'SUBMITTED', cell: (job) => ago(job.submittedAt, cli.nowMs), importance: 15 },
    { title: 'STARTED', cell: (job) => localTime(job.startedAt, cli.nowMs), importance: 5, wide: true },
    { title: 'PLANNED', cell: (job) => localTime(job.plannedStart, cli.nowMs), importance: 5, wide: true },
    { title: 'REASON', cell: jobReason, importance: 40, least: 20 },
  ];
}
