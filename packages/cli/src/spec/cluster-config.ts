// The configuration of a cluster, from flags or from a file (YAML or JSON, one document). The server checks it, which knows the kinds;
// what it refuses is told by the flag that said it, or as file:line:column.
import type { ClusterConfigInput } from '@muster/model';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { atPlace } from './check.ts';
import { parseClusterFile, readSpecFile } from './documents.ts';
import { inFlags } from './from-flags.ts';

export interface GivenConfig {
  readonly config: ClusterConfigInput;
  /** What the server refuses of it is told where it was said. */
  located<T>(answer: Promise<T>): Promise<T>;
}

/** By the field of the configuration that each is; what needs more than a word is written in a file. */
const fields = {
  kind: ['--kind <kind>', 'slurm, kubernetes, or agent for machines with agents'],
  directory: ['--directory <path>', 'slurm: a directory that the server and all its nodes see'],
  conf: ['--conf <path>', 'slurm: its configuration file, where it is not the usual one'],
  partition: ['--partition <name>', 'slurm: the partition of its jobs'],
  account: ['--account <name>', 'slurm: the account of its jobs'],
  qos: ['--qos <name>', 'slurm: the quality of service of its jobs'],
  kubeconfig: ['--kubeconfig <path>', 'kubernetes: a kubeconfig file that every server can read'],
  context: ['--context <name>', "kubernetes: one of the file's contexts; its current one when left out"],
  namespace: ['--namespace <name>', 'kubernetes: the namespace of its pods'],
  image: ['--image <image>', 'kubernetes: for jobs that name no image'],
  serverUrl: [
    '--server-url <url>',
    'where its nodes reach a server; the address of the server that leads when left out',
  ],
  lostAfter: [
    '--lost-after <duration>',
    'how long it may not answer before it counts as lost; 15m when left out',
  ],
  pool: ['--pool <name>', 'the pool of its nodes'],
  region: ['--region <name>', 'where it is; the label region of its nodes'],
  capacity: ['--capacity <kind>', 'owned, reserved, on-demand or spot; the label capacity of its nodes'],
} as const satisfies Record<string, readonly [flag: string, help: string]>;

/** Those that are so or not. */
const switches = {
  fencedCheckpoints: [
    '--fenced-checkpoints',
    'what keeps the checkpoints of jobs refuses attempts that are older than the newest, so that those that write nowhere else start elsewhere once it is lost',
    '--no-fenced-checkpoints',
    'it does not: every job waits for proof',
  ],
} as const;

export type ConfigFlags = { readonly [F in keyof typeof fields]?: string } & {
  readonly [F in keyof typeof switches]?: boolean;
} & { readonly file?: string };

export function withConfig(command: Command): Command {
  command.option('-f, --file <file>', 'its configuration as YAML or JSON; "-" is stdin');
  for (const [flag, help] of Object.values(fields)) command.option(flag, help);
  for (const [flag, help, no, noHelp] of Object.values(switches))
    command.option(flag, help).option(no, noHelp);
  return command;
}

/** Those of the configuration that stand on the command line, the file among them. */
export function givenFlags(flags: ConfigFlags): string[] {
  return ['file', ...Object.keys(fields), ...Object.keys(switches)].filter(
    (name) => flags[name as keyof ConfigFlags] !== undefined,
  );
}

export async function configOf(cli: Cli, flags: ConfigFlags): Promise<GivenConfig> {
  const given = givenFlags(flags);
  if (flags.file !== undefined) {
    if (given.length > 1)
      throw usage(`give a file or flags, not both; ${flagOf(given[1]!)} can stand in the file`);
    return fromFile(cli, flags.file);
  }
  if (flags.kind === undefined)
    throw usage('say what kind of cluster it is (--kind slurm), or give a file (-f)');
  const config = Object.fromEntries(given.map((name) => [name, flags[name as keyof ConfigFlags]]));
  return { config: config as ClusterConfigInput, located: (answer) => answer.catch(inFlags) };
}

/** For one that was added: a file says all of it anew, flags change what they name. */
export async function changedConfig(
  cli: Cli,
  flags: ConfigFlags,
  before: ClusterConfigInput,
): Promise<GivenConfig> {
  const given = givenFlags(flags);
  if (given.length === 0) throw usage('say what is to change: flags, or a file with all of it (-f)');
  if (flags.file !== undefined) return configOf(cli, flags);
  const { config, located } = await configOf(cli, { kind: before.kind, ...flags });
  return { config: { ...before, ...config } as ClusterConfigInput, located };
}

async function fromFile(cli: Cli, path: string): Promise<GivenConfig> {
  const file = path === '-' ? 'stdin' : path;
  const document = parseClusterFile(await readSpecFile(path, cli.terminal.stdin), file);
  return {
    config: document.value as ClusterConfigInput,
    located: (answer) =>
      answer.catch((error) => {
        throw atPlace(document, file, error);
      }),
  };
}

function flagOf(field: string): string {
  const [flag] = fields[field as keyof typeof fields] ?? switches[field as keyof typeof switches];
  return flag.split(' ', 1)[0] as string;
}
