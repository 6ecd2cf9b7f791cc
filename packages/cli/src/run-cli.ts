// From an argument list to an exit code. Never throws and never exits the process: the executable does that.
import { nearest } from '@muster/model';
import { type Command, CommanderError } from 'commander';
import { Cli, type VersionInfo } from './cli.ts';
import { exit } from './exit-codes.ts';
import { type CliFailure, debugText, toFailure, usage } from './failure.ts';
import { createProgram, type ExtraCommands } from './program.ts';
import type { Terminal } from './terminal.ts';

export interface CliOptions {
  readonly version: VersionInfo;
  readonly extra?: readonly ExtraCommands[];
}

export async function runCli(
  argv: readonly string[],
  terminal: Terminal,
  options: CliOptions,
): Promise<number> {
  const cli = new Cli(terminal, options.version);
  const program = createProgram(cli, options.extra);
  let complaint = '';
  const settle = (command: Command): void => {
    command.exitOverride().configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      writeErr: (text) => {
        complaint += text;
      },
      getOutHelpWidth: () => Math.min(terminal.stdout.columns || 100, 110),
      getOutHasColors: () => false,
    });
    for (const child of command.commands) settle(child);
  };
  settle(program);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exit.ok;
    // Without a command the help is the answer, not an error.
    if (error instanceof CommanderError && error.code === 'commander.help') {
      terminal.stdout.write(complaint);
      return exit.ok;
    }
    const shown =
      error instanceof CommanderError ? usage(usageText(complaint, error, program, argv)) : toFailure(error);
    report(terminal, shown);
    return shown.exitCode;
  }
}

function report(terminal: Terminal, failure: CliFailure): void {
  // An empty message says that everything was told already.
  if (failure.message !== '') terminal.stderr.write(`muster: ${failure.message}\n`);
  if (terminal.env.MUSTER_DEBUG === '1') terminal.stderr.write(debugText(failure));
}

/** Commander's words as one line of ours, with the nearest name and where to read more. */
function usageText(
  complaint: string,
  error: CommanderError,
  program: Command,
  argv: readonly string[],
): string {
  const [first = '', second = ''] = (complaint || error.message).trim().split('\n');
  const command = commandOf(program, argv);
  const path = pathOf(command);
  let text = first.replace(/^error: /, '').replace(/\.$/, '');
  const suggested = /^\(Did you mean (?:one of )?(.*?)\?\)$/.exec(second)?.[1]?.replaceAll(', ', '" or "');
  const word = /unknown (?:command|option) '([^']+)'/.exec(text)?.[1];
  const misspelt = error.code === 'commander.excessArguments' ? misspeltChild(command, argv) : null;
  if (misspelt) text = `unknown command '${misspelt.word}'`;
  // `muster submit job.yaml`: the file is there, only its flag is not.
  const file =
    error.code === 'commander.missingMandatoryOptionValue' && command.name() === 'submit' ? argv.at(-1) : '';
  if (file && file !== 'submit' && !file.startsWith('-'))
    return `the file needs its flag; write: ${path} -f ${file}`;
  const near = misspelt?.near ?? (word ? nearest(word, candidates(command, word)) : null) ?? suggested;
  if (near) text += `; did you mean "${near}"?`;
  return `${text}${text.endsWith('?') ? '' : ';'} see: ${path} --help`;
}

function candidates(command: Command, word: string): string[] {
  return word.startsWith('-')
    ? command.options.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined))
    : command.commands.map((child) => child.name());
}

/** `muster tokens revok x` is a misspelt subcommand, not one argument too many. */
function misspeltChild(command: Command, argv: readonly string[]): { word: string; near: string } | null {
  const names = command.commands.map((child) => child.name());
  for (const word of argv) {
    const near = nearest(word, names);
    if (near && near !== word && word !== command.name()) return { word, near };
  }
  return null;
}

function commandOf(program: Command, argv: readonly string[]): Command {
  let at = program;
  for (const word of argv) {
    const child = at.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (child) at = child;
    else if (!word.startsWith('-') && at !== program) break;
  }
  return at;
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}
