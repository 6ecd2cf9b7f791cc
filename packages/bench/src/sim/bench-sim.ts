// How fast traces are replayed: Philly's 82,247 jobs on 64 nodes of 8 GPUs, with strict FIFO and with Muster's engine, or the product's own sample where Philly
// is not there.
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sampleDevicesPerNode, sampleFile, sampleNodes } from '@muster/sim';
import { CalledWrongly } from '../called-wrongly.ts';
import { repository } from '../control/child.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { median } from '../statistics.ts';
import type { ReplayTimes } from './replay-process.ts';

const phillyFile = '../shared/traces/philly/philly.csv.gz';

interface Played {
  readonly name: string;
  readonly file: string;
  readonly nodes: number;
  readonly perNode: number;
}

export async function benchSim({
  quick,
  values,
  lifetime,
  progress,
}: BenchOptions): Promise<readonly ToldRow[]> {
  const trace = traceOf(values.get('--trace'));
  progress(`${trace.file} on ${trace.nodes} x ${trace.perNode} devices`);
  const repetitions = quick ? 1 : 3;
  const run = async (policy: string, times: number): Promise<ReplayTimes[]> => {
    const runs: ReplayTimes[] = [];
    for (let i = 0; i < times; i++) {
      const told = await inProcess(trace, policy, lifetime);
      progress(
        `${policy}: read ${s(told.readS)}, played ${s(told.playS)}, measured ${s(told.measureS)}, ${s(told.coreS)} on a core; average wait ${Math.round(told.avgWaitS)} s`,
      );
      runs.push(told);
    }
    return runs;
  };
  const fifo = await run('fifo', repetitions);
  const muster = await run('muster', quick ? 1 : 2);
  return rowsOf(trace, fifo, muster);
}

function rowsOf(
  trace: Played,
  fifo: readonly ReplayTimes[],
  muster: readonly ReplayTimes[],
): readonly ToldRow[] {
  const of = (runs: readonly ReplayTimes[], value: (run: ReplayTimes) => number) => median(runs.map(value));
  const whole = ({ readS, playS, measureS }: ReplayTimes): number => readS + playS + measureS;
  const onCore = (runs: readonly ReplayTimes[]): string => `${s(of(runs, ({ coreS }) => coreS))} on a core`;
  const jobs = fifo[0]!.jobs;
  const bare = ['a bare event loop over the same jobs', of(fifo, ({ bareS }) => bareS)] as const;
  const where = `${jobs} jobs on ${trace.nodes * trace.perNode} devices`;
  return [
    row({
      name: 'jobs_per_s',
      value: jobs / of(fifo, ({ playS }) => playS),
      unit: 'jobs/s',
      reference: [bare[0], jobs / bare[1]],
      about: `Jobs replayed a second under strict FIFO, ${where}`,
      aim: null,
    }),
    row({
      name: `${trace.name}_fifo_s`,
      value: of(fifo, whole),
      unit: 's',
      reference: bare,
      about: `Reading the file, playing it under strict FIFO and computing all measures (${onCore(fifo)}), ${where}`,
      aim: trace.name === 'philly' ? '< 2 s' : null,
    }),
    row({
      name: `${trace.name}_muster_s`,
      value: of(muster, whole),
      unit: 's',
      reference: bare,
      about: `The same with the production engine and its default policy (${onCore(muster)}), ${where}`,
      aim: trace.name === 'philly' ? '< 10 s' : null,
    }),
    row({
      name: 'rss_mb',
      value: Math.max(...[...fifo, ...muster].map(({ rssMb }) => rssMb)),
      unit: 'MB',
      reference: ['the same process before it has read anything', of(muster, ({ idleMb }) => idleMb)],
      about: 'The most memory that one of these processes ever had',
      aim: '< 1000 MB',
    }),
  ];
}

function traceOf(given: string | undefined): Played {
  if (given !== undefined) {
    const file = isAbsolute(given) ? given : join(process.env.INIT_CWD ?? process.cwd(), given);
    if (!existsSync(file)) throw new CalledWrongly(`there is no file ${file}`);
    return { name: 'trace', file, nodes: 64, perNode: 8 };
  }
  const file = join(repository, phillyFile);
  if (existsSync(file)) return { name: 'philly', file, nodes: 64, perNode: 8 };
  return { name: 'sample', file: sampleFile, nodes: sampleNodes, perNode: sampleDevicesPerNode };
}

function inProcess(trace: Played, policy: string, lifetime: BenchOptions['lifetime']): Promise<ReplayTimes> {
  const script = fileURLToPath(new URL('./replay-process.ts', import.meta.url));
  const child = fork(script, [trace.file, policy, String(trace.nodes), String(trace.perNode)]);
  if (child.pid !== undefined) lifetime.addProcess(child.pid);
  return new Promise((resolve, reject) => {
    child.once('message', (times) => {
      resolve(times as ReplayTimes);
      child.disconnect();
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (child.pid !== undefined) lifetime.removeProcess(child.pid);
      reject(new Error(`the replay of ${trace.file} under ${policy} ended with ${code}`));
    });
  });
}

function s(seconds: number): string {
  return `${seconds.toFixed(2)} s`;
}
