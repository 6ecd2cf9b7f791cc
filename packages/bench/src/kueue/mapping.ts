// Kueue's words in ours. A cohort is a project with what its queues may use together as ceiling; a queue is a project in it with its
// nominal quota guaranteed and nominal plus borrowing as ceiling; a workload is a job, its pods are tasks. Reclaiming is what a
// guarantee gives by itself; preempting within a queue is `preemptWithin`. Runs are shielded by the default tiers as always.
// Where the configuration has no topology, places must not matter: nodes have twice the cores of all quotas.
import {
  defaultPolicy,
  type Inventory,
  type JobSpec,
  type Policy,
  parseSpec,
  plainQuota,
  type Quota,
} from '@muster/model';
import type { Cohort } from './arrivals.ts';
import type { Config, Workload } from './config.ts';

export function policyOf(config: Config, cohorts: readonly Cohort[]): Policy {
  const quotas = cohorts.flatMap(({ name, queues, cpuMilli }): Quota[] => [
    { ...plainQuota(name), guaranteed: { cpu: cpuMilli }, ceiling: { cpu: cpuMilli } },
    ...queues.map(({ name: queue, set }) => ({
      ...plainQuota(queue),
      guaranteed: set.reclaims ? { cpu: set.nominalMilli } : {},
      ceiling: set.borrowingMilli === null ? {} : { cpu: set.nominalMilli + set.borrowingMilli },
      preemptWithin: set.preemptsWithin ? ('lower-priority' as const) : ('never' as const),
    })),
  ]);
  const levels = config.topology?.levels.slice(0, -1).map(({ label }) => label);
  const topology = levels ? { levels, resources: [] } : defaultPolicy.topology;
  return { ...defaultPolicy, quotas, topology };
}

const coresOnNode = 192;

export function inventoriesOf(config: Config, cohorts: readonly Cohort[]): readonly Inventory[] {
  if (config.topology) return topologyInventories(config.topology);
  const cpuMilli = cohorts.reduce((sum, cohort) => sum + cohort.cpuMilli, 0);
  const count = Math.ceil((2 * cpuMilli) / (coresOnNode * 1000));
  return Array.from({ length: count }, (_, i) => inventory(i, coresOnNode * 1000, coresOnNode * 4096, {}));
}

function topologyInventories({ levels, cpuMilli, memoryMib }: NonNullable<Config['topology']>): Inventory[] {
  const wide = levels.slice(0, -1);
  const count = levels.reduce((product, level) => product * level.count, 1);
  return Array.from({ length: count }, (_, i) => {
    const labels: Record<string, string> = {};
    for (const [l, level] of wide.entries()) {
      const below = levels.slice(l + 1).reduce((product, { count: each }) => product * each, 1);
      labels[level.label] = `d${Math.floor(i / below)}`;
    }
    return inventory(i, cpuMilli, memoryMib, labels);
  });
}

function inventory(
  i: number,
  cpuMilli: number,
  memoryMib: number,
  labels: Readonly<Record<string, string>>,
): Inventory {
  return {
    cpuMilli,
    memoryMib,
    devices: [],
    labels,
    capabilities: [],
    address: `10.0.${i >> 8}.${i & 255}`,
    ports: { first: 20_000, count: 1000 },
  };
}

export function specOf(queue: string, workload: Workload): JobSpec {
  const { className, priority, cpuMilli, pods, topology } = workload;
  const written = {
    name: className,
    project: queue,
    priority,
    command: ['true'],
    tasks: pods,
    resources: { cpus: cpuMilli / 1000, memory: '64MiB' },
  };
  const parsed = parseSpec(written, {
    project: queue,
    tier: defaultPolicy.defaultTier,
    stopAfterMs: () => null,
  });
  if (!parsed.ok) throw new Error(`a workload is no job: ${JSON.stringify(parsed.problems)}`);
  const packing = topology ? { level: topology.label, mode: topology.mode } : null;
  return { ...parsed.spec, topology: packing };
}
