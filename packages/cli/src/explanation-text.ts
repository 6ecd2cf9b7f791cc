// An explanation on a terminal: how what is free lies, what would start the job now, who is ahead of it. `muster why` shows it
// for a waiting job, dry runs for one that is not submitted.
import {
  aheadText,
  boundText,
  type Change,
  changeEdit,
  changeText,
  type ExplanationView,
  type HelpfulEndView,
  roomText,
} from '@muster/model';
import type { Cli } from './cli.ts';
import { clean } from './text/clean.ts';
import { localTime } from './text/time.ts';
import { wrap } from './text/width.ts';

export function printExplanation(cli: Cli, explanation: ExplanationView): void {
  const { ahead, room, changes, ends, complete } = explanation;
  if (room) paragraph(cli, roomText(room));
  if (changes.length > 0 || ends.count > 0) {
    cli.line();
    cli.line('Any one of these would start it now:');
    for (const change of changes) item(cli, changeLine(change));
    for (const line of endLines(cli, ends.runs, ends.count, complete)) item(cli, line);
  }
  if (!complete) paragraph(cli, boundText());
  if (!ahead || ahead.count === 0) return;
  cli.line();
  cli.line(`${ahead.count === 1 ? '1 job is' : `${ahead.count} jobs are`} ahead of it in the order:`);
  for (const job of ahead.jobs)
    item(cli, `${job.job} (${job.project}): ${aheadText(job, (at) => localTime(at, cli.nowMs))}`);
  const more = ahead.count - ahead.jobs.length;
  if (more > 0) item(cli, ahead.jobs.length === 0 ? 'jobs of other projects' : `and ${more} more`);
}

function changeLine(change: Change): string {
  return `${changeText(change)}   (${changeEdit(change)})`;
}

function endLines(cli: Cli, runs: readonly HelpfulEndView[], count: number, complete: boolean): string[] {
  const lines = runs.map(({ job, endsAt }) => {
    const at = endsAt === null ? '' : `, expected ${localTime(endsAt, cli.nowMs)}`;
    return `the end of ${job}${at}   (muster cancel ${quoted(job)})`;
  });
  const more = count - runs.length;
  if (more > 0)
    lines.push(
      `the end of any of ${complete ? '' : 'at least '}${more} ${runs.length > 0 ? 'more' : 'other'} ${more === 1 ? 'job' : 'jobs'}`,
    );
  return lines;
}

/** Shells read the brackets of a member. */
function quoted(job: string): string {
  return job.includes('[') ? `'${job}'` : job;
}

function paragraph(cli: Cli, text: string): void {
  cli.line();
  for (const line of wrap(clean(text), cli.width ?? Number.POSITIVE_INFINITY)) cli.line(line);
}

function item(cli: Cli, text: string): void {
  const width = (cli.width ?? Number.POSITIVE_INFINITY) - 4;
  for (const [i, line] of wrap(clean(text), width).entries()) cli.line(`${i === 0 ? '  - ' : '    '}${line}`);
}
