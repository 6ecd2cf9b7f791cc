// The command line, read from the program itself. `up`, `server` and `agent` come from the executable.
import { Cli, createProgram, type Terminal } from '@muster/cli';
import { serverCommands } from '../../packages/muster/src/server-commands.ts';
import { code, page, table } from './markdown.ts';

type Program = ReturnType<typeof createProgram>;

/** The program's tree is made without a terminal: nothing here runs a command. */
export function musterProgram(): Program {
  return createProgram(new Cli({} as Terminal, { version: '', commit: '', schema: null }), serverCommands);
}

const isHidden = (command: Program): boolean => (command as unknown as { _hidden: boolean })._hidden;

/** What the help shows beside the description: whether it must be given, what it may be, what it is when left out. */
function optionText(option: Program['options'][number]): string {
  const choices = option.argChoices
    ? [`one of ${option.argChoices.map((choice) => code(choice)).join(', ')}`]
    : [];
  const needed = option.mandatory ? ['required'] : [];
  const otherwise =
    typeof option.defaultValue === 'string' ? [`${code(option.defaultValue)} when left out`] : [];
  return [option.description, ...choices, ...needed, ...otherwise].join('; ');
}

function describeCommand(command: Program, path: string): string[] {
  const name = `${path} ${command.name()}`;
  const args = command.registeredArguments.map((argument) => {
    const text = argument.name() + (argument.variadic ? '...' : '');
    return argument.required ? `<${text}>` : `[${text}]`;
  });
  const rows = [
    ...command.registeredArguments.map((argument) => [code(argument.name()), argument.description]),
    ...command.options
      .filter((option) => !option.hidden)
      .map((option) => [code(option.flags), optionText(option)]),
  ];
  const parts = [`## ${name}`, code([name, ...args].join(' ')), command.description()];
  if (rows.length > 0) parts.push(table(['', ''], rows));
  const children = command.commands.filter((child) => !isHidden(child));
  return [parts.join('\n\n'), ...children.flatMap((child) => describeCommand(child, name))];
}

export function cliPage(): string {
  const program = musterProgram();
  const globals = program.options.map((option) => [code(option.flags), optionText(option)]);
  const commands = program.commands.filter((command) => !isHidden(command));
  return page(
    'Command line',
    '`muster help COMMAND` says the same. `muster help exit-codes` lists the exit codes.',
    `## For every command\n\n${table(['', ''], globals)}`,
    ...commands.flatMap((command) => describeCommand(command, 'muster')),
  );
}
