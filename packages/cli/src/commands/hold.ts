// muster hold and release: keep a queued job from starting, and let it.
import { Command } from 'commander';
import { changeJobs } from '../change-jobs.ts';
import type { Cli } from '../cli.ts';

export function holdCommand(cli: Cli): Command {
  return changing(cli, 'hold', 'keep queued jobs from starting');
}

export function releaseCommand(cli: Cli): Command {
  return changing(cli, 'release', 'let held jobs start');
}

function changing(cli: Cli, verb: 'hold' | 'release', summary: string): Command {
  return new Command(verb)
    .summary(summary)
    .description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
    .argument('<job...>', 'ids, starts of ids, or names')
    .action(cli.act(async (words: string[]) => (await changeJobs(cli, words, verb)).code));
}
