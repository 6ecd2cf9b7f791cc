// What may stand at the end of a half-typed command line: subcommands, flags, choices, and the jobs, nodes and profiles
// that exist. Asking the server is bounded, because somebody waits with a finger on the key.
import type { Command, Option } from 'commander';
import type { Cli } from '../cli.ts';
import { jobState } from '../job-text.ts';
import { loadProfiles } from '../profile/profile-file.ts';
import { clean } from '../text/clean.ts';

type Candidate = readonly [word: string, meaning: string];

const askMs = 1500;

export async function candidates(cli: Cli, program: Command, words: readonly string[]): Promise<Candidate[]> {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  // What follows -- belongs to somebody else's program.
  if (before.includes('--')) return [];
  const { command, operands } = descend(program, before);
  const previous = before.at(-1);
  const option = previous === undefined ? undefined : command.options.find((one) => isNamed(one, previous));
  if (option && (option.required || option.optional)) return ofOption(cli, option, typed);
  const found = typed.startsWith('-')
    ? flags(command)
    : [...subcommands(command, operands), ...(await ofArgument(cli, command))];
  return found.filter(([word]) => word.startsWith(typed));
}

function descend(program: Command, words: readonly string[]): { command: Command; operands: number } {
  let command = program;
  let operands = 0;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    const option = command.options.find((one) => isNamed(one, word));
    if (option) i += option.required ? 1 : 0;
    else if (!word.startsWith('-')) {
      const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
      if (child && operands === 0) command = child;
      else operands += 1;
    }
  }
  return { command, operands };
}

function isNamed(option: Option, word: string): boolean {
  return option.long === word || option.short === word;
}

function flags(command: Command): Candidate[] {
  return command.options.flatMap((option) =>
    option.long ? [[option.long, option.description] as const] : [],
  );
}

function subcommands(command: Command, operands: number): Candidate[] {
  if (operands > 0) return [];
  return command.commands
    .filter((one) => !one.name().startsWith('__'))
    .map((one) => [one.name(), one.summary() || one.description()] as const);
}

async function ofOption(cli: Cli, option: Option, typed: string): Promise<Candidate[]> {
  const fixed = option.argChoices?.map((choice) => [choice, ''] as const);
  if (fixed) return fixed.filter(([word]) => word.startsWith(typed));
  if (option.long === '--profile') return profiles(cli);
  if (option.long === '--job') return jobs(cli);
  return [];
}

async function ofArgument(cli: Cli, command: Command): Promise<Candidate[]> {
  const [argument] = command.registeredArguments;
  if (!argument) return [];
  if (argument.argChoices) return argument.argChoices.map((choice) => [choice, ''] as const);
  if (argument.name() === 'job') return jobs(cli);
  if (argument.name() === 'node') return nodes(cli);
  if (argument.name() === 'cluster') return clusters(cli);
  if (command.parent?.name() === 'profiles') return profiles(cli);
  return [];
}

function profiles(cli: Cli): Candidate[] {
  try {
    return Object.entries(loadProfiles(cli.terminal.env).profiles).map(
      ([name, { server }]) => [name, server] as const,
    );
  } catch {
    return [];
  }
}

async function jobs(cli: Cli): Promise<Candidate[]> {
  return asked(async () => {
    const { items } = await cli.client().jobs.list({ limit: 50 }, { signal: AbortSignal.timeout(askMs) });
    return items.map((job) => [job.id, `${clean(job.name)} ${jobState(job)}`] as const);
  });
}

async function nodes(cli: Cli): Promise<Candidate[]> {
  return asked(async () => {
    const { items } = await cli.client().nodes.list({ limit: 200 }, AbortSignal.timeout(askMs));
    return items.map((node) => [clean(node.name), node.state] as const);
  });
}

async function clusters(cli: Cli): Promise<Candidate[]> {
  return asked(async () => {
    const { items } = await cli.client().clusters.list({ limit: 200 }, AbortSignal.timeout(askMs));
    return items.map(({ name, state }) => [clean(name), state] as const);
  });
}

/** Without a server there is nothing to offer, and nothing to complain about. */
async function asked(ask: () => Promise<Candidate[]>): Promise<Candidate[]> {
  try {
    return await ask();
  } catch {
    return [];
  }
}
