// The Kubernetes driver on a real API server, with somebody who looks all the time and notes what is new.
import { setTimeout as pause } from 'node:timers/promises';
import {
  accessOf,
  createKubeClient,
  createKubernetesDriver,
  type KubernetesDriver,
  type PodSettings,
} from '@muster/drivers/kubernetes';
import { freshId, type NodeId, type Observation } from '@muster/model';
import { type TestKubernetes, testNamespace } from './kubernetes.ts';
import { testImage } from './oci-image.ts';
import type { ClusterSubject } from './runs.ts';

export interface KubernetesSubject extends ClusterSubject {
  readonly driver: KubernetesDriver;
}

export interface SubjectOptions {
  /** Who it is to the API server; the administrator where nobody is said. */
  readonly token?: string;
  readonly pods?: Partial<PodSettings>;
  /** Another address of the API server, such as a proxy's. */
  readonly server?: string;
  readonly timeoutMs?: number;
}

const lookEveryMs = 100;

export const testPods: PodSettings = {
  namespace: testNamespace,
  defaultImage: testImage,
  imagePullPolicy: 'Never',
  imagePullSecrets: [],
  runtimeClassName: null,
  tolerations: [],
  checkpoints: null,
};

/** The names of all nodes that runs are sent to; the first is where the conformance suite sends its own. */
export function kubernetesSubject(
  kubernetes: TestKubernetes,
  names: readonly string[],
  { token = kubernetes.adminToken, pods, server, timeoutMs = 15_000 }: SubjectOptions = {},
): KubernetesSubject {
  const ids = new Map(
    names.map((name, i) => [name, freshId('node', 1, new Uint8Array(9).fill(i + 1))] as const),
  );
  const byId = new Map([...ids].map(([name, id]) => [id, name]));
  const client = createKubeClient(accessOf(kubernetes.kubeconfig(token, server), kubernetes.dir), {
    timeoutMs,
  });
  const driver = createKubernetesDriver({
    client,
    pods: { ...testPods, ...pods },
    nodeName: (node) => byId.get(node) ?? null,
    gatherMs: 2000,
  });
  const observed: Observation[] = [];
  const told = new Map<string, string>();
  let over = false;

  async function look(): Promise<void> {
    const { reports } = await driver.look();
    for (const { run, rank, began, state, exit } of reports) {
      const task = `${run}/${rank}`;
      const before = told.get(task);
      if (before === state || state === 'accepted') continue;
      told.set(task, state);
      if (before === undefined && began) observed.push({ kind: 'started', run, rank, pid: 0 });
      if (exit) observed.push({ kind: 'ended', run, rank, exit });
    }
  }

  async function lookOn(): Promise<void> {
    while (!over) {
      // An API server that does not answer is what some tests are about.
      await look().catch(() => {});
      await pause(lookEveryMs);
    }
  }

  const looking = lookOn();
  return {
    driver,
    node: ids.get(names[0] ?? '') as NodeId,
    nodeOf: (name) => ids.get(name) as NodeId,
    observed: () => observed,
    forbid: () => {},
    async close() {
      over = true;
      await looking;
      await driver.close();
      client.close();
    },
  };
}
