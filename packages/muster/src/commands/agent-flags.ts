// The flags of `muster agent`, apart from what it does: the help must not load an agent.
import type { Cli } from '@muster/cli';
import { Command, Option } from 'commander';
import { logLevels } from '../log-levels.ts';
import type { MachineFlags } from '../machine-flags.ts';

export interface AgentFlags extends MachineFlags {
  readonly server?: readonly string[];
  readonly token?: string;
  readonly tokenFile?: string;
  readonly name?: string;
  readonly dir?: string;
  readonly address?: string;
  readonly ports?: string;
  readonly checkpoints?: string;
  readonly taskUser?: string;
  readonly userMap?: readonly string[];
  readonly caFile?: string;
  readonly cgroups: boolean;
  readonly logLevel?: string;
}

const collect = (value: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  value,
];

export function agentCommand(cli: Cli): Command {
  return new Command('agent')
    .summary('make this machine a node')
    .description(
      'Make this machine a node: run its tasks and report on them. The first start needs an enrolment token\n' +
        '("muster nodes token" makes one); afterwards the key in --dir is enough. Stopping the agent stops no task.\n' +
        'When an operator removes the node its agent ends; started with a new token it becomes a new node.',
    )
    .option(
      '--server <url>',
      'the server; the one it enrolled at when left out; several times for several servers of one system',
      collect,
    )
    .option('--token <token>', 'enrolment token, for the first start (or MUSTER_ENROL_TOKEN)')
    .option('--token-file <file>', 'file with the enrolment token, which other users cannot see')
    .option('--name <name>', "the node's name; the host's when left out")
    .option('--dir <folder>', "the agent's own folder; /var/lib/muster-agent or ~/.local/state/muster-agent")
    .option(
      '--devices <devices>',
      'declare devices: kind=count:model:memory:interconnect:generation, all but the first two may be left out; such as gpu=8:H100:80GiB; several times',
      collect,
    )
    .option('--cpus <n>', 'cores to give to jobs; all when left out')
    .option('--memory <size>', 'memory to give to jobs; all when left out')
    .option('--label <name=value>', 'a label that jobs can ask for; several times', collect)
    .option('--address <address>', 'where other nodes reach this one')
    .option('--ports <first-last>', 'ports that plans may use for rendezvous; 20000-20999 when left out')
    .option(
      '--checkpoints <dir>',
      'a directory that all machines see; each job gets one of its own below it, as MUSTER_CHECKPOINT_DIR',
    )
    .option('--task-user <user>', 'local user that runs tasks, for an agent of root; nobody when left out')
    .option('--user-map <submitter=user>', 'local user for one submitter; several times', collect)
    .option(
      '--ca-file <file>',
      "certificate of the authority that signed the server's, when the system does not know it (or MUSTER_CA_FILE)",
    )
    .option('--no-cgroups', 'leave control groups alone')
    .addOption(new Option('--log-level <level>', 'how much to log').choices([...logLevels]))
    .action(cli.act(async (flags: AgentFlags) => (await import('./agent.ts')).agent(cli, flags)));
}
