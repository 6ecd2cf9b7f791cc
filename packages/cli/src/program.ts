// The command tree. Commands that need server parts (up, server, agent) come from the executable as `extra`, because
// the CLI itself knows only the SDK.
import { Command, Help, Option } from 'commander';
import { type Cli, outputs } from './cli.ts';
import { cancelCommand } from './commands/cancel.ts';
import { clustersCommand } from './commands/clusters.ts';
import { completeCommand, completionCommand } from './commands/completion.ts';
import { drainCommand, undrainCommand } from './commands/drain.ts';
import { eventsCommand } from './commands/events.ts';
import { helpCommand } from './commands/help.ts';
import { holdCommand, releaseCommand } from './commands/hold.ts';
import { loginCommand } from './commands/login.ts';
import { logsCommand } from './commands/logs.ts';
import { membersCommand } from './commands/members.ts';
import { moveCommand } from './commands/move.ts';
import { nodesCommand } from './commands/nodes.ts';
import { policyCommand } from './commands/policy.ts';
import { profilesCommand } from './commands/profiles.ts';
import { projectsCommand } from './commands/projects.ts';
import { psCommand } from './commands/ps.ts';
import { quotaCommand } from './commands/quota.ts';
import { replayCommand } from './commands/replay.ts';
import { runCommand } from './commands/run.ts';
import { scoreCommand } from './commands/score.ts';
import { showCommand } from './commands/show.ts';
import { submitCommand } from './commands/submit.ts';
import { thawCommand } from './commands/thaw.ts';
import { tokensCommand } from './commands/tokens.ts';
import { usageCommand } from './commands/usage.ts';
import { versionCommand } from './commands/version.ts';
import { waitCommand } from './commands/wait.ts';
import { whatifCommand } from './commands/whatif.ts';
import { whoamiCommand } from './commands/whoami.ts';
import { whyCommand } from './commands/why.ts';
import { usage } from './failure.ts';

export type CommandMaker = (cli: Cli) => Command;

export interface ExtraCommands {
  readonly heading: string;
  readonly commands: readonly CommandMaker[];
}

const groups: readonly ExtraCommands[] = [
  {
    heading: 'Jobs',
    commands: [
      runCommand,
      submitCommand,
      psCommand,
      showCommand,
      membersCommand,
      whyCommand,
      logsCommand,
      waitCommand,
      cancelCommand,
      moveCommand,
      holdCommand,
      releaseCommand,
    ],
  },
  {
    heading: 'Fleet',
    commands: [nodesCommand, clustersCommand, drainCommand, undrainCommand, thawCommand, eventsCommand],
  },
  { heading: 'Policy', commands: [policyCommand, quotaCommand, usageCommand] },
  { heading: 'Questions', commands: [scoreCommand, whatifCommand, replayCommand] },
  {
    heading: 'Access',
    commands: [loginCommand, profilesCommand, whoamiCommand, projectsCommand, tokensCommand],
  },
];

const rest: readonly CommandMaker[] = [versionCommand, completionCommand, helpCommand];

export function createProgram(cli: Cli, extra: readonly ExtraCommands[] = []): Command {
  const program = new Command('muster')
    .description('One queue in front of every accelerator you have.')
    .usage('<command> [flags]')
    .helpCommand(false)
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: term, visibleOptions, commandDescription: flowing })
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', footer)
    .version(cli.version.version, '-V, --version', 'print the version');
  for (const option of globalOptions()) program.addOption(option);
  refuseRepeats(program);
  for (const { heading, commands } of together(extra)) {
    for (const make of commands) adopt(program, make(cli).helpGroup(`${heading}:`));
  }
  for (const make of rest) adopt(program, make(cli).helpGroup('Other:'));
  adopt(program, completeCommand(cli), true);
  return program;
}

/** What is extra under a heading of ours stands behind ours; other headings come first. */
function together(extra: readonly ExtraCommands[]): readonly ExtraCommands[] {
  const ours = groups.map(({ heading, commands }) => ({
    heading,
    commands: [
      ...commands,
      ...extra.filter((each) => each.heading === heading).flatMap((each) => each.commands),
    ],
  }));
  const known = new Set(groups.map(({ heading }) => heading));
  return [...extra.filter(({ heading }) => !known.has(heading)), ...ours];
}

/** Flags that every command takes are told once, below the commands, and in one line below each. */
function visibleOptions(command: Command): Option[] {
  return command.parent === null ? [] : new Help().visibleOptions(command);
}

/** Lines of a paragraph become one, for the terminal to break; empty and indented ones stay. */
function flowing(command: Command): string {
  return command.description().replace(/(?<=^\S.*)\n(?=\S)/gm, ' ');
}

const everywhere =
  '\nFlags of every command (muster --help says more):\n  --profile --server --token-file -o --no-color -v';

const footer = `
Flags of every command:
  --profile <name>     which saved server and token to use
  --server <url>       the server to talk to
  --token-file <path>  file with the token ("-" is stdin)
  -o, --output <form>  table, wide, json or yaml
  --no-color           no colours
  -v, --verbose        say what is tried and tried again

Start here:  muster up                          a whole system on this machine
             muster run --gpus 1 -- nvidia-smi  a job, followed to its end
             muster why JOB                     why it waits and what would help
More:        muster help <command>, help exit-codes, help environment`;

function globalOptions(): Option[] {
  return [
    new Option('--profile <name>', 'which saved server and token to use'),
    new Option('--server <url>', 'the server to talk to'),
    new Option('--token-file <path>', 'file with the token ("-" is stdin)'),
    new Option('-o, --output <form>', 'form of the output').choices([...outputs]),
    new Option('--no-color', 'no colours'),
    new Option('-v, --verbose', 'say what is tried and tried again'),
  ];
}

/** Makes a command, and those below it, one of the program's: same errors, same global flags after its name too. */
function adopt(parent: Command, command: Command, hidden = false): void {
  command.copyInheritedSettings(parent).helpCommand(false);
  if (!hidden) command.addHelpText('after', everywhere);
  if (command.commands.length === 0 || hasAction(command)) addGlobals(command);
  refuseRepeats(command);
  for (const child of command.commands) adopt(command, child);
  if (parent.commands.includes(command)) return;
  parent.addCommand(command, { hidden });
}

/** A flag whose second value would silently take the place of the first is given once. */
function refuseRepeats(command: Command): void {
  for (const option of command.options) {
    const takesOne = (option.required || option.optional) && !option.variadic && !option.parseArg;
    if (!takesOne) continue;
    let given = false;
    command.on(`option:${option.name()}`, () => {
      if (given) throw usage(`${option.long ?? option.short} is given twice; give it once`);
      given = true;
    });
  }
}

function addGlobals(command: Command): void {
  const taken = new Set(command.options.flatMap(({ short, long }) => [short, long]));
  for (const option of globalOptions()) {
    if (taken.has(option.long) || (option.short && taken.has(option.short))) continue;
    command.addOption(option.hideHelp());
  }
}

function hasAction(command: Command): boolean {
  return (command as unknown as { _actionHandler: unknown })._actionHandler != null;
}

/** The list of commands shows names and what they take, not every flag. */
function term(command: Command): string {
  const args = command.registeredArguments.map((argument) => {
    const name = argument.name() + (argument.variadic ? '...' : '');
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...args].join(' ');
}
