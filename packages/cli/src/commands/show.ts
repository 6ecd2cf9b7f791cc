// muster show: everything about one job: its state and why, where each task runs, every attempt and how it ended.
import type { ArrayView, JobDetail, JobView, RunEstimate, RunView, TaskView } from '@muster/model';
import { formatDurationMs, formatMib, formatMilli, rangesText } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { findJob } from '../find-job.ts';
import { jobReason, jobState, resultReason } from '../job-text.ts';
import { clean } from '../text/clean.ts';
import { paintState } from '../text/style.ts';
import type { Column } from '../text/table.ts';
import { ago, elapsed, localTime } from '../text/time.ts';
import { wrap } from '../text/width.ts';

const maxTasks = 64;
const maxMembers = 10;

export function showCommand(cli: Cli): Command {
  return new Command('show')
    .summary('everything about one job')
    .description('Show a job: its state and why, where its tasks run, every attempt and its result.')
    .argument('<job>', 'an id, the start of one, or a name; JOB[17] for a member of an array')
    .action(
      cli.act(async (word: string) => {
        const client = cli.client();
        const job = await client.jobs.get(await findJob(client, word));
        const failed =
          job.array && job.array.failed > 0
            ? await client.jobs.members(job.id, { outcome: 'failed', limit: maxMembers })
            : null;
        cli.show(job, () => show(cli, job, failed?.items ?? []));
      }),
    );
}

function show(cli: Cli, job: JobDetail, failed: readonly JobView[]): void {
  const state = jobState(job);
  field(cli, 'Job', `${cli.paint('bold', job.id)}  ${clean(job.name)}`);
  if (job.title) field(cli, 'Title', clean(job.title));
  field(cli, 'State', paintState(cli.paint, state) + exitText(job));
  const reason = jobReason(job);
  if (reason !== '') field(cli, 'Reason', reason);
  field(cli, 'Project', `${job.project}  tier ${job.tier}  priority ${job.priority}`);
  field(
    cli,
    'Submitted',
    `${localTime(job.submittedAt, cli.nowMs)} (${ago(job.submittedAt, cli.nowMs)}) by ${clean(job.submittedBy)}`,
  );
  if (job.startedAt)
    field(
      cli,
      'Started',
      `${localTime(job.startedAt, cli.nowMs)}, after ${elapsed(job.submittedAt, job.startedAt, cli.nowMs)}`,
    );
  if (job.endedAt)
    field(
      cli,
      'Ended',
      `${localTime(job.endedAt, cli.nowMs)}, ran ${elapsed(job.startedAt, job.endedAt, cli.nowMs)}`,
    );
  if (job.plannedStart) field(cli, 'Planned', `to start at ${localTime(job.plannedStart, cli.nowMs)}`);
  if (job.estimate) field(cli, 'Expected', expectedText(job.estimate));
  if (job.notBefore) field(cli, 'Not before', ago(job.notBefore, cli.nowMs));
  if (job.array) showArray(cli, job.id, job.array, failed);
  showSpec(cli, job);
  for (const run of [...job.runs].sort((a, b) => b.attempt - a.attempt)) showRun(cli, run);
}

/** Learned when it came, so that its user can see what it was ordered by. */
function expectedText({ expectedMs, p90Ms }: RunEstimate): string {
  return `to run ${formatDurationMs(expectedMs)}; nine in ten such jobs stay within ${formatDurationMs(p90Ms)} (learned from jobs that ended before it came)`;
}

function showArray(cli: Cli, id: string, array: ArrayView, failed: readonly JobView[]): void {
  const { count, parallel, waiting, running, succeeded, failed: failures, cancelled, notStarted } = array;
  const limit = parallel === null ? '' : `, at most ${parallel} at once`;
  const counts = { waiting, running, succeeded, failed: failures, cancelled };
  const parts = Object.entries(counts).flatMap(([name, n]) => (n > 0 ? [`${n} ${name}`] : []));
  field(cli, 'Members', `${count}${limit}: ${parts.join(', ')}`);
  if (notStarted.length > 0) field(cli, 'Not started', rangesText(notStarted));
  for (const member of failed) field(cli, `Failed [${member.index}]`, jobReason(member));
  if (failures > failed.length)
    field(cli, '', `… and ${failures - failed.length} more; see: muster members ${id} --outcome failed`);
}

function exitText(job: JobDetail): string {
  return job.exitCode === null || job.exitCode === 0 ? '' : `, exit code ${job.exitCode}`;
}

function showSpec(cli: Cli, job: JobDetail): void {
  for (const { name, command, demand } of job.spec.groups) {
    const needs = [
      `${demand.tasks} task${demand.tasks === 1 ? '' : 's'}`,
      demand.accelerators.map((item) => `${item.milli / 1000} ${item.model ?? item.kind}`).join(' or '),
      demand.cpuMilli === null
        ? ''
        : `${formatMilli(demand.cpuMilli)} ${demand.cpuMilli === 1000 ? 'core' : 'cores'}`,
      demand.memoryMib === null ? '' : formatMib(demand.memoryMib),
    ];
    const each = needs
      .slice(1)
      .filter((need) => need !== '')
      .join(', ');
    field(
      cli,
      'Needs',
      `${needs[0]}${each === '' ? '' : ` of ${each} each`}${job.spec.groups.length > 1 ? ` (${name})` : ''}`,
    );
    field(cli, 'Command', clean(command.map(shellWord).join(' ')));
  }
  if (job.spec.workdir) field(cli, 'Workdir', clean(job.spec.workdir));
  if (job.spec.timeLimitMs !== null) field(cli, 'Time limit', formatDurationMs(job.spec.timeLimitMs));
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function showRun(cli: Cli, run: RunView): void {
  const end = run.result ? run.result.outcome : run.state;
  const why = run.result
    ? resultReason(run.result)
    : run.unknownSince
      ? `node not heard from for ${elapsed(run.unknownSince, null, cli.nowMs)}`
      : clean(run.halt?.message ?? '');
  cli.line();
  cli.line(
    `${cli.paint('bold', `Attempt ${run.attempt}`)}  ${paintState(cli.paint, end)}  ${elapsed(run.startedAt, run.endedAt, cli.nowMs)}${why === '' ? '' : `  ${why}`}`,
  );
  const saved = checkpointText(run, cli.nowMs);
  if (saved !== null) cli.line(`  ${saved}`);
  cli.table(taskColumns(cli), run.tasks.slice(0, maxTasks));
  if (run.tasks.length > maxTasks)
    cli.line(cli.paint('dim', `… ${run.tasks.length - maxTasks} more tasks; -o json has all`));
}

/** What a stop would lose is counted from there. */
function checkpointText({ checkpoint, state, startedAt }: RunView, nowMs: number): string | null {
  if (checkpoint === null)
    return state === 'running' && startedAt !== null
      ? `no checkpoint told: a stop now would lose ${elapsed(startedAt, null, nowMs)}`
      : null;
  const { at, step, path } = checkpoint;
  const what = [step === null ? '' : `step ${step}`, path === null ? '' : clean(path)].filter(
    (text) => text !== '',
  );
  return `checkpoint ${localTime(at, nowMs)} (${ago(at, nowMs)})${what.length === 0 ? '' : `: ${what.join(', ')}`}`;
}

function taskColumns(cli: Cli): Column<TaskView>[] {
  return [
    { title: '  RANK', cell: (task) => String(task.rank), align: 'right', importance: 100, fixed: true },
    { title: 'NODE', cell: (task) => task.nodeName, importance: 80, least: 12, fixed: true },
    { title: 'DEVICES', cell: taskDevices, importance: 70 },
    { title: 'CORES', cell: (task) => formatMilli(task.cpuMilli), align: 'right', importance: 20 },
    { title: 'MEMORY', cell: (task) => sizeText(task.memoryMib), align: 'right', importance: 20 },
    {
      title: 'STATE',
      cell: taskState,
      paint: (text) => paintState(cli.paint, text),
      importance: 90,
      fixed: true,
    },
    {
      title: 'TIME',
      cell: (task) => elapsed(task.startedAt, task.endedAt, cli.nowMs),
      align: 'right',
      importance: 50,
    },
    { title: 'EXIT', cell: exitCell, importance: 60, least: 12 },
  ];
}

function taskState(task: TaskView): string {
  if (task.state !== 'ended' || !task.exit) return task.state;
  if (task.exit.ok) return 'succeeded';
  return task.exit.class === 'cancelled' ? 'cancelled' : 'failed';
}

function exitCell({ exit }: TaskView): string {
  if (!exit) return '';
  if (exit.ok) return '0';
  return `${exit.signal ?? exit.code ?? exit.class}: ${exit.reason.message}`;
}

/** "0,1", or "0 (0.25)" for a part of one. */
function taskDevices({ devices, deviceMilli }: TaskView): string {
  const part = devices.length > 0 && deviceMilli < 1000 ? ` (${formatMilli(deviceMilli)})` : '';
  return `${deviceText(devices)}${part}`;
}

export function deviceText(devices: readonly number[]): string {
  return devices.length === 0 ? '-' : devices.join(',');
}

/** Rounded for reading: 63.5GiB. */
export function sizeText(mib: number): string {
  if (mib < 1024) return `${mib}MiB`;
  const gib = mib / 1024;
  return gib < 10_240 ? `${Math.round(gib * 10) / 10}GiB` : `${Math.round(gib / 102.4) / 10}TiB`;
}

function field(cli: Cli, name: string, value: string): void {
  const indent = 12;
  const width = cli.width === null ? Number.POSITIVE_INFINITY : cli.width - indent;
  const lines = wrap(value, Math.max(20, width));
  for (const [i, line] of lines.entries())
    cli.line(`${i === 0 ? cli.paint('dim', name.padEnd(indent - 1)) : ' '.repeat(indent - 1)} ${line}`);
}
