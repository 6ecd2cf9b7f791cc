// Runs a block of tests on a real Kubernetes of its own. Without one a person is told what was not run; in CI that is a failure.
import { kubernetesMissing, type Needs, startKubernetes, type TestKubernetes } from '@muster/drivers/testing';
import { onStarted } from './on-started.ts';

export function onKubernetes(
  name: string,
  needs: readonly Needs[],
  body: (kubernetes: () => TestKubernetes) => void,
): void {
  onStarted(name, kubernetesMissing(needs), startKubernetes, body);
}
