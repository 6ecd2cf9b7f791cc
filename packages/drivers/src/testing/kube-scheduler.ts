// The cluster's own scheduler, with its client's limits raised: they are meant to protect a control plane from it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { componentPaths } from './components.ts';
import type { Daemon } from './daemon.ts';
import type { TestKubernetes } from './kubernetes.ts';

const callsPerSecond = 10_000;

export function startScheduler({ dir, daemon }: TestKubernetes): Daemon {
  const file = join(dir, 'scheduler.json');
  const settings = {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    clientConnection: { kubeconfig: join(dir, 'kubeconfig'), qps: callsPerSecond, burst: callsPerSecond },
    leaderElection: { leaderElect: false },
  };
  writeFileSync(file, JSON.stringify(settings));
  const scheduler = daemon('kube-scheduler', componentPaths.scheduler, `--config=${file}`, '--secure-port=0');
  scheduler.start();
  return scheduler;
}
