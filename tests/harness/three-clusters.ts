// One server in front of three real clusters: a Slurm (alpha), a Kubernetes with two kubelets (west), and two machines with agents
// (home). All of them see one directory for checkpoints.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  kubernetesMissing,
  slurmMissing,
  startKubernetes,
  startSlurm,
  type TestKubernetes,
  type TestSlurm,
} from '@muster/drivers/testing';
import { type GuidedSystem, startGuided } from './guide.ts';
import { startDns } from './kubernetes-dns.ts';
import { startNode, type TestNode } from './kubernetes-node.ts';
import { testImage } from './oci-image.ts';
import { eventually } from './processes.ts';

const readyWithinMs = 180_000;

export interface ThreeClusters {
  readonly system: GuidedSystem;
  readonly slurm: TestSlurm;
  readonly kubernetes: TestKubernetes;
  readonly kubelets: readonly TestNode[];
  /** Each job has a directory of its id there. */
  readonly checkpoints: string;
  stop(): Promise<void>;
}

export function threeClustersMissing(): string | null {
  return slurmMissing() ?? kubernetesMissing(['containers', 'names']);
}

export async function startThreeClusters(): Promise<ThreeClusters> {
  const checkpoints = mkdtempSync(join(tmpdir(), 'muster-checkpoints-'));
  chmodSync(checkpoints, 0o711);
  const ends: (() => Promise<void>)[] = [async () => rmSync(checkpoints, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const end of ends.reverse()) await end();
  };
  try {
    const slurm = await startSlurm();
    ends.push(() => slurm.stop());
    const kubernetes = await startKubernetes();
    ends.push(() => kubernetes.stop());
    const dns = startDns(kubernetes);
    const kubelets = await Promise.all(['n1', 'n2'].map((name) => startNode(kubernetes, name, { dns })));
    const agents = ['h1', 'h2'].map((name) => ({
      name,
      cluster: 'home',
      cpus: 8,
      memory: '4GiB',
      checkpoints,
    }));
    const system = await startGuided({ text: '', commands: [] }, agents);
    ends.push(() => system.close());
    const { clusters } = system.client;
    await clusters.add('alpha', {
      kind: 'slurm',
      directory: join(slurm.shared, 'muster'),
      conf: slurm.env.SLURM_CONF as string,
      checkpoints,
    });
    await clusters.add('west', {
      kind: 'kubernetes',
      kubeconfig: join(kubernetes.dir, 'kubeconfig'),
      image: testImage,
      imagePullPolicy: 'Never',
      checkpoints: { path: checkpoints },
    });
    await clusters.add('home', { kind: 'agent' });
    await eventually(`all nodes take work (logs in ${system.dir})`, readyWithinMs, async () => {
      const open = await Promise.all(
        ['alpha', 'west', 'home'].map(async (name) => (await clusters.get(name)).nodes.open),
      );
      return open.join() === '4,2,2';
    });
    return { system, slurm, kubernetes, kubelets, checkpoints, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
