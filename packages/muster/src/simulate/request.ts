// What the command line of `muster simulate` asks for, checked: policies, durations, fleet, costs.
import { resolve } from 'node:path';
import { type Cli, CliFailure, exit, usage } from '@muster/cli';
import { nearest, parseDurationMs } from '@muster/model';
import {
  type Costs,
  type Durations,
  durations,
  type Fleet,
  FleetRefused,
  fleetOf,
  type PolicyRow,
  policyRows,
  readFleet,
  sampleDevicesPerNode,
  sampleFile,
  sampleNodes,
  type TraceRead,
  type Wanted,
} from '@muster/sim';
import type { SimulateFlags } from '../commands/simulate-flags.ts';

export function tracePath(cli: Cli, { trace }: SimulateFlags): string {
  return trace === undefined ? sampleFile : resolve(cli.terminal.cwd, trace);
}

/** In the order named, then those of files; a policy that believes something of run times once for each of the durations. */
export function wantedPolicies(
  policies: string,
  from: string,
  ofFiles: readonly PolicyRow[] = [],
): readonly Wanted[] {
  const names = listed(policies);
  const sources = listed(from).map((word) => oneOf('--durations', word, durations)) as Durations[];
  const rows = names.length === 1 && names[0] === 'all' ? policyRows : names.map(policyNamed);
  if (rows.length === 0) throw usage('--policy wants at least one name; --list names all');
  if (sources.length === 0) throw usage(`--durations wants ${durations.join(', ')}`);
  return [...rows, ...ofFiles].flatMap((row): Wanted[] =>
    row.believes ? sources.map((each) => ({ row, durations: each })) : [{ row, durations: null }],
  );
}

/** Where only one source of beliefs makes sense. */
export function oneDurations(text: string): Durations {
  return oneOf('--durations', text.trim(), durations) as Durations;
}

function policyNamed(name: string): PolicyRow {
  const known = oneOf(
    '--policy',
    name,
    policyRows.map((row) => row.name),
  );
  return policyRows.find((row) => row.name === known)!;
}

function listed(text: string): string[] {
  return [...new Set(text.split(',').map((word) => word.trim()))].filter((word) => word !== '');
}

function oneOf(flag: string, word: string, known: readonly string[]): string {
  if (known.includes(word)) return word;
  const near = nearest(word, known);
  throw usage(
    `${flag}: there is no "${word}"; ${near ? `did you mean "${near}"?` : `there are ${known.join(', ')}`}`,
  );
}

export function costsOf({ restart, checkpoint }: SimulateFlags): Costs {
  const ms = (flag: string, text: string): number => {
    if (text === '0') return 0;
    const parsed = parseDurationMs(text);
    if (!parsed.ok) throw usage(`${flag}: ${parsed.message}`);
    return parsed.value;
  };
  return { restartMs: ms('--restart', restart), checkpointMs: ms('--checkpoint', checkpoint) };
}

export async function fleetFor(cli: Cli, flags: SimulateFlags, read: TraceRead): Promise<Fleet> {
  if (flags.fleet !== undefined) {
    if (flags.nodes !== undefined || flags.devicesPerNode !== undefined)
      throw usage('--fleet says everything about the fleet; leave out --nodes and --devices-per-node');
    return fromFile(resolve(cli.terminal.cwd, flags.fleet));
  }
  const perNode = count('--devices-per-node', flags.devicesPerNode, 1024);
  const nodes = count('--nodes', flags.nodes, 1_000_000);
  if (flags.trace === undefined) return fleetOf(nodes ?? sampleNodes, perNode ?? sampleDevicesPerNode);
  const usual = perNode ?? read.format.devicesPerNode;
  if (nodes !== null) return fleetOf(nodes, usual);
  const { machineDevices } = read.trace;
  if (machineDevices === null)
    throw usage(
      `${read.report.file} does not say what machine it is from; say --nodes N (of ${usual} devices each) or --fleet FILE`,
    );
  return fleetOf(Math.max(1, Math.floor(machineDevices / usual)), usual);
}

async function fromFile(path: string): Promise<Fleet> {
  try {
    return await readFleet(path);
  } catch (error) {
    if (error instanceof FleetRefused) throw new CliFailure(error.message, exit.usage);
    throw error;
  }
}

function count(flag: string, text: string | undefined, most: number): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > most)
    throw usage(`${flag} wants a whole number from 1 to ${most}, got "${text}"`);
  return value;
}
