// muster why: the engine's own answer, in whole: what is missing, on how many nodes, what would start it now, who is ahead.
import type { LackCount, Right, WhyView } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { printExplanation } from '../explanation-text.ts';
import { findJob } from '../find-job.ts';
import { clean } from '../text/clean.ts';
import { localTime, localTimes } from '../text/time.ts';
import { wrap } from '../text/width.ts';

export function whyCommand(cli: Cli): Command {
  return new Command('why')
    .summary('why a job waits, or where it was put')
    .description(
      "The engine's answer for a job: what is missing and on how many nodes, which single changes would start it now (each\n" +
        'was tried), and who is ahead of it by which rule.',
    )
    .argument('<job>', 'an id, the start of one, or a name; JOB[17] for a member of an array')
    .action(
      cli.act(async (word: string) => {
        const client = cli.client();
        const why = await client.jobs.why(await findJob(client, word));
        cli.show(why, () => print(cli, why));
      }),
    );
}

function print(cli: Cli, why: WhyView): void {
  const width = cli.width ?? Number.POSITIVE_INFINITY;
  const [sentence = '', ...nearest] = localTimes(clean(why.text), cli.nowMs).split('. Nearest possible: ');
  // "running since ..." and "held by ..." begin with the state already.
  const state = why.state === 'ended' ? '' : sentence.startsWith(why.state) ? 'is ' : `is ${why.state}; `;
  for (const line of wrap(`${why.job} ${state}${sentence}`, width)) cli.line(line);
  const { verdict } = why;
  if (verdict && verdict.kind !== 'placed')
    for (const reason of verdict.reasons)
      if ('lacks' in reason && reason.lacks.length > 1) lacks(cli, reason.nodes, reason.lacks);
  const options = verdict?.kind === 'impossible' ? verdict.nearest : nearest;
  if (options.length > 0) {
    cli.line();
    cli.line('Nearest possible:');
    for (const option of options)
      for (const [i, line] of wrap(clean(option), width - 4).entries())
        cli.line(`${i === 0 ? '  - ' : '    '}${line}`);
  }
  if (why.explanation) printExplanation(cli, why.explanation);
  if (why.preemptions.length > 0) {
    cli.line();
    cli.line('Stopped before for other jobs:');
    for (const { at, by, reason } of why.preemptions)
      item(cli, `${localTime(at, cli.nowMs)}, ${reason ?? `for ${by ?? 'a job of another project'}`}`);
  }
  if (why.victims.length > 0) {
    cli.line();
    cli.line('Runs of other jobs were stopped for it:');
    for (const { at, job, right } of why.victims)
      item(
        cli,
        `${localTime(at, cli.nowMs)}, ${job ?? 'a job of another project'}, by right of ${rightWords[right]}`,
      );
  }
}

const rightWords: Readonly<Record<Right, string>> = {
  tier: 'its tier',
  reclaim: "its project's guarantee",
  priority: 'its priority',
  shorter: 'what is expected of it, half as long or less',
  move: 'room elsewhere for that one',
};

function item(cli: Cli, text: string): void {
  const width = (cli.width ?? Number.POSITIVE_INFINITY) - 4;
  for (const [i, line] of wrap(clean(text), width).entries()) cli.line(`${i === 0 ? '  - ' : '    '}${line}`);
}

/** A bar a cause: which one to remove first is seen at once. */
function lacks(cli: Cli, nodes: number, counts: readonly LackCount[]): void {
  cli.line();
  for (const { lack, nodes: n } of [...counts].sort((a, b) => b.nodes - a.nodes)) {
    const bar = '█'.repeat(Math.max(1, Math.round((n / Math.max(1, nodes)) * 20)));
    cli.line(`  ${lack.padEnd(13)} ${String(n).padStart(6)}  ${cli.paint('yellow', bar)}`);
  }
}
