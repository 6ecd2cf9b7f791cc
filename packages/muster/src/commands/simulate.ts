// muster simulate: reads the trace and the fleet, plays every policy, prints one table or one JSON object, and writes the report.
import { writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { type Cli, CliFailure, exit, readPolicy } from '@muster/cli';
import {
  type Compared,
  compare,
  htmlReport,
  musterRow,
  type PolicyRow,
  readTrace,
  type TraceRead,
  TraceRefused,
} from '@muster/sim';
import { printComparison, printLists, readLines } from '../simulate/comparison-text.ts';
import { costsOf, fleetFor, tracePath, wantedPolicies } from '../simulate/request.ts';
import { SimulateProgress } from '../simulate/simulate-progress.ts';
import type { SimulateFlags } from './simulate-flags.ts';

export async function simulate(cli: Cli, flags: SimulateFlags): Promise<void> {
  if (flags.list) {
    printLists(cli);
    return;
  }
  // What is wrong with the command line is said before a large file is read.
  const rows = await policiesOf(cli, flags);
  const wanted = wantedPolicies(flags.policy, flags.durations, rows);
  const costs = costsOf(flags);
  const progress = new SimulateProgress(cli);
  const read = await readOrRefuse(cli, flags, progress);
  const fleet = await fleetFor(cli, flags, read);
  for (const line of readLines(read.report)) cli.note(line);
  const compared = compare(read.trace, read.report, fleet, wanted, {
    costs,
    onProgress: ({ row, durations }, part) =>
      progress.show([row.name, durations ?? ''].join(' ').trim(), part),
  });
  progress.clear();
  cli.show(compared.comparison, () => printComparison(cli, compared.comparison));
  if (flags.report !== undefined) await writeReport(cli, flags.report, compared);
}

/** Muster with the policy of a file stands beside the others, where there is one. */
async function policiesOf(cli: Cli, { policyFile }: SimulateFlags): Promise<readonly PolicyRow[]> {
  if (policyFile === undefined) return [];
  const { policy } = await readPolicy(cli, policyFile);
  return [musterRow('muster-file', `Muster's engine with the policy of ${policyFile}`, policy)];
}

async function readOrRefuse(cli: Cli, flags: SimulateFlags, progress: SimulateProgress): Promise<TraceRead> {
  const path = tracePath(cli, flags);
  try {
    return await readTrace(path, {
      format: flags.format,
      onProgress: (part) => progress.show(`reading ${basename(path)}`, part),
    });
  } catch (error) {
    if (error instanceof TraceRefused) throw new CliFailure(error.message, exit.usage);
    throw error;
  } finally {
    progress.clear();
  }
}

async function writeReport(cli: Cli, file: string, compared: Compared): Promise<void> {
  const path = resolve(cli.terminal.cwd, file);
  try {
    await writeFile(path, htmlReport(compared));
  } catch (error) {
    throw new CliFailure(`the report cannot be written to ${path}: ${(error as Error).message}`);
  }
  cli.note(`report: ${path}`);
}
