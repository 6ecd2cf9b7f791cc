// The Kubernetes driver on a real API server, watched all the time.

import type { Ownership } from '@muster/drivers';
import {
  accessOf,
  createKubeClient,
  createKubernetesDriver,
  type KubernetesDriver,
  type PodSettings,
} from '@muster/drivers/kubernetes';
import { type TestKubernetes, testNamespace, testOwnership } from '@muster/drivers/testing';
import { freshId, type NodeId } from '@muster/model';
import { testImage } from './oci-image.ts';
import type { ClusterSubject } from './runs.ts';
import { watched } from './watched.ts';

export interface KubernetesSubject extends ClusterSubject {
  readonly driver: KubernetesDriver;
}

export interface SubjectOptions {
  /** Who it is to the API server; the administrator where nobody is said. */
  readonly token?: string;
  readonly pods?: Partial<PodSettings>;
  readonly ownership?: Ownership;
  /** Another address of the API server, such as a proxy's. */
  readonly server?: string;
  /** In place of both: the text of a kubeconfig. */
  readonly kubeconfig?: string;
  readonly timeoutMs?: number;
  /** For how long pods of ended runs are kept. */
  readonly keepMs?: number;
}

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
  {
    token = kubernetes.adminToken,
    pods,
    ownership = testOwnership(),
    server,
    kubeconfig,
    timeoutMs = 15_000,
    keepMs,
  }: SubjectOptions = {},
): KubernetesSubject {
  const ids = new Map(
    names.map((name, i) => [name, freshId('node', 1, new Uint8Array(9).fill(i + 1))] as const),
  );
  const byId = new Map([...ids].map(([name, id]) => [id, name]));
  const access = accessOf(kubeconfig ?? kubernetes.kubeconfig(token, server), kubernetes.dir);
  const client = createKubeClient(access, { timeoutMs });
  const driver = createKubernetesDriver({
    client,
    pods: { ...testPods, ...pods },
    ownership,
    nodeName: (node) => byId.get(node) ?? null,
    gatherMs: 2000,
    ...(keepMs === undefined ? {} : { keepMs }),
  });
  const watch = watched({
    look: async () => ({ reports: [...(await driver.look()).reports.values()].flat() }),
  });
  return {
    driver,
    node: ids.get(names[0] ?? '') as NodeId,
    nodeOf: (name) => ids.get(name) as NodeId,
    observed: watch.observed,
    forbid: () => {},
    async close() {
      await watch.close();
      await driver.close();
      client.close();
    },
  };
}
