// The Kubernetes driver against a real API server and a real kubelet: what every driver must do.
import { driverConformance } from '@muster/drivers/conformance';
import { startNode } from '../harness/kubernetes-node.ts';
import { kubernetesSubject } from '../harness/kubernetes-subject.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';

onKubernetes('on Kubernetes', ['containers'], (kubernetes) => {
  const makeSubject = async () => {
    await startNode(kubernetes(), 'n1');
    return kubernetesSubject(kubernetes(), ['n1']);
  };
  driverConformance('kubernetes', makeSubject, { leased: false, withinMs: 60_000 });
});
