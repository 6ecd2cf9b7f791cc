// Three clusters at once on one server: one that hangs and one that answers slowly hold up neither the third nor what it runs. All are
// namespaces of one real API server, each reached through a proxy of its own; their kubelet is played.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { eventually } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { addNodes } from './played-kubelet.ts';

const names = ['fine', 'slow', 'hung'] as const;
type Name = (typeof names)[number];
const withinMs = 150_000;
/** One that hangs is called degraded after a minute and the time of some calls. */
const testTimeoutMs = 600_000;

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase: string };
}

onKubernetes('a server with three clusters', [], (kubernetes) => {
  let system: TestSystem;
  const proxies = {} as Record<Name, TcpProxy>;
  /** Pods that ran, by cluster. */
  const ran = new Map<Name, Set<string>>(names.map((name) => [name, new Set()]));
  let over = false;
  let playing: Promise<void> = Promise.resolve();

  beforeAll(async () => {
    const { admin, adminToken, dir, server } = kubernetes();
    await addNodes(kubernetes(), 't1', 't2');
    const { hostname, port } = new URL(server);
    system = await startSystem([{ name: 'server', port: await freePort() }]);
    for (const name of names) {
      await admin.call('POST', '/api/v1/namespaces', { metadata: { name } });
      const account = { metadata: { name: 'default' } };
      await admin.call('POST', `/api/v1/namespaces/${name}/serviceaccounts`, account);
      proxies[name] = await startTcpProxy(hostname, Number(port));
      if (name === 'hung') proxies.hung.hang(true);
      if (name === 'slow') proxies.slow.delay(400);
      const kubeconfig = join(dir, `${name}.kubeconfig`);
      const text = kubernetes().kubeconfig(adminToken, `https://127.0.0.1:${proxies[name].port}`);
      writeFileSync(kubeconfig, text, { mode: 0o600 });
      await system.client.clusters.add(name, { kind: 'kubernetes', kubeconfig, namespace: name, image: 'x' });
    }
    playing = play();
  });
  afterAll(async () => {
    over = true;
    await playing;
    await system?.close();
    for (const proxy of Object.values(proxies)) await proxy.close();
  });

  /** The kubelet of all nodes: everything that is bound runs for a moment and ends well. */
  async function play(): Promise<void> {
    while (!over) {
      for (const name of names) await playIn(name).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async function playIn(name: Name): Promise<void> {
    const { admin } = kubernetes();
    const path = `/api/v1/namespaces/${name}/pods`;
    const times = { startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:00:01Z' };
    for (const { metadata, spec, status } of ((await admin.call('GET', path)) as { items: Pod[] }).items) {
      if (spec.nodeName === undefined || status.phase === 'Succeeded') continue;
      ran.get(name)?.add(metadata.uid);
      const terminated = { exitCode: 0, reason: 'Completed', ...times };
      const container = { name: 'task', image: 'x', imageID: 'x', restartCount: 0, ready: false };
      await admin.call('PATCH', `${path}/${metadata.name}/status`, {
        status: { phase: 'Succeeded', containerStatuses: [{ ...container, state: { terminated } }] },
      });
    }
  }

  const submitTo = (name: Name): Promise<JobId> =>
    system.submit({
      command: ['true'],
      constraints: [{ label: 'cluster', in: [name] }],
      resources: { cpus: 0.1, memory: '16MiB' },
    });
  const endsWell = async (job: JobId): Promise<void> => {
    const detail = await system.ended(job, withinMs);
    expect(detail.result).toEqual({ outcome: 'succeeded' });
    expect(detail.runs).toHaveLength(1);
  };
  const opened = (name: Name): Promise<unknown> =>
    eventually(`the nodes of ${name} take work (logs in ${system.dir})`, withinMs, async () => {
      return (await system.client.clusters.get(name)).nodes.open === 2;
    });
  /** Both run what they are given, one job after the other, so that each needs looks of its own. */
  async function othersGoOn(jobs: number): Promise<void> {
    for (let i = 0; i < jobs; i++) await endsWell(await submitTo('fine'));
    await endsWell(await submitTo('slow'));
  }

  it('joins and runs jobs on two while the third hangs from the first call on', async () => {
    await Promise.all([opened('fine'), opened('slow')]);
    await othersGoOn(5);
    const { answeredAt, nodes } = await system.client.clusters.get('hung');
    expect([answeredAt, nodes.total]).toEqual([null, 0]);
  });

  it(
    'does so while it hangs with work in it, which ends once, when it answers again',
    async () => {
      proxies.hung.hang(false);
      await opened('hung');
      await endsWell(await submitTo('hung'));
      proxies.hung.hang(true);
      const there = await submitTo('hung');
      await othersGoOn(5);
      expect((await system.client.jobs.get(there)).state).not.toBe('ended');
      await eventually('it is told as degraded', withinMs, async () => {
        return (await system.client.clusters.get('hung')).state === 'degraded';
      });
      await othersGoOn(1);
      proxies.hung.hang(false);
      await endsWell(there);
      expect([...ran].map(([name, pods]) => [name, pods.size])).toEqual([
        ['fine', 11],
        ['slow', 3],
        ['hung', 2],
      ]);
    },
    testTimeoutMs,
  );

  it('removes one that hangs, and goes on', async () => {
    proxies.hung.hang(true);
    await system.client.clusters.remove('hung');
    await othersGoOn(2);
  });
});
