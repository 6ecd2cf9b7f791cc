// Real clusters: an API server with nodes of kwok, a Slurm, agents, and one Muster in front. What lacks a component is left out, and
// said with what gets it.
import { kubernetesMissing, slurmMissing } from '@muster/drivers/testing';
import { makeBed } from '../control/system.ts';
import type { BenchOptions } from '../main.ts';
import type { ToldRow } from '../report.ts';
import { measureDispatch } from './dispatch-row.ts';
import { measurePods } from './pods-rows.ts';
import { measureScale } from './scale-rows.ts';
import { measureSlurm } from './slurm-rows.ts';

/** For looking at one bottleneck: a list of parts (pods, slurm, dispatch); all of them when not set. */
const only = process.env.MUSTER_BENCH_ONLY?.split(',');
const wanted = (part: string): boolean => only === undefined || only.includes(part);

export async function benchClusters(options: BenchOptions): Promise<readonly ToldRow[]> {
  const { progress } = options;
  const kubernetes = kubernetesMissing(['kwok']);
  const scheduler = kubernetesMissing(['kwok', 'scheduler']);
  const slurm = slurmMissing();
  const leftOut = (names: string, why: string): void => progress(`${names}: ${why}`);
  const bed = await makeBed(options.lifetime);
  if (options.values.has('--scale')) {
    if (kubernetes === null) return measureScale(bed, options);
    leftOut('resync_s, observe_lag_p99_ms, rss_mb', kubernetes);
    return [];
  }
  const rows: ToldRow[] = [];
  if (wanted('pods')) {
    if (scheduler !== null) leftOut('kube_scheduler_pods_per_s', scheduler);
    if (kubernetes === null) rows.push(...(await measurePods(bed, options, scheduler === null)));
    else leftOut('k8s_pods_per_s', kubernetes);
  }
  if (wanted('slurm')) {
    if (slurm === null) rows.push(...(await measureSlurm(bed, options)));
    else leftOut('slurm_jobs_per_s', slurm);
  }
  if (wanted('dispatch')) {
    const missing = kubernetes ?? slurm;
    if (missing === null) rows.push(await measureDispatch(bed, options));
    else leftOut('dispatch_per_s', missing);
  }
  return rows;
}
