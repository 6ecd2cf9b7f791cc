// Jobs that reach a real Slurm a second: through the whole of Muster, and by bare `sbatch`, one after another, with the same options and
// the same script. Both end when Slurm has said that it took the last one; what the jobs do there takes its share of the machine alike.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { eventually, startSlurm, type TestSlurm } from '@muster/drivers/testing';
import type { JobSpecInput } from '@muster/model';
import { submitMany } from '../control/submit-many.ts';
import { type Bed, type ControlPlane, startControlPlane } from '../control/system.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { median } from '../statistics.ts';
import { untilDispatched } from './dispatched.ts';

/** More than this machine has, so that nothing waits for room. */
export const benchSlurm = { cpus: 1000, memoryMib: 1_000_000 };
const withinMs = 180_000;

export const slurmJob: JobSpecInput = {
  name: 'slurm',
  command: ['true'],
  resources: { cpus: 1, memory: '16MiB' },
  constraints: [{ label: 'cluster', in: ['alpha'] }],
};

export async function measureSlurm(bed: Bed, options: BenchOptions): Promise<ToldRow[]> {
  const { progress, lifetime } = options;
  const slurm = await startSlurm(benchSlurm);
  lifetime.add(() => slurm.stop());
  const server = await startControlPlane(bed, 'bench_slurm');
  await connectSlurm(server, slurm);
  progress('Muster is connected to a Slurm');
  const jobs = options.quick ? 100 : 300;
  const bare: number[] = [];
  const muster: number[] = [];
  for (let round = 0; round < (options.quick ? 1 : 2); round++) {
    bare.push(await bareRate(slurm, jobs));
    progress(`bare sbatch: ${bare.at(-1)?.toFixed(0)} jobs/s`);
    await drained(slurm);
    muster.push(await musterRate(server, jobs, jobs * (round + 1)));
    progress(`Muster: ${muster.at(-1)?.toFixed(0)} jobs/s`);
    await drained(slurm);
  }
  await server.child.stop();
  await slurm.stop();
  return [
    row({
      name: 'slurm_jobs_per_s',
      value: median(muster),
      unit: '1/s',
      reference: ['bare `sbatch` of such jobs, one after another', median(bare)],
      about: `Jobs a second from their submit to Muster until Slurm has taken them, ${jobs} at once`,
      aim: '>= 90 % of the limit',
    }),
  ];
}

export async function connectSlurm({ client, child }: ControlPlane, slurm: TestSlurm): Promise<void> {
  await client.clusters.add('alpha', {
    kind: 'slurm',
    directory: join(slurm.shared, 'muster'),
    conf: slurm.env.SLURM_CONF as string,
  });
  await eventually('the nodes of alpha take work', 90_000, async () => {
    if (child.process.exitCode !== null) throw new Error(`muster server ended: ${child.output()}`);
    return (await client.clusters.get('alpha')).nodes.open === slurm.nodes.length;
  });
}

async function bareRate(slurm: TestSlurm, jobs: number): Promise<number> {
  const startedMs = performance.now();
  for (let i = 0; i < jobs; i++) await sbatch(slurm, i);
  return jobs / ((performance.now() - startedMs) / 1000);
}

/** As the driver calls it, with a script that ends at once. */
function sbatch({ env, nodes }: TestSlurm, i: number): Promise<void> {
  const name = `bare-${i}`;
  const options = [
    '--parsable',
    `--job-name=${name}`,
    `--comment=${name}`,
    '--nodes=1',
    `--nodelist=${nodes[i % nodes.length]}`,
    '--ntasks=1',
    '--ntasks-per-node=1',
    '--cpus-per-task=1',
    '--mem=16M',
    '--no-requeue',
    '--export=ALL',
    '--chdir=/',
    '--output=/dev/null',
    '--input=/dev/null',
  ];
  return new Promise((resolve, reject) => {
    const child = execFile('sbatch', options, { env }, (error) => (error ? reject(error) : resolve()));
    child.stdin?.end('#!/bin/bash\nsrun --quiet true\n');
  });
}

async function musterRate(server: ControlPlane, jobs: number, inAll: number): Promise<number> {
  const startedMs = performance.now();
  await Promise.all([
    submitMany(server, jobs, () => slurmJob),
    untilDispatched(server.databaseUrl, inAll, withinMs),
  ]);
  return jobs / ((performance.now() - startedMs) / 1000);
}

/** Nothing runs in Slurm any more. */
async function drained(slurm: TestSlurm): Promise<void> {
  await eventually('the jobs of Slurm have ended', withinMs, async () => {
    return (await slurm.command('squeue', '--noheader')).trim() === '';
  });
}
