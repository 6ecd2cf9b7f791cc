// A whole system with a real Kubernetes connected to it as the cluster west.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestKubernetes } from '@muster/drivers/testing';
import { testImage } from './oci-image.ts';
import { eventually } from './processes.ts';
import { freePort, startSystem, type TestSystem } from './system.ts';

const readyWithinMs = 90_000;

/** A directory that every node sees, because all of them are on this machine. */
export function checkpointsIn({ dir }: TestKubernetes): string {
  const path = join(dir, 'checkpoints');
  mkdirSync(path, { recursive: true });
  return path;
}

/** `nodes`: how many of them take work. */
export async function startKubernetesSystem(kubernetes: TestKubernetes, nodes: number): Promise<TestSystem> {
  const system = await startSystem([{ name: 'server', port: await freePort() }]);
  try {
    await system.client.clusters.add('west', {
      kind: 'kubernetes',
      kubeconfig: join(kubernetes.dir, 'kubeconfig'),
      image: testImage,
      imagePullPolicy: 'Never',
      checkpoints: { path: checkpointsIn(kubernetes) },
    });
    await eventually(`the nodes of west take work (logs in ${system.dir})`, readyWithinMs, async () => {
      return (await system.client.clusters.get('west')).nodes.open === nodes;
    });
    return system;
  } catch (error) {
    await system.close();
    throw error;
  }
}
