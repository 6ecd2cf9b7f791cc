// The cluster's name server: CoreDNS as a process of this machine, at the address that the nodes reach it at, and the controllers
// that tell it who is behind a service.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { componentPaths, startControllers, type TestKubernetes } from '@muster/drivers/testing';

/** Gives its address. */
export function startDns(kubernetes: TestKubernetes): string {
  const { dir, network } = kubernetes;
  const lines = [
    '.:53 {',
    `  bind ${network.host}`,
    '  errors',
    '  kubernetes cluster.local {',
    `    kubeconfig ${dir}/kubeconfig`,
    // A name that was asked for a moment too early must not be missing for long.
    '    ttl 0',
    '  }',
    '}',
  ];
  startControllers(kubernetes);
  writeFileSync(join(dir, 'Corefile'), `${lines.join('\n')}\n`);
  kubernetes.daemon('coredns', componentPaths.coredns, '-conf', join(dir, 'Corefile')).start();
  return network.host;
}
