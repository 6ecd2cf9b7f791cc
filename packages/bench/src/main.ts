// `npm run bench -- <name> [--json] [--quick]`. Exit code 0 whatever the figures are; 1 when the measuring itself broke; 2 when
// it was called wrongly. With --json, one object on stdout and nothing else there; progress goes to stderr.
import { nearest } from '@muster/model';
import { createLifetime, type Lifetime } from './lifetime.ts';
import { busyShare } from './other-work.ts';
import { jsonReport, type ToldRow, tableReport } from './report.ts';

export interface BenchOptions {
  /** Fewer repetitions, for a look in less than a minute. */
  readonly quick: boolean;
  readonly lifetime: Lifetime;
  readonly progress: (line: string) => void;
}

interface Bench {
  readonly about: string;
  /** Loaded when asked for, so that listing needs nothing. */
  readonly load: () => Promise<Run>;
}

type Run = (options: BenchOptions) => Promise<readonly ToldRow[]>;

const benches: Readonly<Record<string, Bench>> = {
  control: {
    about: 'the whole control plane: submits, start latency, job throughput, memory, a loaded API',
    load: async () => (await import('./control/bench-control.ts')).benchControl,
  },
};
const flags = ['--json', '--quick'];
const tolerableShare = 0.1;

function usage(): string {
  const lines = Object.entries(benches).map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`);
  return `npm run bench -- <name> [--json] [--quick]\n\n${lines.join('\n')}`;
}

function refuse(what: string, given: string, known: readonly string[]): number {
  const near = nearest(given, known);
  const hint = near === null ? `there are ${known.join(', ')}` : `did you mean ${near}?`;
  process.stderr.write(`there is no ${what} "${given}"; ${hint}\n`);
  return 2;
}

async function main(args: readonly string[]): Promise<number> {
  const names = args.filter((arg) => !arg.startsWith('-'));
  const unknownFlag = args.find((arg) => arg.startsWith('-') && !flags.includes(arg));
  if (unknownFlag !== undefined) return refuse('option', unknownFlag, flags);
  const [name, second] = names;
  if (name === undefined) {
    process.stdout.write(`${usage()}\n`);
    return 0;
  }
  const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
  if (!bench) return refuse('benchmark', name, Object.keys(benches));
  if (second !== undefined) return refuse('argument', second, flags);
  return measure(name, bench, args.includes('--json'), args.includes('--quick'));
}

async function measure(name: string, bench: Bench, json: boolean, quick: boolean): Promise<number> {
  const lifetime = createLifetime();
  const startedMs = performance.now();
  const progress = (line: string): void => {
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(6);
    process.stderr.write(`${seconds} s  ${line}\n`);
  };
  try {
    const busy = await busyShare();
    if (busy > tolerableShare)
      progress(`other work takes ${Math.round(busy * 100)} % of this machine: the figures will be too low`);
    const run = await bench.load();
    const rows = await run({ quick, lifetime, progress });
    process.stdout.write(`${json ? jsonReport(name, rows) : tableReport(rows)}\n`);
    return 0;
  } catch (error) {
    if (lifetime.closing) return 130;
    process.stderr.write(`the measuring broke: ${(error as Error).stack ?? String(error)}\n`);
    return 1;
  } finally {
    await lifetime.close();
  }
}

process.exitCode = await main(process.argv.slice(2));
// Connections that a broken run left open must not keep the process.
if (process.stdout.writableLength === 0) process.exit();
process.stdout.once('drain', () => process.exit());
