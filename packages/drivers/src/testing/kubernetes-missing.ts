// Whether a Kubernetes can be started here, with what a test or a benchmark needs of it.
import { type Component, lackingComponents, lackingPrograms } from './components.ts';

/** What is needed beside an API server. */
export type Needs = 'containers' | 'names' | 'kwok' | 'scheduler';

const componentsOf: Readonly<Record<Needs, readonly Component[]>> = {
  containers: ['kubelet'],
  names: ['controllerManager', 'coredns'],
  kwok: ['kwok'],
  scheduler: ['scheduler'],
};
const network = ['ip'];
const containers = ['containerd', 'ctr', 'runc', 'busybox', 'nsenter', 'tar', 'umount'];
/** No test needs them, so what installs the components of the tests leaves them out. */
const builtBy: Partial<Record<Component, string>> = { scheduler: 'scripts/build-kubernetes kube-scheduler' };

/** Why no such Kubernetes can be started here, and what to do about it; null when one can. */
export function kubernetesMissing(needs: readonly Needs[]): string | null {
  const components = ['apiServer', 'etcd', ...needs.flatMap((one) => componentsOf[one])] as const;
  const programs = needs.includes('containers') ? [...network, ...containers] : network;
  const lacking = [...lackingComponents(components), ...lackingPrograms(programs)];
  if (lacking.length > 0) {
    const ways = lacking.map((name) => builtBy[name as Component] ?? 'scripts/install-components');
    const way = [...new Set(ways)].join(' and ');
    return `not run on a real Kubernetes: ${lacking.join(', ')} missing; ${way} gets them`;
  }
  return process.getuid?.() === 0 ? null : 'not run on a real Kubernetes: only root can make its network';
}
