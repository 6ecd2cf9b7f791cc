// The control plane measured from outside: first on an idle fleet with one real agent, then under a flood of submits, then
// loaded with a thousand simulated agents.
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { rssMb } from './child.ts';
import { measureLoaded } from './loaded.ts';
import { measureStart } from './start-latency.ts';
import { measureBatches, measureSubmits } from './submits.ts';
import { type Bed, makeBed, startAgent, startControlPlane } from './system.ts';
import { declaredCpus, measureThroughput } from './throughput.ts';

/** For looking at one bottleneck: a list of parts; all of them when not set. */
const only = process.env.MUSTER_BENCH_ONLY?.split(',');
const wanted = (part: string): boolean => only === undefined || only.includes(part);

export async function benchControl(options: BenchOptions): Promise<readonly ToldRow[]> {
  const bed = await makeBed(options.lifetime);
  options.progress('PostgreSQL runs');
  const rows = await measureFleetOfOne(bed, options);
  if (wanted('loaded')) {
    const server = await startControlPlane(bed, 'bench_loaded');
    rows.push(...(await measureLoaded(bed, server, options)));
  }
  return rows;
}

async function measureFleetOfOne(bed: Bed, options: BenchOptions): Promise<ToldRow[]> {
  const { progress } = options;
  if (!['start', 'throughput', 'submits', 'batches'].some(wanted)) return [];
  const server = await startControlPlane(bed, 'bench_control');
  const idleMb = rssMb(server.child.pid);
  const agent = await startAgent(bed, server, { name: 'bench', cpus: declaredCpus });
  progress('a control plane and an agent run');
  const started = wanted('start') ? await measureStart(server, options) : [];
  if (wanted('throughput')) started.push(...(await measureThroughput(bed, server, options)));
  // What is submitted from here on cannot run anywhere, so that submits are measured and not starts.
  await agent.stop();
  progress('started jobs one at a time and many at once; now submits');
  const submitted = wanted('submits') ? await measureSubmits(bed, server, options) : [];
  if (wanted('batches')) submitted.push(await measureBatches(server, options));
  const memory = row({
    name: 'rss_mb',
    value: rssMb(server.child.pid),
    unit: 'MB',
    reference: ['the same process idle after its start', idleMb],
    about: 'Memory of the control-plane process after all of the load above',
    aim: null,
  });
  await server.child.stop();
  return [...submitted, ...started, memory];
}
