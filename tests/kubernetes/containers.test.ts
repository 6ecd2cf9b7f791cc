// The Kubernetes driver where processes run: a real kubelet and containers. What users write, signals, failures by their class, and
// that nothing is left of any of it.
import { readdirSync } from 'node:fs';
import { leftoversOf, processesWith } from '@muster/drivers/testing';
import type { RunId } from '@muster/model';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startNode, type TestNode } from '../harness/kubernetes-node.ts';
import { type KubernetesSubject, kubernetesSubject } from '../harness/kubernetes-subject.ts';
import { onKubernetes } from '../harness/on-kubernetes.ts';
import { eventually } from '../harness/processes.ts';
import { ended, freshRun, shellTask, started, submit } from '../harness/runs.ts';
import { podPath } from './played-kubelet.ts';

onKubernetes('pods of Kubernetes', ['containers'], (kubernetes) => {
  let subject: KubernetesSubject;
  let node: TestNode;
  beforeAll(async () => {
    node = await startNode(kubernetes(), 'n1');
    subject = kubernetesSubject(kubernetes(), ['n1']);
  });
  afterAll(() => subject?.close());

  const outputOf = async (run: RunId, rank = 0): Promise<string> => {
    const asked = { node: subject.node, run, rank, offset: 0, maxBytes: 10_000, waitMs: 10_000 };
    return Buffer.from((await subject.driver.output(asked)).data).toString();
  };

  it('hands what users write on as data', async () => {
    const run = freshRun();
    const words = ['$(X)', '$$(X)', '$X', '`date`', "'; true; '", '--help', 'a\nb', '', '\\', '$'];
    const task = { ...shellTask(0, ''), command: ['printf', '[%s]', ...words], env: { X: words.join(' ') } };
    await submit(subject, run, { n1: [task] });
    expect(await ended(subject, run)).toEqual([{ ok: true }]);
    expect(await outputOf(run)).toBe(words.map((word) => `[${word}]`).join(''));
  });

  it("stops a run with the job's own signal, and keeps its output", async () => {
    const run = freshRun();
    const script =
      'trap "echo saved; exit 7" USR1; trap "echo wrong" TERM; echo ready; while :; do sleep 0.1; done';
    await submit(subject, run, { n1: [shellTask(0, script)] }, { stop: { signal: 'USR1', graceMs: 20_000 } });
    await eventually('it is ready', 30_000, async () => (await outputOf(run)) === 'ready\n');
    const stop = {
      run,
      reason: 'room for another',
      class: 'preemption',
      signal: 'USR1',
      graceMs: 20_000,
    } as const;
    await subject.driver.stop({ outbox: 1, epoch: 1, node: subject.node }, stop);
    expect(await ended(subject, run)).toMatchObject([
      { class: 'preemption', code: 7, reason: { message: 'room for another' } },
    ]);
    expect(await outputOf(run)).toBe('ready\nsaved\n');
  });

  it('tells by its class why a task did not do', async () => {
    const runs = Array.from({ length: 5 }, freshRun);
    const [image, program, limit, memory, full] = runs as [RunId, RunId, RunId, RunId, RunId];
    await submit(subject, image, { n1: [shellTask(0, 'true')] }, { image: 'muster.test/none:1' });
    await submit(subject, program, { n1: [{ ...shellTask(0, ''), command: ['no-such-program'] }] });
    await submit(subject, limit, { n1: [shellTask(0, 'sleep 600')] }, { timeLimitMs: 1000 });
    const hungry = 'x=a; while :; do x=$x$x; done';
    await submit(subject, memory, { n1: [shellTask(0, hungry, { memoryMib: 16 })] });
    await submit(subject, full, { n1: [shellTask(0, 'true', { cpuMilli: 1_000_000 })] });
    expect(await ended(subject, image)).toMatchObject([{ class: 'user', reason: { code: 'image' } }]);
    expect(await ended(subject, program)).toMatchObject([{ class: 'user', reason: { code: 'not-started' } }]);
    expect(await ended(subject, limit)).toMatchObject([{ class: 'timeout' }]);
    expect(await ended(subject, memory)).toMatchObject([{ class: 'out-of-memory' }]);
    expect(await ended(subject, full)).toMatchObject([
      {
        class: 'infrastructure',
        reason: { code: 'node-refused', message: expect.stringContaining('OutOfcpu') },
      },
    ]);
  });

  it('takes a hand from outside for what it is', async () => {
    const run = freshRun();
    await submit(subject, run, { n1: [shellTask(0, 'trap "exit 0" TERM; while :; do sleep 0.1; done')] });
    await started(subject, run);
    await kubernetes().admin.call('DELETE', podPath(run));
    expect(await ended(subject, run)).toMatchObject([
      { class: 'cancelled', reason: { code: 'deleted-in-kubernetes' } },
    ]);
  });

  it('F29: holds the room of a pod that vanished while its kubelet was silent, until the kubelet is heard of and runs it no more', async () => {
    const run = freshRun();
    // A number that no other process on this machine sleeps for.
    const seconds = `600.${process.pid}`;
    await submit(subject, run, { n1: [shellTask(0, `exec sleep ${seconds}`)] });
    await started(subject, run);
    expect(processesWith(seconds)).toHaveLength(1);
    node.kubelet.signal('SIGSTOP');
    try {
      await kubernetes().admin.call('DELETE', podPath(run), { gracePeriodSeconds: 0 });
      await kubernetes().admin.call('PATCH', podPath(run), { metadata: { finalizers: null } });
      await eventually('its object is gone', 30_000, async () =>
        kubernetes()
          .admin.call('GET', podPath(run))
          .then(
            () => false,
            () => true,
          ),
      );
      expect(processesWith(seconds)).toHaveLength(1);
      const told = [...(await subject.driver.look(true)).reports.values()].flat();
      expect(told.find((report) => report.run === run)).toMatchObject({ state: 'running' });
    } finally {
      node.kubelet.signal('SIGCONT');
    }
    expect(await ended(subject, run, 1, 150_000)).toMatchObject([
      {
        class: 'infrastructure',
        reason: { code: 'vanished', message: expect.stringContaining('n1 runs it no more') },
      },
    ]);
    expect(processesWith(seconds)).toEqual([]);
  });

  it('leaves no process, mount, network or control group behind', async () => {
    const run = freshRun();
    await submit(subject, run, { n1: [shellTask(0, 'sleep 600')] });
    await started(subject, run);
    const { dir } = kubernetes();
    expect(leftoversOf(dir).processes.length).toBeGreaterThan(5);
    const spaces = readdirSync('/run/netns').length;
    await subject.close();
    await kubernetes().stop();
    expect(leftoversOf(dir)).toEqual({ processes: [], mounts: [], cgroups: [] });
    expect(readdirSync('/run/netns').length).toBeLessThan(spaces);
  });
});
