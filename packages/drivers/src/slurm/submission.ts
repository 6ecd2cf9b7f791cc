// From the commands of a run, one for each of its nodes, to one Slurm job: the options of sbatch and the files of its directory.
// The nodes of the job are alike (so many tasks of one size each), because that is what one Slurm job can say.
import type { StartCommand, TaskStart } from '@muster/model';
import { type Gres, parseGres } from './gres.ts';
import type { RunFiles } from './run-directory.ts';

export interface RunPart {
  /** Slurm's name of the node. */
  readonly node: string;
  /** The node's generic resources, as Slurm writes them. */
  readonly gres: string;
  readonly command: StartCommand;
}

/** Who pays in Slurm. */
export interface Billing {
  readonly partition?: string;
  readonly account?: string;
  readonly qos?: string;
}

export type Submission =
  | { readonly ok: true; readonly options: readonly string[]; readonly files: RunFiles }
  | { readonly ok: false; readonly detail: string };

const minuteMs = 60_000;

export function submissionOf(parts: readonly RunPart[], billing: Billing): Submission {
  const [first] = parts;
  const task = first?.command.tasks[0];
  if (!first || !task) return refused('the run has no tasks');
  const { run, timeLimitMs } = first.command;
  const sizes = new Set(parts.flatMap(({ gres, command }) => command.tasks.map((one) => sizeOf(one, gres))));
  const counts = new Set(parts.map(({ command }) => command.tasks.length));
  if (sizes.size !== 1 || counts.size !== 1)
    return refused('one Slurm job has the same number of equal tasks on each of its nodes');
  const odd = parts.flatMap(({ command }) => command.tasks).find(({ command }) => command[0]?.includes('='));
  if (odd) return refused(`the command ${JSON.stringify(odd.command[0])} would be taken for a variable`);
  const perNode = first.command.tasks.length;
  const gres = gresOf(task, first.gres);
  const cpus = Math.max(1, Math.ceil(task.cpuMilli / 1000));
  const memoryMib = Math.max(1, task.memoryMib);
  const options = [
    '--parsable',
    `--job-name=${run}`,
    `--comment=${run}`,
    `--nodes=${parts.length}`,
    `--nodelist=${parts.map(({ node }) => node).join(',')}`,
    `--ntasks=${parts.length * perNode}`,
    `--ntasks-per-node=${perNode}`,
    `--cpus-per-task=${cpus}`,
    `--mem=${memoryMib * perNode}M`,
    // Another attempt is ours to decide.
    '--no-requeue',
    '--export=ALL',
    '--chdir=/',
    '--output=/dev/null',
    '--input=/dev/null',
    ...(gres.length > 0 ? [`--gres=${gresText(gres, perNode)}`] : []),
    ...(timeLimitMs === null ? [] : [`--time=${Math.ceil(timeLimitMs / minuteMs)}`]),
    ...(billing.partition ? [`--partition=${billing.partition}`] : []),
    ...(billing.account ? [`--account=${billing.account}`] : []),
    ...(billing.qos ? [`--qos=${billing.qos}`] : []),
  ];
  const placed = parts.flatMap(({ node, command }) => command.tasks.map((one) => ({ node, task: one })));
  const stepGres = gres.length > 0 ? gresText(gres, 1) : 'none';
  const steps = placed.map(
    ({ node, task: { rank } }) => `${rank} ${node} ${cpus} ${memoryMib}M ${stepGres}\n`,
  );
  const files: RunFiles = {
    tasks: placed.map(({ node, task: { rank } }) => ({ rank, node })),
    steps: steps.join(''),
    words: new Map(placed.map(({ task: one }) => [one.rank, wordsOf(one)])),
  };
  return { ok: true, options, files };
}

function wordsOf({ workdir, env, command }: TaskStart): string[] {
  return [workdir ?? '', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...command];
}

function sizeOf(task: TaskStart, gres: string): string {
  return `${task.cpuMilli} ${task.memoryMib} ${gresText(gresOf(task, gres), 1)}`;
}

/** The plan names devices by index; Slurm is told how many of which type, and chooses. */
function gresOf({ devices }: TaskStart, gres: string): Gres[] {
  const types = deviceGres(gres).flatMap((one) => Array<Gres>(one.count).fill(one));
  const counts = new Map<Gres, number>();
  for (const index of devices) {
    const type = types[index];
    if (!type) throw new RangeError(`no device ${index} among ${gres}`);
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return [...counts].map(([one, count]) => ({ ...one, count }));
}

/** Those generic resources that are whole devices; shards and bandwidth are not sold yet. */
export function deviceGres(gres: string): Gres[] {
  return parseGres(gres).filter(({ name }) => name === 'gpu');
}

function gresText(gres: readonly Gres[], times: number): string {
  return gres
    .map(({ name, type, count }) => (type ? `${name}:${type}:${count * times}` : `${name}:${count * times}`))
    .join(',');
}

function refused(detail: string): Submission {
  return { ok: false, detail };
}
