// What is told of pods that are no longer listed: by a clock and a kubelet that a test plays. On a real kubelet: tests/kubernetes.
import type { RunId } from '@muster/model';
import { expect, it } from 'vitest';
import { type OurPod, readOurPod } from './objects.ts';
import { Vanished } from './vanished.ts';

function pod(uid: string): OurPod {
  return readOurPod({
    metadata: {
      name: uid,
      uid,
      labels: { 'muster/run': 'run_000000000000000001_1', 'muster/installation': 'ours', 'muster/rank': '0' },
      annotations: { 'muster/tasks': '1', 'muster/node': 'n1' },
    },
    spec: { nodeName: 'n1' },
    status: { phase: 'Running', containerStatuses: [{ state: { running: {} } }] },
  })!;
}

function play() {
  const stage = { nowMs: 0, isThere: false, asked: 0, restored: 0, words: 0 };
  const vanished = new Vanished({
    renewal: async () => {
      stage.asked++;
      return String(++stage.words);
    },
    restore: async () => {
      stage.restored++;
      return stage.isThere;
    },
    isForgotten: () => false,
    nowMs: () => stage.nowMs,
  });
  const states = async (nodes = ['n1']): Promise<string[]> =>
    (await vanished.missing((name) => nodes.includes(name))).map(({ state }) => state);
  return { stage, vanished, states };
}

it('holds the room of a pod that is gone until its kubelet was heard of and had its time', async () => {
  const { stage, vanished, states } = play();
  vanished.gone(pod('a'));
  for (let i = 0; i < 4; i++) expect(await states()).toEqual(['running']);
  stage.nowMs = 40_000;
  expect(await states()).toEqual(['ended']);
  // That it is gone is asked once.
  expect(stage.restored).toBe(1);
});

it('never calls a pod over that is there without its marks, however long, and drops it when it is listed again', async () => {
  const { stage, vanished, states } = play();
  stage.isThere = true;
  vanished.gone(pod('a'));
  for (; stage.nowMs < 300_000; stage.nowMs += 20_000) expect(await states()).toEqual(['running']);
  vanished.listed(pod('a'));
  expect(await states()).toEqual([]);
  expect(vanished.ghostsOf('run_000000000000000001_1' as RunId)).toEqual([]);
});

it('asks of each node once, however many of its pods are gone, and of none that is gone itself', async () => {
  const { stage, vanished, states } = play();
  for (let i = 0; i < 50; i++) vanished.gone(pod(`p${i}`));
  expect(await states()).toHaveLength(50);
  expect(stage.asked).toBe(1);
  expect(new Set(await states([]))).toEqual(new Set(['ended']));
  expect(stage.asked).toBe(1);
});
