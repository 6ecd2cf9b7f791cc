// Waits for several jobs at once. Each end is told as it happens; the exit code is that of the first given job that did not
// succeed.
import type { MusterClient } from '@muster/client';
import { exitCode, type JobView } from '@muster/model';
import type { Cli } from './cli.ts';
import { exit } from './exit-codes.ts';
import { Progress } from './follow/progress.ts';
import { endLine, jobProgress, jobReason } from './job-text.ts';
import { clean } from './text/clean.ts';

export async function waitForJobs(cli: Cli, client: MusterClient, ids: readonly string[]): Promise<number> {
  const progress = new Progress(cli);
  const sinceMs = cli.nowMs;
  const present = new Map<string, JobView>();
  const show = (): void => {
    const open = [...present.values()].filter(({ state }) => state !== 'ended');
    const [first] = open;
    if (!first) return;
    const reason = jobReason(first);
    if (ids.length === 1)
      progress.update(`${jobProgress(first)}${reason === '' ? '' : `: ${reason}`}`, sinceMs);
    else progress.update(`${open.length} of ${ids.length} jobs not ended: ${counts(open)}`, sinceMs);
  };
  const onReconnect = (error: Error): void =>
    progress.update(`${clean(error.message)}; trying again`, sinceMs);
  const codes = await Promise.all(
    ids.map(async (id) => {
      for await (const job of client.jobs.watch(id, { onReconnect })) {
        present.set(id, job);
        if (job.state === 'ended') {
          progress.clear();
          cli.note(
            cli.notePaint(job.result?.outcome === 'succeeded' ? 'green' : 'red', endLine(job, cli.nowMs)),
          );
        }
        show();
        if (job.result) return exitCode(job.result);
      }
      return exit.failed;
    }),
  ).finally(() => progress.clear());
  return codes.find((code) => code !== 0) ?? exit.ok;
}

function counts(jobs: readonly JobView[]): string {
  const byState = new Map<string, number>();
  for (const job of jobs) byState.set(job.state, (byState.get(job.state) ?? 0) + 1);
  return [...byState].map(([state, count]) => `${count} ${state}`).join(', ');
}
