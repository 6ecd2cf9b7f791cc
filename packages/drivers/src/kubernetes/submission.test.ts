// What becomes of a submit that meets a stop, on pods that are played here. Against a real API server: tests/kubernetes.
import { runId, type StartCommand } from '@muster/model';
import { expect, it } from 'vitest';
import type { KubeClient } from './client.ts';
import { type OurPod, readOurPod } from './objects.ts';
import type { PodSettings } from './pod.ts';
import type { Pods } from './pods.ts';
import { submitRun } from './submission.ts';

const run = runId('job_000000000000000001' as Parameters<typeof runId>[0], 1);
const task = (rank: number) => ({
  task: { rank, command: ['true'], env: {}, workdir: null, devices: [], cpuMilli: 100, memoryMib: 64 },
  node: `n${rank}`,
  devices: {},
});
const command = {
  run,
  stop: { signal: 'TERM', graceMs: 1000 },
  timeLimitMs: null,
  image: 'x',
} as StartCommand;
const settings = { namespace: 'ns', imagePullSecrets: [], tolerations: [], checkpoints: null } as never;

interface PodObject {
  readonly metadata: object;
  readonly spec: object;
}

const readPod = (object: object, more: object = {}): OurPod => {
  const { metadata, spec } = object as PodObject;
  return readOurPod({ metadata: { uid: 'u', ...metadata, ...more }, spec, status: {} })!;
};

/** `heldBy`: what a second create of rank 0 finds. `gates`: what a webhook puts on the pods of a rank. */
function play(
  heldBy: (made: object) => OurPod | null,
  binds: boolean,
  gates: (rank: number) => string[] = () => [],
) {
  const bound: string[] = [];
  const discarded: string[] = [];
  let first: object | null = null;
  const pods = {
    create: async (object: object) => {
      const pod = readPod(object);
      const gated = { ...pod, gates: gates(pod.rank) };
      if (first !== null) return gated;
      first = object;
      return heldBy(object) === null ? gated : null;
    },
    get: async () => heldBy(first!),
    async bind({ name }: OurPod) {
      bound.push(name);
      return binds;
    },
    discard: async ({ name }: OurPod) => void discarded.push(name),
  } as unknown as Pods;
  const client = { call: async () => ({}) } as unknown as KubeClient;
  const answer = submitRun(client, pods, settings as PodSettings, 'ours', {
    command,
    tasks: [task(0), task(1)],
  });
  return { answer, discarded, bound };
}

it('is refused where a stop came first, because no pod would ever tell its end', async () => {
  const tombstone = (made: object): OurPod => ({ ...readPod(made), tombstone: true });
  expect(await play(tombstone, true).answer).toMatchObject({ outcome: 'refused' });
  const deleted = (made: object): OurPod => readPod(made, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  expect(await play(deleted, true).answer).toMatchObject({ outcome: 'refused' });
});

it('is refused, and its other pods go, where a stop comes before the first pod is bound', async () => {
  const { answer, discarded } = play(() => null, false);
  expect(await answer).toEqual({ outcome: 'refused', detail: 'it was stopped before it began' });
  expect(discarded).toHaveLength(1);
});

it.each([0, 1])(
  'is refused whole, before any part began, where something put a gate on rank %i',
  async (which) => {
    const { answer, discarded, bound } = play(
      () => null,
      true,
      (rank) => (rank === which ? ['example.org/quota'] : []),
    );
    expect(await answer).toMatchObject({
      outcome: 'refused',
      detail: expect.stringContaining(
        `task ${which} be bound to no node: something there (a webhook) put the`,
      ),
    });
    expect(await answer).toMatchObject({
      detail: expect.stringContaining('gate example.org/quota on its pod'),
    });
    expect(bound).toEqual([]);
    expect(discarded).toHaveLength(2);
  },
);

it('is accepted where its first pod is bound, however it stands', async () => {
  const bound = (made: object): OurPod => ({
    ...readPod(made, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    node: 'n0',
  });
  expect(await play(bound, true).answer).toEqual({ outcome: 'accepted' });
});
