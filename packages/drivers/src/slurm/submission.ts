// From the commands of a run, one for each of its nodes, to one Slurm job: the options of sbatch and the files of its directory.
// Where the run holds the same of every node that is a plain job; else a heterogeneous one with a component for alike nodes, which
// Slurm starts together or not at all. The key is on every component.
import {
  type Capability,
  checkpointFolder,
  type SlurmBilling,
  type StartCommand,
  type TaskStart,
} from '@muster/model';
import { type Gres, parseGres } from './gres.ts';
import { commentOf } from './keyed-jobs.ts';
import type { RunFiles } from './run-directory.ts';

export interface RunPart {
  /** Slurm's name of the node. */
  readonly node: string;
  /** The node's generic resources, as Slurm writes them. */
  readonly gres: string;
  readonly command: StartCommand;
}

export type Submission =
  | { readonly ok: true; readonly options: readonly string[]; readonly files: RunFiles }
  | { readonly ok: false; readonly detail: string };

const minuteMs = 60_000;

export const slurmCapabilities = [
  'signals',
  'unlike-groups',
  'uneven-nodes',
  'ask-checkpoint',
  'output-limit',
] as const satisfies readonly Capability[];

/** What a component of a Slurm job holds of each of its nodes. Which task gets what of it is said by the steps. */
interface Component {
  readonly cpus: number;
  readonly memoryMib: number;
  readonly gres: string;
  readonly nodes: string[];
}

export function submissionOf(
  parts: readonly RunPart[],
  installation: string,
  billing: SlurmBilling,
  checkpoints: string | null = null,
): Submission {
  const [first] = parts;
  const tasks = parts.flatMap(({ command }) => command.tasks);
  if (!first || tasks.length === 0) return refused('the run has no tasks');
  const odd = tasks.find(({ command }) => command[0]?.includes('='));
  if (odd) return refused(`the command ${JSON.stringify(odd.command[0])} would be taken for a variable`);
  const components = componentsOf(parts);
  const options = components.flatMap((component, i) => [
    ...(i === 0 ? ['--parsable'] : [':']),
    ...componentOptions(component, first.command, installation, billing),
  ]);
  const groupOf = (node: string): string =>
    components.length === 1 ? '-' : String(components.findIndex(({ nodes }) => nodes.includes(node)));
  const steps = parts.flatMap((part) => stepsOf(part, groupOf(part.node)));
  const own = checkpoints === null ? null : `${checkpoints}/${checkpointFolder(first.command.run)}`;
  const files: RunFiles = {
    tasks: parts.flatMap(({ node, command }) =>
      command.tasks.map(({ rank, devices }) => ({ rank, node, devices })),
    ),
    steps: steps.join(''),
    outputLimitMib: first.command.outputLimitMib,
    words: new Map(tasks.map((task) => [task.rank, wordsOf(task, own)])),
  };
  return { ok: true, options, files };
}

/** Nodes of which the run holds the same are one component. */
function componentsOf(parts: readonly RunPart[]): Component[] {
  const components = new Map<string, Component>();
  for (const { node, gres, command } of parts) {
    const cpus = sum(command.tasks.map(cpusOf));
    const memoryMib = sum(command.tasks.map(memoryOf));
    const devices = command.tasks.flatMap((task) => task.devices);
    const held = { cpus, memoryMib, gres: gresText(gresOf(devices, gres)) };
    const key = JSON.stringify(held);
    const known = components.get(key);
    if (known) known.nodes.push(node);
    else components.set(key, { ...held, nodes: [node] });
  }
  return [...components.values()];
}

function componentOptions(
  { cpus, memoryMib, gres, nodes }: Component,
  { run, timeLimitMs }: StartCommand,
  installation: string,
  billing: SlurmBilling,
): string[] {
  return [
    `--job-name=${run}`,
    `--comment=${commentOf(run, installation)}`,
    `--nodes=${nodes.length}`,
    `--nodelist=${nodes.join(',')}`,
    `--ntasks=${nodes.length}`,
    '--ntasks-per-node=1',
    `--cpus-per-task=${cpus}`,
    `--mem=${memoryMib}M`,
    // Another attempt is ours to decide.
    '--no-requeue',
    '--export=ALL',
    '--chdir=/',
    '--output=/dev/null',
    '--input=/dev/null',
    ...(gres === '' ? [] : [`--gres=${gres}`]),
    ...(timeLimitMs === null ? [] : [`--time=${Math.ceil(timeLimitMs / minuteMs)}`]),
    ...(billing.partition ? [`--partition=${billing.partition}`] : []),
    ...(billing.account ? [`--account=${billing.account}`] : []),
    ...(billing.qos ? [`--qos=${billing.qos}`] : []),
  ];
}

/** `group` is the component as srun counts them; "-" where there is only one. */
function stepsOf({ node, gres, command }: RunPart, group: string): string[] {
  return command.tasks.map((task) => {
    const own = gresText(gresOf(task.devices, gres));
    return `${task.rank} ${node} ${cpusOf(task)} ${memoryOf(task)}M ${own || 'none'} ${group}\n`;
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** Slurm gives cores whole. */
function cpusOf({ cpuMilli }: TaskStart): number {
  return Math.max(1, Math.ceil(cpuMilli / 1000));
}

function memoryOf({ memoryMib }: TaskStart): number {
  return Math.max(1, memoryMib);
}

/** A working directory, a directory to make, then variables, then the command. */
function wordsOf({ workdir, env, command }: TaskStart, checkpoints: string | null): string[] {
  const variables = checkpoints === null ? env : { ...env, MUSTER_CHECKPOINT_DIR: checkpoints };
  return [
    workdir ?? '',
    checkpoints ?? '',
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    ...command,
  ];
}

/** The plan names devices by index; Slurm is told how many of which type, and chooses. */
function gresOf(devices: readonly number[], gres: string): Gres[] {
  const types = placesOf(gres);
  const counts = new Map<Gres, number>();
  for (const index of devices) {
    const type = types[index];
    if (!type) throw new RangeError(`no device ${index} among ${gres}`);
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return [...counts].map(([one, count]) => ({ ...one, count }));
}

/** The devices of a node in the order in which a plan counts them. */
function placesOf(gres: string): Gres[] {
  return deviceGres(gres).flatMap((one) => Array<Gres>(one.count).fill(one));
}

export const typesOf = (gres: string): string[] => placesOf(gres).map(({ type }) => type);

/** Those generic resources that are whole devices; shards and bandwidth are not sold yet. */
export function deviceGres(gres: string): Gres[] {
  return parseGres(gres).filter(({ name }) => name === 'gpu');
}

function gresText(gres: readonly Gres[]): string {
  return gres
    .map(({ name, type, count }) => (type ? `${name}:${type}:${count}` : `${name}:${count}`))
    .join(',');
}

function refused(detail: string): Submission {
  return { ok: false, detail };
}
