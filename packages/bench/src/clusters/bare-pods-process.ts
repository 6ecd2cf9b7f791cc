// A child process that makes pods by bare calls, 64 at a time, with the client of the driver: made and bound to given nodes, or made
// for kube-scheduler to bind. It tells its parent when the last call is answered.

import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { accessOf, createKubeClient } from '@muster/drivers/kubernetes';
import { inLanes } from '@muster/drivers/testing';
import { barePods } from './sample-pods.ts';

export interface BareOrder {
  readonly kubeconfig: string;
  readonly namespace: string;
  /** The node of each pod, and so how many. */
  readonly nodes: readonly string[];
  /** Who binds them: we, or the scheduler of the cluster. */
  readonly boundBy: 'us' | 'kube-scheduler';
}

const atOnce = 64;

interface Pod {
  readonly metadata: object;
  readonly spec: object;
}

async function make(order: BareOrder): Promise<void> {
  const client = createKubeClient(
    accessOf(readFileSync(order.kubeconfig, 'utf8'), dirname(order.kubeconfig)),
  );
  const path = `/api/v1/namespaces/${order.namespace}/pods`;
  const made = barePods(order.namespace);
  await inLanes(order.nodes, atOnce, async (node) => {
    const { name, pod } = made(node);
    const { metadata, spec, ...rest } = pod as Pod;
    // Nothing may keep them when they are cleared away after the round.
    const free = { ...metadata, finalizers: [] };
    const scheduler = order.boundBy === 'us' ? {} : { schedulerName: 'default-scheduler' };
    const body = { ...rest, metadata: free, spec: { ...spec, ...scheduler } };
    const answer = (await client.call('POST', path, body)) as { metadata: { uid: string } };
    if (order.boundBy === 'us')
      await client.call('POST', `${path}/${name}/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, uid: answer.metadata.uid },
        target: { apiVersion: 'v1', kind: 'Node', name: node },
      });
  });
  client.close();
}

process.on('disconnect', () => process.exit());
process.on('message', (order: BareOrder) => {
  make(order).then(
    () => process.send?.({ done: true }),
    (error: unknown) => process.send?.({ done: false, error: String(error) }),
  );
});
process.send?.({ ready: true });
