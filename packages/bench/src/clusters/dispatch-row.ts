// Dispatches over all kinds of clusters at once: a third of the jobs goes to pods on an API server, a third to Slurm, a third to agents.
// Each is a real control plane that takes them, and in none of them do their programs run: pods and agents are played, and Slurm starts
// none while this lasts. What they would do there would be most of what this machine does.
import { startKubernetes, startKwok, startSlurm } from '@muster/drivers/testing';
import type { JobSpecInput } from '@muster/model';
import { submitMany } from '../control/submit-many.ts';
import { type Bed, startControlPlane } from '../control/system.ts';
import { startFleet } from '../fleet/start-fleet.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { untilDispatched } from './dispatched.ts';
import { connect } from './pods-rows.ts';
import { image, podJob } from './sample-pods.ts';
import { benchSlurm, connectSlurm, slurmJob } from './slurm-rows.ts';

const nodes = 200;
const agents = { nodes: 50, devicesPerNode: 8, meanRunMs: 600_000 };
const withinMs = 180_000;
/** Longer than this lasts. */
const startsEveryS = 600;
/** The only published figure of its kind: dispatches a second by MultiKueue. */
const published = 1.31;

const agentJob: JobSpecInput = {
  ...slurmJob,
  name: 'agent',
  constraints: [{ label: 'cluster', notIn: ['alpha', 'west'] }],
};

export async function measureDispatch(bed: Bed, options: BenchOptions): Promise<ToldRow> {
  const { progress, lifetime } = options;
  const kubernetes = await startKubernetes();
  lifetime.add(() => kubernetes.stop());
  await startKwok(kubernetes, nodes);
  const slurm = await startSlurm({ ...benchSlurm, startsEveryS });
  lifetime.add(() => slurm.stop());
  const server = await startControlPlane(bed, 'bench_dispatch');
  await connect(server, kubernetes, 'west', nodes, { image });
  await connectSlurm(server, slurm);
  const fleet = await startFleet(lifetime, server, agents);
  progress('an API server, a Slurm and agents are connected to one Muster');
  const jobs = options.quick ? 300 : 900;
  const kinds = [podJob, slurmJob, agentJob];
  const startedMs = performance.now();
  await Promise.all([
    submitMany(server, jobs, (i) => kinds[i % kinds.length] ?? podJob),
    untilDispatched(server.databaseUrl, jobs, withinMs),
  ]);
  const seconds = (performance.now() - startedMs) / 1000;
  fleet.counts();
  await server.child.stop();
  await fleet.child.stop();
  await slurm.stop();
  await kubernetes.stop();
  return row({
    name: 'dispatch_per_s',
    value: jobs / seconds,
    unit: '1/s',
    reference: ['what MultiKueue publishes', published],
    about: `Jobs a second from submit until their cluster has taken them, ${jobs} at once, a third each on pods, Slurm and agents, none of which runs them`,
    aim: '>= 131/s, a hundred times the limit',
  });
}
