// muster wait: until jobs ended, with their exit code.
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { findJob } from '../find-job.ts';
import { waitForJobs } from '../wait-for-jobs.ts';

export function waitCommand(cli: Cli): Command {
  return new Command('wait')
    .summary('wait until jobs have ended')
    .description(
      'Wait until the jobs have ended. The exit code is that of the first given job that did not succeed.',
    )
    .argument('<job...>', 'ids, starts of ids, or names')
    .action(
      cli.act(async (words: string[]) => {
        const client = cli.client();
        const ids = await Promise.all(words.map((word) => findJob(client, word)));
        const code = await waitForJobs(cli, client, ids);
        if (cli.globals.output === 'json' || cli.globals.output === 'yaml') {
          const jobs = await Promise.all(ids.map((id) => client.jobs.get(id)));
          cli.show(jobs.length === 1 ? jobs[0] : { items: jobs, next: null }, () => undefined);
        }
        return code;
      }),
    );
}
