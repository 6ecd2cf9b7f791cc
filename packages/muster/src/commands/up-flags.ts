// The flags of `muster up`, apart from what it does: the help must not load a server.
import type { Cli } from '@muster/cli';
import { Command } from 'commander';
import type { MachineFlags } from '../machine-flags.ts';

export interface UpFlags extends MachineFlags {
  readonly dir?: string;
  readonly port: string;
  readonly agents: string;
  readonly ports: string;
  readonly taskUser?: string;
  readonly stopJobs?: boolean;
}

const collect = (value: string, before: readonly string[] | undefined): string[] => [
  ...(before ?? []),
  value,
];

export function upCommand(cli: Cli): Command {
  return new Command('up')
    .summary('a whole system on this machine')
    .description(
      'Start a whole system on this machine: a database (PostgreSQL of its own, or DATABASE_URL), a server on\n' +
        '127.0.0.1, and an agent that runs jobs here. The CLI of this user is logged in to it (profile "local").\n\n' +
        'Ctrl-C stops the system and leaves jobs running under their supervisors; the next "muster up" finds them again.\n' +
        'Without a server a job lives as long as its stopAfter says: 5 minutes unless its tier or spec says otherwise.\n' +
        '--stop-jobs cancels every job first. A second Ctrl-C ends at once.\n\n' +
        'Its log is muster.log in the folder; at 64 MiB that becomes muster.log.1, and a new one begins.',
    )
    .option('--dir <folder>', 'where everything lies; /var/lib/muster for root, else ~/.local/state/muster')
    .option('--port <n>', 'port of the server; 0 picks a free one', '6878')
    .option('--agents <n>', 'how many agents, each a node of its own', '1')
    .option(
      '--devices <devices>',
      'declare devices of each node: kind=count:model:memory:interconnect:generation, all but the first two may be left out; such as gpu=8:H100; several times',
      collect,
    )
    .option('--cpus <n>', 'cores of each node; its part of the machine, at least one, when left out')
    .option('--memory <size>', 'memory of each node; its part of the machine when left out')
    .option('--label <name=value>', 'a label of each node; several times', collect)
    .option('--ports <first-last>', 'ports for rendezvous, divided among the agents', '20000-20999')
    .option('--task-user <user>', 'local user that runs tasks when this is root; nobody when left out')
    .option('--stop-jobs', 'cancel every job that has not ended before stopping')
    .action(cli.act(async (flags: UpFlags) => (await import('./up.ts')).up(cli, flags)));
}
