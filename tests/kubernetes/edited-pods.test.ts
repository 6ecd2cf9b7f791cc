// Rows F29 and F30 of the fault matrix on a real API server: pods that others edit, keep, or delete and that do not go. What was ours
// stays ours until its kubelet has spoken; what others want of an object is theirs. Kubelets are played here.
import type { RunId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type KubernetesSubject, kubernetesSubject } from '../harness/kubernetes-subject.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { eventually } from '../harness/processes.ts';
import { accepted, cancel, ended, freshRun, shellTask, started, submit } from '../harness/runs.ts';
import { addNodes, type PodObject, podPath, podsOf, sayOver, sayRunning } from './played-kubelet.ts';

onKubernetes('pods that others have a hand in', [], (kubernetes) => {
  let subject: KubernetesSubject;
  beforeAll(async () => {
    await addNodes(kubernetes(), 'e1');
    subject = kubernetesSubject(kubernetes(), ['e1'], { keepMs: 0 });
    await subject.driver.look(true);
  });
  afterAll(() => subject?.close());

  async function begun(): Promise<RunId> {
    const run = freshRun();
    expect(await submit(subject, run, { e1: [shellTask(0, 'sleep 600')] })).toEqual([accepted]);
    await sayRunning(kubernetes(), run);
    await started(subject, run);
    return run;
  }
  const patch = (run: RunId, metadata: object): Promise<unknown> =>
    kubernetes().admin.call('PATCH', podPath(run), { metadata });
  const object = (run: RunId): Promise<PodObject> =>
    kubernetes().admin.call('GET', podPath(run)) as Promise<PodObject>;
  const stateOf = async (run: RunId): Promise<string | undefined> =>
    [...(await subject.driver.look()).reports.values()].flat().find((report) => report.run === run)?.state;

  it.each([
    { what: 'label', labels: { 'muster/run': null } },
    {
      what: 'labels and annotations',
      labels: { 'muster/run': 'run_000000000000000999_1' },
      annotations: { 'muster/tasks': null },
    },
  ])(
    'F30: gives a pod whose $what somebody edited its marks back, and never takes it for gone',
    async (edit) => {
      const run = await begun();
      const { uid } = (await object(run)).metadata;
      await patch(run, { labels: edit.labels, ...(edit.annotations && { annotations: edit.annotations }) });
      await eventually('it has its marks again', 60_000, async () => {
        expect(await stateOf(run)).toBe('running');
        return (await object(run)).metadata.labels?.['muster/run'] === run;
      });
      expect((await object(run)).metadata.uid).toBe(uid);
      expect(await cancel(subject, run)).toEqual(accepted);
      await sayOver(kubernetes(), run, 143);
      expect(await ended(subject, run)).toMatchObject([{ class: 'cancelled', reason: { message: 'asked' } }]);
    },
  );

  it('F29: holds the room of a pod that stays Terminating, and tells its end when its kubelet does', async () => {
    const run = await begun();
    await kubernetes().admin.call('DELETE', podPath(run), { gracePeriodSeconds: 1 });
    await eventually(
      'it is being deleted',
      30_000,
      async () => (await object(run)).metadata.deletionTimestamp !== undefined,
    );
    await subject.driver.look(true);
    expect(await stateOf(run)).toBe('running');
    // Its key is not free either.
    expect(await submit(subject, run, { e1: [shellTask(0, 'echo twice')] })).toEqual([accepted]);
    await sayOver(kubernetes(), run, 137);
    expect(await ended(subject, run)).toMatchObject([
      { class: 'cancelled', reason: { code: 'deleted-in-kubernetes' } },
    ]);
  });

  it('F29: lets a pod go that it knows all of, and leaves it to whoever else keeps it', async () => {
    const run = await begun();
    const kept = 'example.org/kept';
    await patch(run, { finalizers: ['muster/end-is-known', kept] });
    await sayOver(kubernetes(), run);
    expect(await ended(subject, run)).toEqual([{ ok: true }]);
    await subject.driver.forget(run);
    const left = await eventually('we let it go', 60_000, async () => {
      const { metadata } = await object(run);
      const isLetGo =
        metadata.deletionTimestamp !== undefined && !metadata.finalizers?.includes('muster/end-is-known');
      return isLetGo && metadata;
    });
    expect(left.finalizers).toEqual([kept]);
    expect(await stateOf(run)).toBeUndefined();
    await patch(run, { finalizers: null });
    await eventually('it is gone', 30_000, async () => (await podsOf(kubernetes(), run)).length === 0);
  });
});
