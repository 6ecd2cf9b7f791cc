// muster help: of the program, of a command, and topics that belong to no command.
import { nearest } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { exitCodeTable, jobExitNote } from '../exit-codes.ts';
import { usage } from '../failure.ts';

const topics = ['exit-codes', 'environment'];

export function helpCommand(cli: Cli): Command {
  const command: Command = new Command('help')
    .summary('help for a command, or a topic: exit-codes, environment')
    .description(`Help for a command, or one of the topics: ${topics.join(', ')}.`)
    .argument('[topic...]')
    .action(cli.act(async (words: string[]) => help(cli, command, words)));
  return command;
}

function help(cli: Cli, command: Command, words: readonly string[]): void {
  const program = command.parent;
  if (program === null) return;
  const topic = words[0];
  if (topic === 'exit-codes') exitCodes(cli);
  else if (topic === 'environment') environment(cli);
  else commandHelp(program, words);
}

function commandHelp(program: Command, words: readonly string[]): void {
  let at: Command = program;
  for (const word of words) {
    const child = at.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (!child) {
      const names = [...at.commands.map((one) => one.name()), ...(at === program ? topics : [])];
      const near = nearest(word, names);
      throw usage(
        `there is no help for "${word}"; ${near ? `did you mean "${near}"?` : '"muster help" lists what there is'}`,
      );
    }
    at = child;
  }
  at.outputHelp();
}

function exitCodes(cli: Cli): void {
  cli.line('Exit codes:');
  for (const [code, meaning] of exitCodeTable) cli.line(`  ${code.padStart(3)}  ${meaning}`);
  cli.line();
  for (const line of jobExitNote) cli.line(line);
}

function environment(cli: Cli): void {
  const rows = [
    ['MUSTER_PROFILE', 'the profile to use, as --profile'],
    ['MUSTER_SERVER', 'the server to talk to, as --server'],
    ['MUSTER_TOKEN_FILE', 'file with the token, as --token-file'],
    ['MUSTER_TOKEN', 'the token itself, for machines that keep secrets in variables'],
    ['MUSTER_CA_FILE', "certificate of the server's authority, when the system does not know it"],
    ['MUSTER_DEBUG', '1 shows the stack of a failure'],
    ['NO_COLOR', 'any value: no colours'],
    ['XDG_CONFIG_HOME', 'where muster/config.yaml lies; ~/.config when not set'],
    ['XDG_STATE_HOME', 'where "muster up" keeps its data; ~/.local/state when not set'],
  ];
  cli.line('Environment:');
  for (const [name = '', meaning] of rows) cli.line(`  ${name.padEnd(18)} ${meaning}`);
}
