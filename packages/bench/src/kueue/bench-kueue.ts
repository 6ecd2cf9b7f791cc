// Kueue's own performance configurations against the durable control plane. The limit is the workload's floor: what it takes when
// deciding and writing cost nothing.
import { basename, dirname, isAbsolute, join } from 'node:path';
import { repository } from '../control/child.ts';
import { makeBed } from '../control/system.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { quantile } from '../statistics.ts';
import { type Arrival, arrivalsOf, type Cohort, cohortsOf, floorMs } from './arrivals.ts';
import { makeKueueBed } from './bed.ts';
import { type Config, readConfig } from './config.ts';
import { inventoriesOf, policyOf } from './mapping.ts';
import { type Played, play } from './play.ts';

const configsDir = '../shared/traces/peer-benchmark-configs/kueue/scheduler/configs';

const known: Readonly<Record<string, { readonly aim: string | null; readonly peer: string }>> = {
  'large-scale': { aim: 'within 2 x of the floor', peer: 'Kueue: 1,179 s published, 1,838 s on two cores' },
  baseline: { aim: 'within 1.2 x of the floor', peer: 'Kueue: 351 s published, 576 s on two cores' },
  tas: { aim: null, peer: 'Kueue: 401 s published' },
};

export async function benchKueue(options: BenchOptions): Promise<readonly ToldRow[]> {
  const configs = configsOf(options.values.get('--config')).map(
    ([name, path]) => [name, readConfig(path)] as const,
  );
  const bed = await makeBed(options.lifetime);
  options.progress('PostgreSQL runs');
  const rows: ToldRow[] = [];
  for (const [name, config] of configs) rows.push(await measure(name, config, bed, options));
  return rows;
}

/** By default the three of the folder; a file of its own is named after its folder, as Kueue's are. */
function configsOf(given: string | undefined): readonly (readonly [name: string, path: string])[] {
  if (given !== undefined) {
    const path = isAbsolute(given) ? given : join(process.env.INIT_CWD ?? process.cwd(), given);
    const file = basename(path).replace(/\.ya?ml$/, '');
    return [[file === 'generator' ? basename(dirname(path)) : file, path]];
  }
  const dir = join(repository, configsDir);
  return ['large-scale', 'baseline', 'tas'].map((name) => [name, join(dir, name, 'generator.yaml')]);
}

/** Every set cut to a part, for a look in less than a minute. */
export function shortened(config: Config, part: number): Config {
  return {
    ...config,
    cohorts: config.cohorts.map((cohort) => ({
      ...cohort,
      queues: cohort.queues.map((queue) => ({
        ...queue,
        sets: queue.sets.map((set) => ({ ...set, count: Math.ceil(set.count / part) })),
      })),
    })),
  };
}

async function measure(
  name: string,
  whole: Config,
  bed: Awaited<ReturnType<typeof makeBed>>,
  { quick, progress, lifetime }: BenchOptions,
): Promise<ToldRow> {
  const config = quick ? shortened(whole, 10) : whole;
  const cohorts = cohortsOf(config);
  const arrivals = arrivalsOf(cohorts);
  const floor = floorMs(cohorts, arrivals);
  const database = `kueue_${name.toLowerCase().replaceAll(/[^a-z0-9]/g, '_')}`;
  const world = await makeKueueBed(
    bed,
    database,
    cohorts,
    policyOf(config, cohorts),
    inventoriesOf(config, cohorts),
  );
  progress(
    `${name}: ${describe(cohorts, arrivals)}, ${world.sessions.size} nodes; floor ${seconds(floor)} s`,
  );
  const played = await play(world, arrivals, lifetime);
  await world.store.close();
  progress(`${name}: ${seconds(played.wallMs)} s, ${waitsText(played)}`);
  return rowOf(name, arrivals.length, floor, played);
}

function describe(cohorts: readonly Cohort[], arrivals: readonly Arrival[]): string {
  const queues = cohorts.reduce((sum, cohort) => sum + cohort.queues.length, 0);
  return `${arrivals.length} workloads, ${queues} queues in ${cohorts.length} cohorts`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}

function waitsText({ waitsMs }: Played): string {
  const classes = [...waitsMs].map(([name, waits]) => {
    const mean = waits.reduce((sum, ms) => sum + ms, 0) / waits.length;
    return `${name} ${Math.round(mean)} (p99 ${Math.round(quantile(waits, 0.99))})`;
  });
  return `mean wait in ms by class: ${classes.join(', ')}`;
}

function rowOf(name: string, workloads: number, floor: number, played: Played): ToldRow {
  const { aim, peer } = known[name] ?? { aim: null, peer: '' };
  const rate = Math.round((played.admissions / played.wallMs) * 1000);
  const stopped = played.preemptions > 0 ? `, ${played.preemptions} preempted` : '';
  return row({
    name: `${name.replaceAll('-', '_')}_s`,
    value: played.wallMs / 1000,
    unit: 's',
    reference: ["the workload's floor, with deciding and writing for nothing", floor / 1000],
    about: `${workloads} workloads to their end, ${rate} admissions/s${stopped}; ${waitsText(played)}${peer && `. ${peer}`}`,
    aim,
  });
}
