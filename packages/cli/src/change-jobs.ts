// One change to several jobs: each is tried, each failure is told, and the worst of them is the exit code.
import type { JobView } from '@muster/model';
import type { Cli } from './cli.ts';
import { exit } from './exit-codes.ts';
import { toFailure } from './failure.ts';
import { findJob } from './find-job.ts';
import { jobState } from './job-text.ts';

export async function changeJobs(
  cli: Cli,
  words: readonly string[],
  verb: 'cancel' | 'hold' | 'release',
): Promise<{ readonly code: number; readonly open: readonly string[] }> {
  const client = cli.client();
  const changed: JobView[] = [];
  let code: number = exit.ok;
  for (const word of words) {
    try {
      changed.push(await client.jobs[verb](await findJob(client, word)));
    } catch (error) {
      const failure = toFailure(error);
      if (words.length === 1) throw failure;
      const named = failure.message.includes(word) ? '' : `${word}: `;
      cli.note(`muster: ${named}${failure.message}`);
      code = Math.max(code, failure.exitCode);
    }
  }
  cli.show(changed.length === 1 ? changed[0] : { items: changed, next: null }, () => {
    for (const job of changed) cli.line(`${job.id} ${stateAfter(job)}`);
  });
  return { code, open: changed.filter(({ state }) => state !== 'ended').map(({ id }) => id) };
}

function stateAfter(job: JobView): string {
  return job.state === 'stopping'
    ? 'is stopping'
    : job.state === 'ended'
      ? `has ended (${jobState(job)})`
      : `is ${job.state}`;
}
