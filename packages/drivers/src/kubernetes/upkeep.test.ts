// What is done to pods beside commands, and when: by a clock that stands still until a test moves it.
import type { RunId } from '@muster/model';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type OurPod, readOurPod } from './objects.ts';
import type { Pods } from './pods.ts';
import { Upkeep } from './upkeep.ts';

const run = 'run_000000000000000001_1' as RunId;
const keepMs = 3_600_000;
let acts: string[];
let upkeep: Upkeep;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  acts = [];
  const note = (word: string) => async (pod: OurPod) => {
    acts.push(`${word} ${pod.name}`);
  };
  const pods = { stop: note('stop'), delete: note('delete'), discard: note('discard') };
  upkeep = new Upkeep(pods as unknown as Pods, keepMs);
});
afterEach(() => {
  vi.useRealTimers();
});

interface Made {
  readonly node?: string;
  readonly annotations?: Record<string, string>;
  readonly status?: object;
}

function pod(name: string, { node, annotations, status = { phase: 'Running' } }: Made = {}): OurPod {
  const read = readOurPod({
    metadata: {
      name,
      uid: name,
      labels: { 'muster/run': run, 'muster/installation': 'ours', 'muster/rank': '0' },
      annotations: { 'muster/tasks': '1', 'muster/node': 'n1', ...annotations },
    },
    spec: { terminationGracePeriodSeconds: 20, ...(node === undefined ? {} : { nodeName: node }) },
    status,
  });
  if (!read) throw new Error('not one of ours');
  return read;
}

const ended = { phase: 'Succeeded' };
const stop = { 'muster/stop': '{"class":"preemption","code":"stopped","reason":"for another"}' };

/** What is done so long after the last look. */
async function after(seconds: number, left: readonly OurPod[] = []): Promise<string[]> {
  vi.advanceTimersByTime(seconds * 1000);
  acts = [];
  await upkeep.tend(() => left);
  return acts;
}

test('a pod that was told to stop is deleted when its kubelet has not followed by its grace and a while', async () => {
  upkeep.change(null, pod('a', { node: 'n1', annotations: stop }));
  expect(await after(20 + 29)).toEqual([]);
  expect(await after(2)).toEqual(['delete a']);
});

test('a pod that nobody bound is taken away once no submit can come to it any more', async () => {
  upkeep.change(null, pod('a', { status: { phase: 'Pending' } }));
  expect(await after(599)).toEqual([]);
  expect(await after(2)).toEqual(['discard a']);
});

test('what changes counts anew from when it did, and what is over counts no more', async () => {
  const made = pod('a', { status: { phase: 'Pending' } });
  upkeep.change(null, made);
  expect(await after(500)).toEqual([]);
  const stopped = pod('a', { node: 'n1', annotations: stop });
  upkeep.change(made, stopped);
  expect(await after(45)).toEqual([]);
  upkeep.change(stopped, pod('a', { node: 'n1', annotations: stop, status: ended }));
  expect(await after(10_000)).toEqual([]);
});

test('a run that is over and told keeps its pods for its output, and then no longer', async () => {
  const over = pod('a', { node: 'n1', status: ended });
  upkeep.change(null, over);
  upkeep.forget(run);
  expect(await after(keepMs / 1000 - 1, [over])).toEqual([]);
  // Said again by another server it does not count anew.
  upkeep.forget(run);
  expect(await after(1, [over])).toEqual(['discard a']);
  expect(upkeep.isForgotten(run)).toBe(true);
  expect(await after(1, [])).toEqual([]);
  expect(upkeep.isForgotten(run)).toBe(false);
});

test('what is told as over by others and still runs here is not taken away', async () => {
  const runs = pod('a', { node: 'n1' });
  upkeep.change(null, runs);
  upkeep.forget(run);
  expect(await after(2 * keepMs, [runs])).toEqual([]);
});
