// Runs a block of tests on a real Kubernetes of its own. Without one a person is told what was not run; in CI that is a failure.
import {
  type Component,
  lackingComponents,
  lackingPrograms,
  startKubernetes,
  type TestKubernetes,
} from '@muster/drivers/testing';
import { onStarted } from './on-started.ts';

/** What a test needs beside an API server. */
export type Needs = 'containers' | 'names';

const componentsOf: Readonly<Record<Needs, readonly Component[]>> = {
  containers: ['kubelet'],
  names: ['controllerManager', 'coredns'],
};
const network = ['ip'];
const containers = ['containerd', 'ctr', 'runc', 'busybox', 'nsenter', 'tar', 'umount'];

/** Why no such Kubernetes can be started here, and what to do about it; null when one can. */
export function kubernetesMissing(needs: readonly Needs[]): string | null {
  const components = ['apiServer', 'etcd', ...needs.flatMap((one) => componentsOf[one])] as const;
  const programs = needs.includes('containers') ? [...network, ...containers] : network;
  const lacking = [...lackingComponents(components), ...lackingPrograms(programs)];
  if (lacking.length > 0)
    return `not run on a real Kubernetes: ${lacking.join(', ')} missing; scripts/install-components gets them`;
  return process.getuid?.() === 0 ? null : 'not run on a real Kubernetes: only root can make its network';
}

export function onKubernetes(
  name: string,
  needs: readonly Needs[],
  body: (kubernetes: () => TestKubernetes) => void,
): void {
  onStarted(name, kubernetesMissing(needs), startKubernetes, body);
}
