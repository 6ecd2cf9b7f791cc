// A cluster with more nodes and pods than a machine could run: a real API server, and nodes that kwok plays. What takes longer is
// `npm run bench -- clusters --scale`.
import { startKwok, testNamespace } from '@muster/drivers/testing';
import type { JobId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectIdle } from '../faults/proof.ts';
import { startKubernetesSystem } from '../harness/kubernetes-system.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { eventually } from '../harness/processes.ts';
import type { TestSystem } from '../harness/system.ts';

const withinMs = 150_000;
const nodes = 120;
const gpus = 8;
const tasks = 250;

interface Pod {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase: string };
}

onKubernetes('a server with a Kubernetes of many nodes', ['kwok'], (kubernetes) => {
  let system: TestSystem;
  let job: JobId;
  beforeAll(async () => {
    await startKwok(kubernetes(), nodes);
    system = await startKubernetesSystem(kubernetes(), nodes);
  });
  afterAll(() => system?.close());

  const pods = async (): Promise<readonly Pod[]> =>
    ((await kubernetes().admin.call('GET', `/api/v1/namespaces/${testNamespace}/pods`)) as { items: Pod[] })
      .items;
  const shown = () => system.client.clusters.get('west');
  const uids = (all: readonly Pod[]): string[] => all.map(({ metadata }) => metadata.uid).sort();

  it('starts every task once, on nodes that have room', async () => {
    job = await system.submit({
      command: ['sleep', '1000'],
      array: { count: tasks },
      resources: { cpus: 1, memory: '64MiB', accelerators: { model: 'H100', count: 1 } },
    });
    const all = await eventually(`all ${tasks} run (logs in ${system.dir})`, withinMs, async () => {
      const there = await pods();
      return there.filter(({ status }) => status.phase === 'Running').length === tasks && there;
    });
    expect(all).toHaveLength(tasks);
    const onNode = Map.groupBy(all, ({ spec }) => spec.nodeName);
    expect(Math.max(...[...onNode.values()].map((own) => own.length))).toBeLessThanOrEqual(gpus);
    expect((await shown()).devices.used).toBe(tasks);
  });

  it('is known again by a server that starts anew, and nothing of it runs twice', async () => {
    const before = uids(await pods());
    const all = (await system.client.nodes.list({ limit: 500 })).items.map(({ id }) => id);
    expect(all).toHaveLength(nodes);
    const sessions = await system.store.nodeSessions(all);
    await system.server('server').end('SIGKILL');
    await system.startServer('server', Number(new URL(system.client.url).port));
    await eventually('every node is spoken for anew', withinMs, async () => {
      const now = await system.store.nodeSessions(all);
      return all.every((node) => now.get(node) && now.get(node) !== sessions.get(node));
    });
    await eventually('all of them take work', withinMs, async () => {
      const { state, nodes: counted, unproven } = await shown();
      return state === 'connected' && counted.open === nodes && unproven === 0;
    });
    expect((await shown()).runs).toBe(tasks);
    expect(uids(await pods())).toEqual(before);
  });

  it('ends what ends and what is cancelled, and gives all room back', async () => {
    const short = await system.submit({
      command: ['true'],
      array: { count: 50 },
      resources: { cpus: 1, memory: '64MiB' },
    });
    expect((await system.ended(short, withinMs)).result).toEqual({ outcome: 'succeeded' });
    await system.client.jobs.cancel(job);
    expect((await system.ended(job, withinMs)).result).toMatchObject({ outcome: 'cancelled' });
    await expectIdle(system);
  });
});
