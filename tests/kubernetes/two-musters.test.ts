// Two Musters that use one Kubernetes, with the same key on both sides: neither stops, adopts, forgets or tells of what is the other's.
// Kubelets are played here.
import { testNamespace, testOwnership } from '@muster/drivers/testing';
import type { RunId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type KubernetesSubject, kubernetesSubject } from '../harness/kubernetes-subject.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { eventually } from '../harness/processes.ts';
import { accepted, cancel, ended, freshRun, shellTask, started, submit } from '../harness/runs.ts';
import { addNodes, type PodObject, podPath, sayOver, sayRunning } from './played-kubelet.ts';

onKubernetes('a Kubernetes that two Musters use', [], (kubernetes) => {
  const theirs = testOwnership('00000000-0000-4000-8000-000000000002', 'west');
  const theirNamespace = 'theirs';
  const strangeNamespace = 'strange';
  let ours: KubernetesSubject;
  beforeAll(async () => {
    await addNodes(kubernetes(), 'e1');
    for (const name of [theirNamespace, strangeNamespace])
      await kubernetes().admin.call('POST', '/api/v1/namespaces', { metadata: { name } });
    // No controller makes it here, and pods are refused without.
    await kubernetes().admin.call('POST', `/api/v1/namespaces/${theirNamespace}/serviceaccounts`, {
      metadata: { name: 'default' },
    });
    ours = kubernetesSubject(kubernetes(), ['e1']);
    await ours.driver.look(true);
  });
  afterAll(() => ours?.close());

  const told = async ({ driver }: KubernetesSubject, run: RunId): Promise<string[]> =>
    [...(await driver.look(true)).reports.values()]
      .flat()
      .flatMap((one) => (one.run === run ? one.state : []));
  const taken = async ({ driver }: KubernetesSubject): Promise<number> =>
    (await driver.look(true)).nodes.get('e1')?.taken?.cpuMilli ?? 0;
  const object = async (run: RunId, namespace = testNamespace): Promise<PodObject> =>
    (await kubernetes().admin.call(
      'GET',
      podPath(run).replace(`/${testNamespace}/`, `/${namespace}/`),
    )) as PodObject;
  const sleeps = { e1: [shellTask(0, 'sleep 600', { cpuMilli: 2000 })] };
  async function begun(): Promise<RunId> {
    const run = freshRun();
    expect(await submit(ours, run, sleeps)).toEqual([accepted]);
    await sayRunning(kubernetes(), run);
    await started(ours, run);
    return run;
  }
  async function over(run: RunId): Promise<void> {
    await sayOver(kubernetes(), run);
    await ended(ours, run);
  }

  it('runs the same key for both, each in a namespace of its own, and takes the other for use of others', async () => {
    const run = await begun();
    const other = kubernetesSubject(kubernetes(), ['e1'], {
      ownership: theirs,
      pods: { namespace: theirNamespace },
    });
    try {
      expect(await told(other, run)).toEqual([]);
      expect(await taken(other)).toBe(2000);
      expect(await taken(ours)).toBe(0);
      expect(await submit(other, run, sleeps)).toEqual([accepted]);
      expect(await taken(ours)).toBe(2000);
      expect(await told(other, run)).toEqual(['accepted']);
      expect(await cancel(other, run)).toEqual(accepted);
      expect((await object(run, theirNamespace)).spec.activeDeadlineSeconds).toBe(1);
      expect((await object(run)).spec.activeDeadlineSeconds).toBeUndefined();
      expect(await told(ours, run)).toEqual(['running']);
      await over(run);
    } finally {
      await other.close();
    }
  });

  it('touches nothing in a namespace that is the other one, and says whose it is', async () => {
    const run = await begun();
    const before = await object(run);
    const other = kubernetesSubject(kubernetes(), ['e1'], { ownership: theirs });
    try {
      await expect(other.driver.look(true)).rejects.toThrow(
        `the namespace ${testNamespace} holds the runs of another Muster: cluster alpha of the server at https://muster.test`,
      );
      expect(await cancel(other, run)).toEqual({ outcome: 'unknown' });
      expect(await submit(other, freshRun(), sleeps)).toEqual([{ outcome: 'unknown' }]);
      expect(await other.driver.find(other.node, run)).toEqual([]);
      expect(await object(run)).toEqual(before);
      expect(await told(ours, run)).toEqual(['running']);
      await over(run);
    } finally {
      await other.close();
    }
  });

  it('takes no namespace without its mark for the one that its runs are in, until somebody marks it', async () => {
    let runs = 0;
    const ownership = testOwnership(undefined, undefined, () => runs);
    const pods = { namespace: strangeNamespace };
    const maps = `/api/v1/namespaces/${strangeNamespace}/configmaps`;
    const mark = (): Promise<unknown> => kubernetes().admin.call('GET', `${maps}/muster-epoch`);
    const take = (): Promise<unknown> => kubernetes().admin.call('DELETE', `${maps}/muster-epoch`);
    const first = kubernetesSubject(kubernetes(), ['e1'], { ownership, pods });
    try {
      await first.driver.look(true);
      runs = 3;
      // Where it saw its mark is its own, whoever takes the mark off.
      await take();
      await eventually('it marks it again', 30_000, () => mark().catch(() => null));
    } finally {
      await first.close();
    }
    await take();
    const next = kubernetesSubject(kubernetes(), ['e1'], { ownership, pods });
    try {
      const why = 'bears no mark, and 3 runs of cluster alpha are not known to be over';
      await expect(next.driver.look(true)).rejects.toThrow(why);
      expect(await submit(next, freshRun(), sleeps)).toEqual([{ outcome: 'unknown' }]);
      await expect(mark()).rejects.toMatchObject({ status: 404 });
      const data = { epoch: '0', ...ownership.owner };
      await kubernetes().admin.call('POST', maps, { metadata: { name: 'muster-epoch' }, data });
      await eventually('it is believed', 30_000, () => next.driver.look(true).catch(() => null));
    } finally {
      await next.close();
    }
  });

  it('leaves what another left in a namespace that was given to it, and counts it as taken', async () => {
    const before = await taken(ours);
    const run = await begun();
    await ours.close();
    await kubernetes().admin.call('DELETE', `/api/v1/namespaces/${testNamespace}/configmaps/muster-epoch`);
    const other = kubernetesSubject(kubernetes(), ['e1'], { ownership: theirs });
    try {
      await eventually('it is theirs', 30_000, () => other.driver.look(true).catch(() => null));
      const left = await object(run);
      expect(await told(other, run)).toEqual([]);
      expect(await taken(other)).toBe(before + 2000);
      // The name is another's, so nothing is known of what a start or a stop would do.
      expect(await submit(other, run, sleeps)).toEqual([{ outcome: 'unknown' }]);
      expect(await cancel(other, run)).toEqual({ outcome: 'unknown' });
      expect(await object(run)).toEqual(left);
    } finally {
      await other.close();
    }
    const late = kubernetesSubject(kubernetes(), ['e1']);
    await expect(late.driver.look(true)).rejects.toThrow('cluster west');
    await late.close();
  });
});
