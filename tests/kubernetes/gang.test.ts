// A gang on two real kubelets: it meets by the name that its tasks are given.
import { cpus as cpusHere } from 'node:os';
import { testNamespace } from '@muster/drivers/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDns } from '../harness/kubernetes-dns.ts';
import { startNode } from '../harness/kubernetes-node.ts';
import { type KubernetesSubject, kubernetesSubject } from '../harness/kubernetes-subject.ts';
import { startKubernetesSystem } from '../harness/kubernetes-system.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { accepted, ended, freshRun, shellTask, submit } from '../harness/runs.ts';

onKubernetes('a gang of pods', ['containers', 'names'], (kubernetes) => {
  let subject: KubernetesSubject;
  beforeAll(async () => {
    const dns = startDns(kubernetes());
    await Promise.all([startNode(kubernetes(), 'n1', { dns }), startNode(kubernetes(), 'n2', { dns })]);
    subject = kubernetesSubject(kubernetes(), ['n1', 'n2']);
  });
  afterAll(() => subject?.close());

  it('lets a gang on two nodes meet by name', async () => {
    const run = freshRun();
    const env = { MUSTER_MASTER_ADDR: '192.0.2.1', MASTER_ADDR: '192.0.2.1', MASTER_PORT: '29400' };
    const serve = 'echo "hello from $(hostname)" | nc -l -p $MASTER_PORT';
    const meet =
      'until nc $MASTER_ADDR $MASTER_PORT < /dev/null 2> /dev/null | grep hello; do sleep 0.2; done';
    const gang = { n1: [shellTask(0, serve, { env })], n2: [shellTask(1, meet, { env })] };
    expect(await submit(subject, run, gang)).toEqual([accepted, accepted]);
    expect(await ended(subject, run, 2)).toEqual([{ ok: true }, { ok: true }]);
    const asked = { node: subject.node, run, rank: 1, offset: 0, maxBytes: 1000, waitMs: 10_000 };
    const { data } = await subject.driver.output(asked);
    expect(Buffer.from(data).toString()).toBe('hello from task-0\n');
  });

  it('lets a gang of the server meet at the name that its tasks are given', async () => {
    // The namespace is the driver's of above, and the server is another Muster: it is handed over.
    await subject.close();
    await kubernetes().admin.call('DELETE', `/api/v1/namespaces/${testNamespace}/configmaps/muster-epoch`);
    const system = await startKubernetesSystem(kubernetes(), 2);
    try {
      const serve = 'echo met | nc -l -p $MASTER_PORT';
      const meet =
        'until nc $MASTER_ADDR $MASTER_PORT < /dev/null 2> /dev/null | grep met; do sleep 0.2; done';
      const command = ['sh', '-c', `if [ $RANK = 0 ]; then ${serve}; else ${meet}; fi`];
      // More than half of a node each, so that they are on two.
      const cpus = 0.6 * cpusHere().length;
      const job = await system.submit({ command, tasks: 2, resources: { cpus } });
      const { result, runs } = await system.ended(job, 90_000);
      expect(result).toEqual({ outcome: 'succeeded' });
      expect(new Set(runs[0]?.tasks.map(({ node }) => node)).size).toBe(2);
      const { data } = await system.client.jobs.logs(job, { rank: 1 });
      expect(Buffer.from(data).toString()).toBe('met\n');
    } finally {
      await system.close();
    }
  });
});
