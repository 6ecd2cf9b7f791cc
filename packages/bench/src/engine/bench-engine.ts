// The engine alone, in this process, with all policies on, and beside each figure what the plainest loop needs for an answer
// of that size. Nothing is durable here: `control` and `kueue` measure that.
import type { BenchOptions } from '../main.ts';
import type { ToldRow } from '../report.ts';
import { growthRow } from './growth-row.ts';
import { memoryRow } from './memory-row.ts';
import { gangRow, NotPacked, placementRow, smallJobsRow } from './place-rows.ts';
import { NotBuilt, preemptRow, reclaimGangRow, reclaimRow } from './preempt-rows.ts';
import { queueRows } from './queue-rows.ts';

type Part = (options: BenchOptions) => ToldRow | readonly ToldRow[] | Promise<ToldRow>;

const parts: Readonly<Record<string, Part>> = {
  placements_per_s: placementRow,
  gang_8_ms: (options) => gangRow(8, options),
  gang_512_ms: (options) => gangRow(512, options),
  gang_4096_ms: (options) => gangRow(4096, options),
  'idle_cycle_ms, one_change_ms, fork_ms, explain_ms': queueRows,
  reclaim_s: reclaimRow,
  reclaim_gang_ms: reclaimGangRow,
  place_32000_s: smallJobsRow,
  preempt_1024_ms: preemptRow,
  rss_mb: memoryRow,
  growth_1k_100k: growthRow,
};

/** For looking at one bottleneck: parts of names of rows; all of them when not set. */
const only = process.env.MUSTER_BENCH_ONLY?.split(',');

export async function benchEngine(options: BenchOptions): Promise<readonly ToldRow[]> {
  const rows: ToldRow[] = [];
  for (const [names, part] of Object.entries(parts)) {
    if (only && !only.some((wanted) => names.includes(wanted))) continue;
    try {
      const told = await part(options);
      const made = 'name' in told ? [told] : told;
      for (const { name, value, unit } of made) options.progress(`${name} ${value} ${unit}`);
      rows.push(...made);
    } catch (error) {
      if (!(error instanceof NotBuilt || error instanceof NotPacked)) throw error;
      options.progress(`${names}: not built yet (${error.message})`);
    }
  }
  return rows;
}
