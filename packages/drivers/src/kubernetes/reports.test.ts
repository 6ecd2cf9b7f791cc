// What pods as the API server gives them are taken for. The same on a real API server: tests/kubernetes.
import { describe, expect, it } from 'vitest';
import { hopeless } from './hopeless.ts';
import { type OurPod, readOurPod } from './objects.ts';
import { exitOf, reportsOf } from './reports.ts';

const run = 'run_000000000000000001_1';

interface Made {
  readonly node?: string;
  readonly deleted?: boolean;
  readonly annotations?: Record<string, string>;
  readonly status?: object;
}

function pod(rank: number, { node = 'n1', deleted, annotations, status = {} }: Made = {}): OurPod {
  const read = readOurPod({
    metadata: {
      name: `p${rank}`,
      uid: `u${rank}`,
      labels: { 'muster/run': run, 'muster/installation': 'ours', 'muster/rank': String(rank) },
      annotations: { 'muster/tasks': '2', 'muster/node': 'n1', ...annotations },
      ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: node === '' ? {} : { nodeName: node },
    status: { phase: 'Pending', ...status },
  });
  if (!read) throw new Error('not one of ours');
  return read;
}

const failed = (more: object = {}) => ({ status: { phase: 'Failed', ...more } });
const terminated = (state: object) =>
  failed({
    containerStatuses: [{ state: { terminated: { startedAt: '2026-01-01T00:00:00Z', ...state } } }],
  });
const stop = { 'muster/stop': '{"class":"preemption","code":"stopped","reason":"for another"}' };

describe('reports of pods', () => {
  it('tells nothing of a run that is not wholly bound, because its commands are sent again', () => {
    expect(reportsOf([pod(0), pod(1, { node: '' })])).toEqual([]);
    expect(reportsOf([pod(0), pod(1)]).map(({ state }) => state)).toEqual(['accepted', 'accepted']);
  });

  it('takes a pod that was deleted before it was bound for ended', () => {
    const made = pod(0, { node: '', deleted: true, annotations: stop });
    expect(exitOf(made)).toMatchObject({ ok: false, class: 'preemption' });
    expect(reportsOf([made])).toMatchObject([{ state: 'ended', node: 'n1', began: false }]);
  });

  it('does not take a pod that somebody deleted for ended while its kubelet has not said so', () => {
    const status = { phase: 'Running', containerStatuses: [{ state: { running: {} } }] };
    expect(reportsOf([pod(0, { deleted: true, status })])).toMatchObject([{ state: 'running', exit: null }]);
  });

  it.each<[string, Made, object]>([
    ['an exit code', terminated({ exitCode: 3, reason: 'Error' }), { class: 'user', code: 3, signal: null }],
    [
      'a signal',
      terminated({ exitCode: 139, reason: 'Error' }),
      { class: 'user', code: null, signal: 'SIGSEGV' },
    ],
    [
      'a node that lost its containers',
      terminated({ exitCode: 255, reason: 'Unknown' }),
      { class: 'infrastructure', code: null, reason: { code: 'container-lost' } },
    ],
    [
      'a kubelet that did not find the container again',
      terminated({ exitCode: 137, reason: 'ContainerStatusUnknown' }),
      { class: 'infrastructure', code: null, signal: null },
    ],
    ['no memory', terminated({ exitCode: 137, reason: 'OOMKilled' }), { class: 'out-of-memory' }],
    [
      'a command that is not there',
      terminated({ exitCode: 128, reason: 'StartError', message: 'not found in $PATH' }),
      { class: 'user', code: null, reason: { code: 'not-started' } },
    ],
    ['our stop', { ...terminated({ exitCode: 0 }), annotations: stop }, { class: 'preemption', code: 0 }],
    [
      'a hand from outside, although the task then ended well',
      {
        deleted: true,
        status: {
          ...terminated({ exitCode: 0, finishedAt: '2026-01-01T00:00:00Z' }).status,
          phase: 'Succeeded',
        },
      },
      { class: 'cancelled', code: 0 },
    ],
    ['a deadline', failed({ reason: 'DeadlineExceeded' }), { class: 'timeout' }],
    [
      'a full node',
      failed({ reason: 'OutOfnvidia.com/gpu' }),
      { class: 'infrastructure', reason: { code: 'node-refused' } },
    ],
    ['an eviction', failed({ reason: 'Evicted' }), { class: 'infrastructure', reason: { code: 'evicted' } }],
    [
      'a more important pod',
      failed({ conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] }),
      { class: 'preemption' },
    ],
    [
      'a drain',
      failed({ conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }] }),
      { class: 'infrastructure', reason: { code: 'disrupted' } },
    ],
    [
      'a hand from outside',
      { ...failed(), deleted: true },
      { class: 'cancelled', reason: { code: 'deleted-in-kubernetes' } },
    ],
  ])('tells %s by its class', (_, made, exit) => {
    expect(exitOf(pod(0, made))).toMatchObject({ ok: false, ...exit });
  });

  it('takes a task that had ended before its pod was deleted for what it was', () => {
    const { status } = terminated({ exitCode: 0, finishedAt: '2025-12-31T23:59:58Z' });
    expect(exitOf(pod(0, { deleted: true, status: { ...status, phase: 'Succeeded' } }))).toEqual({
      ok: true,
    });
  });

  it('takes a task that had succeeded when the stop came for what it was, but not one that was asked to save its work and then ended', () => {
    const over = { ...terminated({ exitCode: 0 }).status, phase: 'Succeeded' };
    expect(exitOf(pod(0, { annotations: stop, status: over }))).toEqual({ ok: true });
    const asked = { ...stop, 'muster/ask': 'USR1 30' };
    expect(exitOf(pod(0, { annotations: asked, status: over }))).toMatchObject({ class: 'preemption' });
  });

  it('takes no pod for ours that only has our label', () => {
    const metadata = { name: 'x', uid: 'x', labels: { 'muster/run': 'x' } };
    expect(readOurPod({ metadata, spec: {}, status: {} })).toBeNull();
  });
});

describe('a pod that waits', () => {
  const waiting = (reason: string, message = '') =>
    pod(0, { status: { containerStatuses: [{ state: { waiting: { reason, message } } }] } });
  const hour = 3_600_000;

  it('is given up at once when its image does not exist', () => {
    expect(hopeless(waiting('ErrImageNeverPull'), 0)).toMatchObject({ class: 'user', code: 'image' });
    const denied = waiting('ErrImagePull', 'pull access denied, repository does not exist');
    expect(hopeless(denied, 0)).toMatchObject({ class: 'user', code: 'image' });
  });

  it('is given up after a while when what it waits for might have come', () => {
    const slow = waiting('ImagePullBackOff', 'i/o timeout');
    expect(hopeless(slow, 0)).toBeNull();
    expect(hopeless(slow, hour)).toMatchObject({ class: 'infrastructure' });
    expect(hopeless(waiting('ContainerCreating'), hour)).toBeNull();
  });
});
