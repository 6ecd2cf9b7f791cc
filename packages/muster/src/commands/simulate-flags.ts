// The flags of `muster simulate`, apart from what it does: the help must not load a simulator.
import { type Cli, usage } from '@muster/cli';
import { Command } from 'commander';

export interface SimulateFlags {
  readonly trace?: string;
  readonly format?: string;
  readonly policy: string;
  readonly durations: string;
  readonly fleet?: string;
  readonly nodes?: string;
  readonly devicesPerNode?: string;
  readonly restart: string;
  readonly checkpoint: string;
  readonly report?: string;
  readonly list?: boolean;
  readonly live?: boolean;
  readonly last: string;
  readonly policyFile?: string;
  readonly addNodes?: string;
  readonly like?: string;
  readonly loseNode?: readonly string[];
  readonly loseCluster?: readonly string[];
}

/** What a live system says itself, or what its comparison does not have. */
export const traceOnly = ['trace', 'format', 'policy', 'fleet', 'nodes', 'devicesPerNode', 'report'] as const;
export const liveOnly = ['last', 'addNodes', 'like', 'loseNode', 'loseCluster'] as const;

export function simulateCommand(cli: Cli): Command {
  return new Command('simulate')
    .summary('play a trace under several policies, side by side')
    .description(
      'Plays a recorded trace on a virtual fleet and clock under several policies, and puts waits, slowdown, utilisation,\n' +
        'fairness and lost work side by side. Needs no server. Without --trace it plays the sample that comes with Muster.\n\n' +
        '"muster" is the production engine with its default policy. A wait is all of a job\'s time beyond its run time, so\n' +
        'that restarts and work done again after a preemption count.\n\n' +
        'With --live it plays what the server was asked to do in the last days twice, as things are and with a change, and\n' +
        'says who gains and who loses. docs/guide/simulate.md says more.',
    )
    .option('--trace <file>', 'the trace; gzipped or not')
    .option('--format <name>', 'swf, philly, openb or muster; found out from the file when left out')
    .option(
      '--policy <names>',
      'policies, separated by commas; --list names all; "all" is every one',
      'easy,muster',
    )
    .option(
      '--durations <from>',
      'what policies believe of run times: asked, exact, learned; several by commas',
      'asked',
    )
    .option('--fleet <file>', 'pools as YAML or JSON, or the node list of a trace')
    .option('--nodes <n>', 'so many equal nodes instead; as the trace says when left out')
    .option(
      '--devices-per-node <n>',
      'with --nodes: 1 merely counts devices; 8 for GPU traces, 1 for swf when left out',
    )
    .option('--restart <duration>', 'what a restart after a preemption costs', '60s')
    .option('--checkpoint <duration>', 'how often runs save their work', '10m')
    .option('--report <file>', 'write a page with charts there: one HTML file, nothing else needed')
    .option('--list', 'name the policies and formats')
    .option('--live', 'play the jobs, nodes and policy of the server; needs a token that sees every project')
    .option('--last <duration>', 'with --live: how far back', '7d')
    .option(
      '--policy-file <file>',
      'a policy of Muster to play too, as "muster-file"; with --live instead of the one in force; "-" is stdin',
    )
    .option('--add-nodes <n>', 'with --live: so many more nodes, each like the one of --like')
    .option('--like <node>', 'the node that added ones resemble')
    .option('--lose-node <node...>', 'with --live: without these nodes')
    .option('--lose-cluster <cluster...>', 'with --live: without these clusters')
    .action(
      cli.act(async (flags: SimulateFlags, command: Command) => {
        checkTogether(flags, command);
        if (flags.live) return (await import('./simulate-live.ts')).simulateLive(cli, flags);
        return (await import('./simulate.ts')).simulate(cli, flags);
      }),
    );
}

/** What would be left out of account is refused instead. */
function checkTogether({ live }: SimulateFlags, command: Command): void {
  const given = (names: readonly string[]): string | undefined => {
    const name = names.find((one) => command.getOptionValueSource(one) === 'cli');
    return name && `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  };
  const other = given(live ? traceOnly : liveOnly);
  if (other && live) throw usage(`${other} is for a trace; --live plays what the server knows`);
  if (other) throw usage(`${other} needs --live`);
}
