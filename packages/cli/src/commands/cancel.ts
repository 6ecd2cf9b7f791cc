// muster cancel: stop jobs. A running one gets its stop signal and its grace; cancelling twice is no error.
import { Command } from 'commander';
import { changeJobs } from '../change-jobs.ts';
import type { Cli } from '../cli.ts';
import { waitForJobs } from '../wait-for-jobs.ts';

export function cancelCommand(cli: Cli): Command {
  return new Command('cancel')
    .summary('stop jobs')
    .description(
      'Stop jobs. A running one gets its stop signal, then its grace; cancelling twice is no error.',
    )
    .argument('<job...>', 'ids, starts of ids, or names; JOB[17] or JOB[3-10] for members of an array')
    .option('-w, --wait', 'until they have ended')
    .action(
      cli.act(async (words: string[], flags: { wait?: boolean }) => {
        const { code, open } = await changeJobs(cli, words, 'cancel');
        // The end of the others was told just now.
        if (flags.wait) await waitForJobs(cli, cli.client(), open);
        return code;
      }),
    );
}
