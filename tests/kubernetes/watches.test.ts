// Row F27 of the fault matrix: what a watch of a real API server may be told late, in part, or by another one. Cuts of the stream are in
// faults.test.ts; here a proxy ends TLS and decides line by line.
import { testNamespace } from '@muster/drivers/testing';
import type { RunId } from '@muster/model';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type ApiProxy, startApiProxy } from '../harness/api-proxy.ts';
import { type KubernetesSubject, kubernetesSubject } from '../harness/kubernetes-subject.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { eventually } from '../harness/processes.ts';
import { ended, freshRun, shellTask, started, submit } from '../harness/runs.ts';
import { compactEtcd } from './compact-etcd.ts';
import { addNodes, sayOver, sayRunning } from './played-kubelet.ts';

onKubernetes('watches of a Kubernetes (F27)', [], (kubernetes) => {
  let subject: KubernetesSubject;
  let proxy: ApiProxy;
  beforeAll(async () => {
    await addNodes(kubernetes(), 'w1', 'w2');
    proxy = await startApiProxy(kubernetes());
    subject = kubernetesSubject(kubernetes(), ['w1', 'w2'], {
      kubeconfig: proxy.kubeconfig(kubernetes().adminToken),
    });
    await subject.driver.look(true);
  });
  afterEach(() => proxy.let(() => true));
  afterAll(async () => {
    await subject?.close();
    await proxy?.close();
  });

  const begun = async (): Promise<RunId> => {
    const run = freshRun();
    await submit(subject, run, { w1: [shellTask(0, 'true')] });
    await sayRunning(kubernetes(), run);
    await started(subject, run);
    return run;
  };
  const stateOf = async (run: RunId): Promise<string | undefined> =>
    [...(await subject.driver.look()).reports.values()].flat().find((report) => report.run === run)?.state;
  const endsOf = (run: RunId): number =>
    subject.observed().filter((item) => item.kind === 'ended' && item.run === run).length;

  it('misses no end when bookmarks never came and what it had followed is compacted away', async () => {
    let fallen = 0;
    proxy.let((line) => {
      const isBookmark = line.startsWith('{"type":"BOOKMARK"');
      if (isBookmark) fallen++;
      return !isBookmark;
    });
    // Watches that asked before may still be owed one.
    const run = await begun();
    await eventually('a bookmark came, and fell', 120_000, () => fallen > 0);
    // Others write on; nothing that this watch is told of.
    const maps = `/api/v1/namespaces/${testNamespace}/configmaps`;
    for (let i = 0; i < 20; i++)
      await kubernetes().admin.call('POST', maps, { metadata: { generateName: 'noise-' } });
    await compactEtcd(kubernetes());
    await kubernetes().apiServer.end('SIGKILL');
    kubernetes().apiServer.start();
    await kubernetes().ready();
    await sayOver(kubernetes(), run, 5);
    expect(await ended(subject, run)).toMatchObject([{ class: 'user', code: 5 }]);
    expect(endsOf(run)).toBe(1);
  });

  it('takes no event for news that is older than its list', async () => {
    const run = freshRun();
    await submit(subject, run, { w1: [shellTask(0, 'true')] });
    await eventually('it is seen', 30_000, async () => (await stateOf(run)) === 'accepted');
    const release = proxy.hold();
    try {
      await sayRunning(kubernetes(), run);
      await sayOver(kubernetes(), run);
      expect(await stateOf(run)).toBe('accepted');
      await subject.driver.look(true);
      expect(await ended(subject, run)).toEqual([{ ok: true }]);
    } finally {
      release();
    }
    const later = await begun();
    expect([await stateOf(run), await stateOf(later)]).toEqual(['ended', 'running']);
    expect(endsOf(run)).toBe(1);
  });

  it('knows of one node what its watch has not told yet, of a gang too of which it saw no pod bound', async () => {
    const run = freshRun();
    const [bound, over] = [freshRun(), freshRun()];
    for (const one of [bound, over]) await submit(subject, one, { w1: [shellTask(0, 'true')] });
    for (const one of [bound, over])
      await eventually('it is seen', 30_000, async () => (await stateOf(one)) === 'accepted');
    proxy.let((line) => !line.includes('"nodeName":"w'));
    await submit(subject, run, { w1: [shellTask(0, 'true')], w2: [shellTask(1, 'true')] });
    for (const one of [run, bound]) await sayRunning(kubernetes(), one);
    await sayOver(kubernetes(), over);
    expect(await Promise.all([run, bound, over].map(stateOf))).toEqual([undefined, 'accepted', 'accepted']);
    await subject.driver.catchUp(['w1']);
    expect(await Promise.all([run, bound, over].map(stateOf))).toEqual(['running', 'running', 'ended']);
    const reports = (await subject.driver.look()).reports;
    expect(reports.get('w1')?.filter((report) => report.run === run)).toMatchObject([{ rank: 0 }]);
    expect(reports.get('w2')?.filter((report) => report.run === run)).toMatchObject([{ rank: 1 }]);
  });

  it('misses no end when it goes on at another API server, which is behind', async () => {
    const { server, daemon } = await kubernetes().anotherApiServer();
    const run = await begun();
    // What happens now it does not hear of before it is asked.
    daemon.signal('SIGSTOP');
    const other = await begun();
    await sayOver(kubernetes(), run, 4);
    expect(await ended(subject, run)).toMatchObject([{ code: 4 }]);
    proxy.turnTo(server);
    daemon.signal('SIGCONT');
    await sayOver(kubernetes(), other, 6);
    expect(await ended(subject, other)).toMatchObject([{ code: 6 }]);
    // And back, to one that was killed meanwhile and knows nothing but what etcd has.
    await kubernetes().apiServer.end('SIGKILL');
    kubernetes().apiServer.start();
    await kubernetes().ready();
    const last = await begun();
    proxy.turnTo(kubernetes().server);
    await sayOver(kubernetes(), last, 7);
    expect(await ended(subject, last)).toMatchObject([{ code: 7 }]);
    expect([run, other, last].map(endsOf)).toEqual([1, 1, 1]);
  });
});
