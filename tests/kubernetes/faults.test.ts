// Faults of a real API server and its etcd that the driver has to survive: F26 to F29 of the fault matrix, as far as a driver alone
// can tell. Kubelets are played here; what is asked of the driver is what it sends and what it believes.
import type { RunId } from '@muster/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubernetesSubject, kubernetesSubject } from '../harness/kubernetes-subject.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { eventually } from '../harness/processes.ts';
import { cancel, ended, freshRun, shellTask, started, submit } from '../harness/runs.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { compactEtcd } from './compact-etcd.ts';
import { addNodes, podPath, pods, podsOf, sayOver, sayRunning, sayUnheardOf } from './played-kubelet.ts';

onKubernetes('a Kubernetes that fails', [], (kubernetes) => {
  let subject: KubernetesSubject;
  let proxied: KubernetesSubject;
  let proxy: TcpProxy;
  beforeAll(async () => {
    await addNodes(kubernetes(), 'f1', 'f2');
    subject = kubernetesSubject(kubernetes(), ['f1', 'f2'], { timeoutMs: 2000 });
    const { hostname, port } = new URL(kubernetes().server);
    proxy = await startTcpProxy(hostname, Number(port));
    proxied = kubernetesSubject(kubernetes(), ['f1', 'f2'], { server: `https://127.0.0.1:${proxy.port}` });
    await proxied.driver.look(true);
  });
  afterAll(async () => {
    await subject?.close();
    await proxied?.close();
    await proxy?.close();
  });

  const gang = () => ({ f1: [shellTask(0, 'true')], f2: [shellTask(1, 'true')] });
  const bound = async (run: RunId): Promise<(string | undefined)[]> =>
    (await podsOf(kubernetes(), run)).map(({ spec }) => spec.nodeName);

  /** Sends it until it is taken, as the control plane does with a row that is open. */
  const insist = (run: RunId, tasks: Parameters<typeof submit>[2] = gang(), more = {}): Promise<unknown> =>
    eventually(`${run} is taken`, 60_000, async () => {
      const answers = await submit(subject, run, tasks, more);
      return answers.every(({ outcome }) => outcome === 'accepted');
    });

  const unknown = { outcome: 'unknown' };

  /** Insists on a stop as the control plane does. */
  const insistOnStop = (run: RunId): Promise<unknown> =>
    eventually(
      `the stop of ${run} is taken`,
      60_000,
      async () => (await cancel(subject, run)).outcome === 'accepted',
    );

  describe.each([
    {
      how: 'is paused',
      goes: async () => kubernetes().etcd.signal('SIGSTOP'),
      returns: async () => kubernetes().etcd.signal('SIGCONT'),
    },
    {
      how: 'is killed',
      goes: async () => kubernetes().etcd.end('SIGKILL'),
      returns: async () => {
        kubernetes().etcd.start();
        await kubernetes().ready();
      },
    },
  ])('an etcd that $how (F26)', ({ goes, returns }) => {
    /** What is sent while it is away, and may be carried out when it is back. */
    async function whileAway(act: () => Promise<void>): Promise<void> {
      await goes();
      try {
        await act();
      } finally {
        await returns();
      }
    }

    it('makes each pod once, however often a submit was not answered', async () => {
      const run = freshRun();
      await subject.driver.look(true);
      await whileAway(async () => {
        for (let i = 0; i < 2; i++) expect(await submit(subject, run, gang())).toEqual([unknown, unknown]);
        expect(await subject.driver.find(subject.node, run)).toBeNull();
      });
      await insist(run);
      expect(await bound(run)).toEqual(['f1', 'f2']);
    });

    it('begins nothing of what was stopped after an unanswered submit, and says that it is over', async () => {
      const run = freshRun();
      await whileAway(async () => {
        await submit(subject, run, gang());
      });
      await insistOnStop(run);
      // Accepted, the ranks that have no pod would be waited for.
      const refused = { outcome: 'refused', detail: 'it was stopped before it began' };
      expect(await submit(subject, run, gang())).toEqual([refused, refused]);
      expect((await bound(run)).filter((node) => node !== undefined)).toEqual([]);
    });

    it('stops a run once however often the stop was not answered, and another pod of its name never', async () => {
      const [patched, deleted] = [freshRun(), freshRun()];
      // A shorter grace than the pod was made with is given by deleting it.
      const long = { stop: { signal: 'TERM', graceMs: 60_000 } } as const;
      await insist(patched, { f1: [shellTask(0, 'true')] });
      await insist(deleted, { f1: [shellTask(0, 'true')] }, long);
      const before = await podsOf(kubernetes(), deleted);
      await whileAway(async () => {
        for (const run of [patched, patched, deleted, deleted])
          expect(await cancel(subject, run)).toEqual(unknown);
      });
      for (const run of [patched, deleted]) await insistOnStop(run);
      const [stopped] = await podsOf(kubernetes(), patched);
      expect(stopped?.spec.activeDeadlineSeconds).toBe(1);
      expect(stopped?.metadata.deletionTimestamp).toBeUndefined();
      const after = await podsOf(kubernetes(), deleted);
      expect(after.map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
      expect(after[0]?.metadata.deletionTimestamp).toBeDefined();
      for (const run of [patched, deleted]) {
        await sayOver(kubernetes(), run, 143);
        expect(await ended(subject, run)).toMatchObject([
          { class: 'cancelled', reason: { message: 'asked' } },
        ]);
      }
    });
  });

  it('loses no run and makes none twice when the API server is killed (F26)', async () => {
    const run = freshRun();
    await insist(run);
    const before = (await podsOf(kubernetes(), run)).map(({ metadata }) => metadata.uid);
    await kubernetes().apiServer.end('SIGKILL');
    expect((await submit(subject, run, gang())).every(({ outcome }) => outcome === 'unknown')).toBe(true);
    kubernetes().apiServer.start();
    await kubernetes().ready();
    await insist(run);
    expect((await podsOf(kubernetes(), run)).map(({ metadata }) => metadata.uid)).toEqual(before);
  });

  describe('a watch that breaks (F27)', () => {
    const single = () => ({ f1: [shellTask(0, 'true')] });

    it('misses no end when it is cut, also in the middle of an object', async () => {
      for (const cut of [() => proxy.cut(), () => proxy.cutNextAnswer()]) {
        const run = freshRun();
        await submit(proxied, run, single());
        cut();
        await sayOver(kubernetes(), run, 3);
        expect(await ended(proxied, run)).toMatchObject([{ class: 'user', code: 3 }]);
      }
    });

    it('lists again when what it followed is compacted away', async () => {
      const [over, gone] = [freshRun(), freshRun()];
      await submit(proxied, over, single());
      await submit(proxied, gone, single());
      proxy.refuse(true);
      const followed = await versionNow();
      await sayOver(kubernetes(), over);
      await sayOver(kubernetes(), gone, 1);
      await compactEtcd(kubernetes());
      await kubernetes().apiServer.end('SIGKILL');
      kubernetes().apiServer.start();
      await kubernetes().ready();
      expect(await watchedFrom(followed)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
      proxy.refuse(false);
      expect(await ended(proxied, over)).toEqual([{ ok: true }]);
      expect(await ended(proxied, gone)).toMatchObject([{ class: 'user', code: 1 }]);
    });

    async function versionNow(): Promise<string> {
      const list = (await kubernetes().admin.call('GET', pods)) as { metadata: { resourceVersion: string } };
      return list.metadata.resourceVersion;
    }

    /** What a watch from there is told first. */
    async function watchedFrom(version: string): Promise<unknown> {
      const abort = new AbortController();
      const path = `${pods}?watch=true&resourceVersion=${version}`;
      for await (const piece of await kubernetes().admin.stream(path, abort.signal)) {
        abort.abort();
        return JSON.parse(String(piece).split('\n')[0] ?? '');
      }
      return null;
    }
  });

  it('refuses, with its words, what a namespace that ends does not take (F28)', async () => {
    const { admin } = kubernetes();
    const namespaces = '/api/v1/namespaces';
    await admin.call('POST', namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'ending' },
    });
    const kept = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kept', finalizers: ['test/kept'] },
    };
    await admin.call('POST', `${namespaces}/ending/configmaps`, kept);
    await admin.call('DELETE', `${namespaces}/ending`);
    const there = kubernetesSubject(kubernetes(), ['f1'], { pods: { namespace: 'ending' } });
    const answers = await eventually('it says so', 30_000, async () => {
      const given = await submit(there, freshRun(), { f1: [shellTask(0, 'true')] });
      return given[0]?.outcome === 'refused' && given;
    });
    expect(answers).toMatchObject([{ detail: expect.stringContaining('being terminated') }]);
    await there.close();
    await admin.call('PATCH', `${namespaces}/ending/configmaps/kept`, { metadata: { finalizers: null } });
  });

  describe('a node that is not heard of (F29)', () => {
    const stateOf = async (run: RunId): Promise<string | undefined> =>
      [...(await subject.driver.look(true)).reports.values()].flat().find((report) => report.run === run)
        ?.state;

    it('holds the room of a pod that was force-deleted until its kubelet speaks', async () => {
      const run = freshRun();
      await submit(subject, run, { f1: [shellTask(0, 'sleep 600')] });
      await sayRunning(kubernetes(), run);
      await started(subject, run);
      await sayUnheardOf(kubernetes(), 'f1');
      expect((await subject.driver.look(true)).nodes.get('f1')?.node.ready).toBe(false);
      await kubernetes().admin.call('DELETE', podPath(run), { gracePeriodSeconds: 0 });
      expect(await stateOf(run)).toBe('running');
      await sayOver(kubernetes(), run, 137);
      expect(await ended(subject, run)).toMatchObject([
        { class: 'cancelled', reason: { code: 'deleted-in-kubernetes' } },
      ]);
    });

    it('holds the room of a pod that vanished until its node is gone', async () => {
      const run = freshRun();
      await submit(subject, run, { f1: [shellTask(0, 'sleep 600')] });
      await sayRunning(kubernetes(), run);
      await started(subject, run);
      await kubernetes().admin.call('DELETE', podPath(run), { gracePeriodSeconds: 0 });
      await kubernetes().admin.call('PATCH', podPath(run), { metadata: { finalizers: null } });
      expect(await podsOf(kubernetes(), run)).toEqual([]);
      expect(await stateOf(run)).toBe('running');
      await kubernetes().admin.call('DELETE', '/api/v1/nodes/f1');
      expect(await ended(subject, run)).toMatchObject([
        { class: 'infrastructure', reason: { code: 'vanished' } },
      ]);
    });
  });
});
