// A job from submit to end, as `run` and `submit --wait` show it: a progress line while it waits, its output while it runs, and
// what became of it.
//
// Ctrl-C never loses work by accident: the first one stops following and says that the job goes on; a second one within
// five seconds cancels the job and waits for its end; a third one leaves at once.
import type { MusterClient } from '@muster/client';
import { exitCode, type JobDetail, type JobView } from '@muster/model';
import type { Cli } from '../cli.ts';
import { exit } from '../exit-codes.ts';
import { endLine, jobProgress, jobReason } from '../job-text.ts';
import { clean } from '../text/clean.ts';
import { shortDuration } from '../text/time.ts';
import { followLogs, maxFollowedRanks } from './follow-logs.ts';
import { Progress } from './progress.ts';

export const secondChanceMs = 5000;
/** Output still on its way when the job has ended. */
const lastOutputMs = 10_000;

export interface FollowJob {
  readonly output: boolean;
  readonly secondChanceMs?: number;
}

export async function followJob(
  cli: Cli,
  client: MusterClient,
  id: string,
  follow: FollowJob,
): Promise<number> {
  const stop = new AbortController();
  const interrupted = new Promise<'interrupted'>((resolve) => {
    const off = cli.terminal.onInterrupt(() => {
      stop.abort();
      resolve('interrupted');
    });
    stop.signal.addEventListener('abort', off);
  });
  const progress = new Progress(cli);
  try {
    const ended = await Promise.race([untilEnd(cli, client, id, follow, progress, stop.signal), interrupted]);
    if (ended !== 'interrupted') return ended;
    progress.clear();
    return await leaveOrCancel(cli, client, id, follow.secondChanceMs ?? secondChanceMs);
  } finally {
    progress.clear();
    stop.abort();
  }
}

async function untilEnd(
  cli: Cli,
  client: MusterClient,
  id: string,
  follow: FollowJob,
  progress: Progress,
  signal: AbortSignal,
): Promise<number> {
  let logs: Promise<void> | null = null;
  let shownRun: string | null = null;
  let last: JobDetail | null = null;
  const away = { sinceMs: 0 };
  const onReconnect = (error: Error): void => {
    away.sinceMs ||= cli.nowMs;
    const text = `${clean(error.message)}; trying again, ${id} goes on meanwhile`;
    progress.update(text, away.sinceMs);
  };
  for await (const job of client.jobs.watch(id, { signal, onReconnect })) {
    if (away.sinceMs !== 0) progress.clear();
    away.sinceMs = 0;
    if (last) tellRetry(cli, progress, last, job);
    last = job;
    if (job.state === 'running' && !job.array && job.run !== shownRun) {
      shownRun = job.run;
      progress.clear();
      cli.note(cli.notePaint('dim', `-- ${startLine(job)}`));
      if (follow.output) logs ??= startLogs(cli, client, job, progress, signal);
    } else if (job.state !== 'ended' && (job.array || job.state !== 'running')) showWait(cli, progress, job);
  }
  progress.clear();
  if (last?.result == null) return exit.interrupted;
  // A job that ended before we looked still has its output, also a gang that never ran as a whole because one rank
  // failed before the last had started.
  if (follow.output && !last.array && (last.startedAt !== null || last.runs.some(hasWritten)))
    logs ??= startLogs(cli, client, last, progress, signal);
  if (logs) await settled(cli, logs, last);
  const code = exitCode(last.result);
  cli.note(cli.notePaint(code === 0 ? 'green' : 'red', `-- ${endLine(last, cli.nowMs)}`));
  if (follow.output && last.array)
    cli.note(cli.notePaint('dim', `-- each member has its own output: muster logs '${last.id}[0]'`));
  return code;
}

function hasWritten({ tasks }: JobDetail['runs'][number]): boolean {
  return tasks.some(({ startedAt }) => startedAt !== null);
}

function startLogs(
  cli: Cli,
  client: MusterClient,
  job: JobView,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const shown = Math.min(job.tasks, maxFollowedRanks);
  if (shown < job.tasks)
    cli.note(
      `-- output of ranks 0 to ${shown - 1} of ${job.tasks} follows; "muster logs ${job.id} --rank N" has the rest`,
    );
  const ranks = Array.from({ length: shown }, (_, rank) => rank);
  const logs = followLogs(cli, client, { job: job.id, ranks, signal, beforeOutput: () => progress.clear() });
  // Looked at in `settled`; without this a failure before that would end the process.
  logs.catch(() => undefined);
  return logs;
}

/** The job's end is known; its last output gets a little time, and trouble with it changes no exit code. */
async function settled(cli: Cli, logs: Promise<void>, job: JobView): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), lastOutputMs);
  });
  const trouble = await Promise.race([
    logs.then(() => null).catch((error: Error) => clean(error.message)),
    late.then(() => 'the rest did not come in time'),
  ]);
  clearTimeout(timer);
  if (trouble) cli.note(`-- output may be incomplete: ${trouble}; try: muster logs ${job.id}`);
}

function showWait(cli: Cli, progress: Progress, job: JobDetail): void {
  const reason = jobReason(job);
  const attempt = job.attempt > 1 ? ` (attempt ${job.attempt})` : '';
  const advice = job.verdict?.kind === 'impossible' ? ' -- Ctrl-C twice cancels it' : '';
  progress.update(
    `${jobProgress(job)}${attempt}${reason === '' ? '' : `: ${reason}`}${advice}`,
    Date.parse(job.submittedAt) || cli.nowMs,
  );
}

function tellRetry(cli: Cli, progress: Progress, before: JobDetail, now: JobDetail): void {
  if (now.attempt <= before.attempt || now.state === 'ended') return;
  const ended = now.runs.find(({ attempt }) => attempt === before.attempt)?.result;
  const why = ended && ended.outcome !== 'succeeded' ? `: ${clean(ended.reason.message)}` : '';
  progress.clear();
  cli.note(
    cli.notePaint('yellow', `-- attempt ${before.attempt} ended${why}; attempt ${now.attempt} follows`),
  );
}

export function startLine(job: JobDetail): string {
  const run = job.runs.find(({ id }) => id === job.run);
  const nodes = [...new Set((run?.tasks ?? []).map(({ nodeName }) => clean(nodeName)))];
  const shown =
    nodes.length > 4 ? `${nodes.slice(0, 3).join(', ')} and ${nodes.length - 3} more` : nodes.join(', ');
  const waited = Date.parse(job.startedAt ?? '') - Date.parse(job.submittedAt);
  const after = waited >= 1000 ? ` after ${shortDuration(waited)}` : '';
  return `${job.id} runs on ${shown === '' ? 'its nodes' : shown}${after}${job.attempt > 1 ? ` (attempt ${job.attempt})` : ''}`;
}

async function leaveOrCancel(cli: Cli, client: MusterClient, id: string, chanceMs: number): Promise<number> {
  cli.note(
    `${afterCaret(cli)}-- ${id} goes on; Ctrl-C again within ${chanceMs / 1000} s cancels it. Follow it again: muster logs -f ${id}`,
  );
  const again = await nextInterrupt(cli, chanceMs);
  if (!again) return exit.interrupted;
  cli.note(`${afterCaret(cli)}-- cancelling ${id}`);
  const third = nextInterrupt(cli, null);
  const ended = (async (): Promise<void> => {
    await client.jobs.cancel(id);
    for await (const job of client.jobs.watch(id))
      if (job.state === 'ended') cli.note(`-- ${endLine(job, cli.nowMs)}`);
  })();
  await Promise.race([ended, third]);
  return exit.interrupted;
}

/** The terminal has just shown ^C. */
function afterCaret(cli: Cli): string {
  return cli.terminal.stderr.isTTY ? '\n' : '';
}

/** True at the next Ctrl-C, false when it did not come in time. */
function nextInterrupt(cli: Cli, withinMs: number | null): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (came: boolean): void => {
      off();
      clearTimeout(timer);
      resolve(came);
    };
    const off = cli.terminal.onInterrupt(() => done(true));
    const timer = withinMs === null ? undefined : setTimeout(() => done(false), withinMs);
  });
}
