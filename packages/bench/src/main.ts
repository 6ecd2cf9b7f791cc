// `npm run bench -- <name> [--json] [--quick]`. Exit code 0 whatever the figures are; 1 when the measuring itself broke; 2 when
// it was called wrongly. With --json, one object on stdout and nothing else there; progress goes to stderr.
import { CalledWrongly } from './called-wrongly.ts';
import { createLifetime, type Lifetime } from './lifetime.ts';
import { type Called, parseOptions, unknownWord, type ValueOption } from './options.ts';
import { busyShare } from './other-work.ts';
import { jsonReport, type ToldRow, tableReport } from './report.ts';

export interface BenchOptions {
  /** Fewer repetitions, for a look in less than a minute. */
  readonly quick: boolean;
  /** The benchmark's own options, by flag. */
  readonly values: ReadonlyMap<string, string>;
  readonly lifetime: Lifetime;
  readonly progress: (line: string) => void;
}

interface Bench {
  readonly about: string;
  readonly options: readonly ValueOption[];
  /** Loaded when asked for, so that listing needs nothing. */
  readonly load: () => Promise<Run>;
}

type Run = (options: BenchOptions) => Promise<readonly ToldRow[]>;

const benches: Readonly<Record<string, Bench>> = {
  clusters: {
    about: 'real clusters: pods, Slurm jobs and dispatches a second, beside bare calls and kube-scheduler',
    options: [
      {
        flag: '--scale',
        value: null,
        about: 'instead: 10,000 nodes and 50,000 pods on one of three clusters; resync, lag and memory',
      },
    ],
    load: async () => (await import('./clusters/bench-clusters.ts')).benchClusters,
  },
  control: {
    about: 'the whole control plane: submits, start latency, job throughput, memory, a loaded API',
    options: [],
    load: async () => (await import('./control/bench-control.ts')).benchControl,
  },
  engine: {
    about: 'the scheduling engine alone: placements, gangs, a million waiting, reclaim, preemption, growth',
    options: [],
    load: async () => (await import('./engine/bench-engine.ts')).benchEngine,
  },
  fidelity: {
    about: 'replayed figures beside published ones on KTH-SP2 and Philly, and Muster beside them',
    options: [],
    load: async () => (await import('./fidelity/bench-fidelity.ts')).benchFidelity,
  },
  kueue: {
    about:
      "Kueue's performance configurations against the durable control plane, beside the workload's floor",
    options: [
      {
        flag: '--config',
        value: 'FILE',
        about: "another generator.yaml of Kueue's form instead of its three",
      },
    ],
    load: async () => (await import('./kueue/bench-kueue.ts')).benchKueue,
  },
  openb: {
    about: "GPU allocation on Alibaba's openb pod lists at 130 % arrived load, beside plain best fit",
    options: [
      { flag: '--dir', value: 'DIR', about: 'the folder with the lists; ../shared/traces/openb unless told' },
    ],
    load: async () => (await import('./openb/bench-openb.ts')).benchOpenb,
  },
  sim: {
    about: "how fast traces are replayed: Philly's 82,247 jobs under FIFO and under Muster, or the sample",
    options: [{ flag: '--trace', value: 'FILE', about: 'another trace, on 64 nodes of 8 devices' }],
    load: async () => (await import('./sim/bench-sim.ts')).benchSim,
  },
};
const tolerableShare = 0.1;

function usage(): string {
  const lines = Object.entries(benches).flatMap(([name, { about, options }]) => [
    `  ${name.padEnd(10)} ${about}`,
    ...options.map(
      ({ flag, value, about: told }) => `${' '.repeat(15)}${`${flag} ${value ?? ''}`.padEnd(14)} ${told}`,
    ),
  ]);
  return [
    'npm run bench -- <name> [options]',
    '',
    ...lines,
    '',
    'All take --json (one object on stdout) and --quick (fewer repetitions). What each row means: packages/bench/README.md',
  ].join('\n');
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === 'help' || args.includes('--help') || args.includes('-h')) {
    process.stdout.write(`${usage()}\n`);
    return 0;
  }
  try {
    const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
    if (!bench) throw unknownWord('benchmark', name, Object.keys(benches));
    return await measure(name, bench, parseOptions(rest, bench.options));
  } catch (error) {
    if (!(error instanceof CalledWrongly)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}

async function measure(name: string, bench: Bench, { json, quick, values }: Called): Promise<number> {
  const lifetime = createLifetime();
  const startedMs = performance.now();
  const progress = (line: string): void => {
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1).padStart(6);
    process.stderr.write(`${seconds} s  ${line}\n`);
  };
  try {
    const run = await bench.load();
    const busy = await busyShare();
    if (busy > tolerableShare)
      progress(`other work takes ${Math.round(busy * 100)} % of this machine: the figures will be too low`);
    const rows = await run({ quick, values, lifetime, progress });
    process.stdout.write(`${json ? jsonReport(name, rows) : tableReport(rows)}\n`);
    return 0;
  } catch (error) {
    if (error instanceof CalledWrongly) throw error;
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
