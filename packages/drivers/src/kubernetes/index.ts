export * from './client.ts';
export * from './inventory.ts';
export * from './kubeconfig.ts';
export * from './kubernetes-driver.ts';
export { type KubeNode, marks } from './objects.ts';
export * from './open-kubernetes.ts';
export { type PodSettings, podOf, type Toleration } from './pod.ts';
export type { Taken } from './taken.ts';
