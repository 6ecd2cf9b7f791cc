// Pods started a second on a real API server whose nodes kwok plays: by the whole of Muster, by bare calls of the same way, and by
// kube-scheduler. All three are counted alike, from the first request until the API server tells of the last pod that it is bound to
// its node, and take turns on the same API server. What the kubelets do then is played by kwok, and waited for before the next turn.
import { join } from 'node:path';
import {
  eventually,
  type Kwok,
  startKubernetes,
  startKwok,
  startScheduler,
  type TestKubernetes,
} from '@muster/drivers/testing';
import { messageOf, repository, startChild } from '../control/child.ts';
import { submitMany } from '../control/submit-many.ts';
import { type Bed, type ControlPlane, startControlPlane } from '../control/system.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { median } from '../statistics.ts';
import type { BareOrder } from './bare-pods-process.ts';
import { openCpuAccount } from './cpu-account.ts';
import { countPods } from './pod-count.ts';
import { image, podJob } from './sample-pods.ts';

const nodes = 1000;
const roundMs = 180_000;
const bareNamespace = 'bare';

export async function measurePods(
  bed: Bed,
  options: BenchOptions,
  withScheduler: boolean,
): Promise<ToldRow[]> {
  const { progress, lifetime } = options;
  const pods = options.quick ? 600 : 2000;
  const kubernetes = await startKubernetes();
  lifetime.add(() => kubernetes.stop());
  const kwok = await startKwok(kubernetes, nodes);
  await addNamespace(kubernetes, bareNamespace);
  progress(`an API server with ${nodes} nodes of kwok runs`);
  const server = await connected(bed, kubernetes, 'bench_pods', { image });
  progress('Muster is connected to it');
  const bare: number[] = [];
  const scheduler: number[] = [];
  const muster: number[] = [];
  for (let round = 0; round < (options.quick ? 1 : 2); round++) {
    bare.push(await bareRate(options, kubernetes, kwok, pods, 'us'));
    muster.push(await musterRate(bed, options, server, kubernetes, kwok, pods));
    if (withScheduler) {
      const daemon = startScheduler(kubernetes);
      scheduler.push(await bareRate(options, kubernetes, kwok, pods, 'kube-scheduler'));
      await daemon.end('SIGTERM');
    }
  }
  await server.child.stop();
  await kubernetes.stop();
  const about = `${pods} pods of one GPU on ${nodes} nodes of kwok with 8`;
  const limit = [
    'bare calls of the same way (create, then bind) by the same client, 64 at a time',
    median(bare),
  ] as const;
  const rows = [
    row({
      name: 'k8s_pods_per_s',
      value: median(muster),
      unit: '1/s',
      reference: limit,
      about: `Pods a second from the submit of their jobs to Muster until they are bound to their nodes, ${about}`,
      aim: '>= 70 % of the limit, and above kube_scheduler_pods_per_s',
    }),
  ];
  if (withScheduler)
    rows.push(
      row({
        name: 'kube_scheduler_pods_per_s',
        value: median(scheduler),
        unit: '1/s',
        reference: limit,
        about: `The same of a real kube-scheduler with its client limits raised, from the first create, ${about}`,
        aim: null,
      }),
    );
  return rows;
}

export async function connected(
  bed: Bed,
  kubernetes: TestKubernetes,
  database: string,
  more: { readonly image: string },
): Promise<ControlPlane> {
  const server = await startControlPlane(bed, database);
  await connect(server, kubernetes, 'west', nodes, more);
  return server;
}

/** Connects it and waits until all its nodes take work. */
export async function connect(
  { client, child }: ControlPlane,
  kubernetes: TestKubernetes,
  name: string,
  count: number,
  more: { readonly image: string },
): Promise<void> {
  await client.clusters.add(name, {
    kind: 'kubernetes',
    kubeconfig: join(kubernetes.dir, 'kubeconfig'),
    ...more,
  });
  await eventually(`${count} nodes of ${name} take work`, 60_000 + count * 30, async () => {
    if (child.process.exitCode !== null) throw new Error(`muster server ended: ${child.output()}`);
    return (await client.clusters.get(name)).nodes.open === count;
  });
}

async function addNamespace({ admin }: TestKubernetes, name: string): Promise<void> {
  await admin.call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  await admin.call('POST', `/api/v1/namespaces/${name}/serviceaccounts`, account);
}

const cluster = ({ apiServer, etcd }: TestKubernetes, { daemon }: Kwok): Record<string, number> => ({
  'API server': apiServer.pid,
  etcd: etcd.pid,
  kwok: daemon.pid,
});

async function bareRate(
  { lifetime, progress }: BenchOptions,
  kubernetes: TestKubernetes,
  kwok: Kwok,
  pods: number,
  boundBy: BareOrder['boundBy'],
): Promise<number> {
  const child = startChild(lifetime, {
    file: join(repository, 'packages/bench/src/clusters/bare-pods-process.ts'),
  });
  await messageOf(child, 15_000, (message): message is object => typeof message === 'object');
  const order: BareOrder = {
    kubeconfig: join(kubernetes.dir, 'kubeconfig'),
    namespace: bareNamespace,
    nodes: Array.from({ length: pods }, (_, i) => kwok.nodes[i % kwok.nodes.length] ?? ''),
    boundBy,
  };
  const count = await countPods(kubernetes.admin, bareNamespace);
  const isDone = (message: unknown): message is { done: boolean; error?: string } =>
    typeof message === 'object' && message !== null && 'done' in message;
  const account = openCpuAccount({ ...cluster(kubernetes, kwok), client: child.pid });
  const startedMs = performance.now();
  child.process.send(order);
  const [{ done, error }] = await Promise.all([
    messageOf(child, roundMs, isDone),
    count.until('bound', pods, roundMs),
  ]);
  const seconds = (performance.now() - startedMs) / 1000;
  if (!done) throw new Error(`bare calls failed: ${error}`);
  const by = boundBy === 'us' ? 'bare calls' : 'kube-scheduler';
  progress(`${by}: ${(pods / seconds).toFixed(0)} pods/s, ${account.text(pods)}`);
  await count.until('running', pods, roundMs);
  count.close();
  await child.stop();
  await cleared(kubernetes, bareNamespace);
  return pods / seconds;
}

async function musterRate(
  bed: Bed,
  { progress }: BenchOptions,
  server: ControlPlane,
  kubernetes: TestKubernetes,
  kwok: Kwok,
  pods: number,
): Promise<number> {
  const own = { server: server.child.pid, PostgreSQL: bed.postgresPid };
  const account = openCpuAccount({ ...cluster(kubernetes, kwok), ...own });
  const count = await countPods(kubernetes.admin, 'muster');
  const startedMs = performance.now();
  const [ids] = await Promise.all([
    submitMany(server, pods, () => podJob),
    count.until('bound', pods, roundMs),
  ]);
  const seconds = (performance.now() - startedMs) / 1000;
  progress(`Muster: ${(pods / seconds).toFixed(0)} pods/s, ${account.text(pods)}`);
  await count.until('running', pods, roundMs);
  count.close();
  if (ids.length !== pods) throw new Error(`${ids.length} of ${pods} jobs were accepted`);
  return pods / seconds;
}

/** Nothing of a round is left for the next one to see. */
async function cleared({ admin }: TestKubernetes, namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  await eventually(`the pods of ${namespace} are gone`, 120_000, async () => {
    await admin.call('DELETE', path, { gracePeriodSeconds: 0 });
    return ((await admin.call('GET', `${path}?limit=1`)) as { items: unknown[] }).items.length === 0;
  });
}
