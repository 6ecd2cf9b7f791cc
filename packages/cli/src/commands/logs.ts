// muster logs: what tasks wrote. Where stdout is a terminal only colours pass and other escape sequences are taken out; a file or
// pipe gets the bytes as they are.
import type { MusterClient } from '@muster/client';
import type { JobDetail } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { findJob } from '../find-job.ts';
import { followLogs, maxFollowedRanks } from '../follow/follow-logs.ts';
import { TaskOutput } from '../follow/task-output.ts';
import { jobReason, jobState } from '../job-text.ts';
import { clean } from '../text/clean.ts';

interface Flags {
  readonly follow?: boolean;
  readonly rank?: string;
  readonly allRanks?: boolean;
  readonly attempt?: string;
  readonly tail?: string;
}

/** Bytes looked back for one line of --tail; longer lines are cut at the front. */
const bytesPerLine = 512;

export function logsCommand(cli: Cli): Command {
  return new Command('logs')
    .summary('what a job wrote')
    .description(
      'Print what a job wrote: of rank 0, or of all ranks with their numbers in front.\n' +
        'On a terminal only colours pass and other escape sequences are taken out; a file or pipe gets the bytes as they are.',
    )
    .argument('<job>', 'an id, the start of one, or a name; JOB[17] for a member of an array')
    .option('-f, --follow', 'go on until the job ends')
    .option('--rank <n>', 'of this task')
    .option('--all-ranks', 'of all tasks')
    .option('--attempt <n>', 'of this attempt; the newest when left out')
    .option('--tail <n>', 'only the last lines')
    .action(cli.act((word: string, flags: Flags) => logs(cli, word, flags)));
}

async function logs(cli: Cli, word: string, flags: Flags): Promise<void> {
  const rank = count(flags.rank, '--rank');
  const attempt = count(flags.attempt, '--attempt');
  const tail = count(flags.tail, '--tail');
  if (rank !== undefined && flags.allRanks) throw usage('--rank and --all-ranks exclude each other');
  const client = cli.client();
  const job = await client.jobs.get(await findJob(client, word));
  if (job.array)
    throw usage(`${job.id} is an array, and its members write; name one, such as ${clean(word)}[0]`);
  const ranks = flags.allRanks ? allRanks(cli, job) : [rank ?? 0];
  if (!flags.allRanks && rank === undefined && job.tasks > 1)
    cli.note(cli.notePaint('dim', `-- rank 0 of ${job.tasks}; --all-ranks shows all`));
  if (job.runs.length === 0 && !flags.follow) {
    cli.note(`${job.id} is ${jobState(job)} and has written nothing${job.state === 'ended' ? '' : ' yet'}`);
    return;
  }
  if (job.runs.length === 0)
    cli.note(cli.notePaint('dim', `-- ${job.id} is ${waitText(job)}; its output follows when it runs`));
  if (flags.follow) return follow(cli, client, job, ranks, attempt, tail);
  // One after another: to the end of one rank, then the next, as files would be read.
  for (const one of ranks) await whole(cli, client, job, one, ranks, attempt, tail);
}

function waitText(job: JobDetail): string {
  const reason = jobReason(job);
  return reason === '' ? jobState(job) : `${jobState(job)} (${reason})`;
}

function allRanks(cli: Cli, job: JobDetail): number[] {
  const shown = Math.min(job.tasks, maxFollowedRanks);
  if (shown < job.tasks) cli.note(`-- ranks 0 to ${shown - 1} of ${job.tasks}; --rank N shows another`);
  return Array.from({ length: shown }, (_, rank) => rank);
}

async function follow(
  cli: Cli,
  client: MusterClient,
  job: JobDetail,
  ranks: readonly number[],
  attempt: number | undefined,
  tail: number | undefined,
): Promise<void> {
  if (tail === undefined || job.runs.length === 0)
    return followLogs(cli, client, { job: job.id, ranks, attempt });
  await Promise.all(
    ranks.map(async (rank) => {
      const { data, end } = await tailOf(client, job, rank, attempt, tail);
      const output = new TaskOutput(cli, rank, ranks.length > 1 ? job.tasks : 1);
      output.write(data);
      if (ranks.length > 1) output.end();
      await followLogs(cli, client, { job: job.id, ranks: [rank], attempt, offset: end });
    }),
  );
}

async function whole(
  cli: Cli,
  client: MusterClient,
  job: JobDetail,
  rank: number,
  ranks: readonly number[],
  attempt: number | undefined,
  tail: number | undefined,
): Promise<void> {
  const output = new TaskOutput(cli, rank, ranks.length > 1 ? Math.max(...ranks) + 1 : 1);
  if (tail !== undefined) output.write((await tailOf(client, job, rank, attempt, tail)).data);
  else {
    for (let offset = 0; ; ) {
      const piece = await client.jobs.logs(job.id, { rank, attempt, offset });
      if (piece.offset > offset)
        cli.note(`-- rank ${rank}: output before byte ${piece.offset} was dropped by its limit`);
      output.write(piece.data);
      await cli.drained();
      if (piece.data.length === 0 || piece.nextOffset >= piece.size) break;
      offset = piece.nextOffset;
    }
  }
  output.end();
}

/** The last lines, and the offset after them. */
async function tailOf(
  client: MusterClient,
  job: JobDetail,
  rank: number,
  attempt: number | undefined,
  lines: number,
): Promise<{ data: Uint8Array; end: number }> {
  const { size } = await client.jobs.logs(job.id, { rank, attempt, limit: 1 });
  let offset = Math.max(0, size - Math.max(1, lines) * bytesPerLine);
  const from = offset;
  const pieces: Uint8Array[] = [];
  for (;;) {
    const piece = await client.jobs.logs(job.id, { rank, attempt, offset });
    pieces.push(piece.data);
    offset = piece.nextOffset;
    if (piece.data.length === 0 || offset >= piece.size) break;
  }
  return { data: lastLines(Buffer.concat(pieces), lines, from === 0), end: offset };
}

const newline = 0x0a;

/** A first line that may be only the end of one is left out, unless it is all there is. */
export function lastLines(data: Uint8Array, lines: number, fromStart: boolean): Uint8Array {
  let at = data.length;
  // The newline that ends the last line does not begin another.
  let from = data.length - (data.at(-1) === newline ? 2 : 1);
  for (let left = lines; left > 0; left--) {
    const before = from < 0 ? -1 : data.lastIndexOf(newline, from);
    if (before < 0) return fromStart ? data : data.subarray(data.indexOf(newline) + 1);
    at = before + 1;
    from = before - 1;
  }
  return data.subarray(at);
}

function count(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw usage(`${flag} wants a whole number, got "${text}"`);
  return Number(text);
}
