// A whole system with a real Slurm connected to it as the cluster alpha.

import { join } from 'node:path';
import type { TestSlurm } from '@muster/drivers/testing';
import { eventually } from './processes.ts';
import { freePort, startSystem, type TestSystem } from './system.ts';

const readyWithinMs = 90_000;

export async function startSlurmSystem(slurm: TestSlurm): Promise<TestSystem> {
  const system = await startSystem([{ name: 'server', port: await freePort() }]);
  try {
    await system.client.clusters.add('alpha', {
      kind: 'slurm',
      directory: join(slurm.shared, 'muster'),
      conf: slurm.env.SLURM_CONF as string,
      checkpoints: join(slurm.shared, 'checkpoints'),
    });
    await allOpen(system, slurm);
    return system;
  } catch (error) {
    await system.close();
    throw error;
  }
}

/** Every node of the cluster takes work. */
export async function allOpen(system: TestSystem, slurm: TestSlurm): Promise<void> {
  await eventually(`the nodes of alpha take work (logs in ${system.dir})`, readyWithinMs, async () => {
    // Slurm may drain a node by itself at any time after its controller was killed.
    await slurm.ready();
    const { nodes } = await system.client.clusters.get('alpha');
    return nodes.open === slurm.nodes.length;
  });
}
