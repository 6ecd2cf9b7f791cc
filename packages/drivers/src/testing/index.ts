// Real components for tests and benchmarks: Slurm and Kubernetes as processes of this machine, started, watched and ended by id.
export * from './cluster-directory.ts';
export * from './components.ts';
export * from './container-leftovers.ts';
export * from './daemon.ts';
export * from './eventually.ts';
export * from './free-port.ts';
export * from './kube-scheduler.ts';
export * from './kubernetes.ts';
export * from './kubernetes-missing.ts';
export * from './kwok.ts';
export * from './leftovers.ts';
export * from './network.ts';
export * from './ownership.ts';
export * from './slurm.ts';
export * from './ssh-server.ts';
