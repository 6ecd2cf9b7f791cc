// What is sent for a pod carries its protection. That the API server heeds it: tests/kubernetes.
import type { RunId } from '@muster/model';
import { describe, expect, it } from 'vitest';
import { ApiError, type KubeClient, type Method } from './client.ts';
import { readOurPod } from './objects.ts';
import { podsOf } from './pods.ts';

type Sent = readonly [Method, string, unknown];

function recording(answer: (sent: Sent) => unknown = () => ({})): {
  readonly client: KubeClient;
  readonly sent: Sent[];
} {
  const sent: Sent[] = [];
  const client: KubeClient = {
    async call(...call) {
      sent.push(call as unknown as Sent);
      return answer(call as unknown as Sent);
    },
    stream: () => Promise.reject(new Error('nothing is streamed')),
    close: () => {},
  };
  return { client, sent };
}

const object = (spec: object, tasks = 1) => ({
  metadata: {
    name: 'p',
    uid: 'the-uid',
    labels: { 'muster/run': 'run_000000000000000001_1', 'muster/installation': 'ours', 'muster/rank': '0' },
    annotations: { 'muster/tasks': String(tasks), 'muster/node': 'n1' },
  },
  spec: { terminationGracePeriodSeconds: 5, ...spec },
  status: { phase: 'Running' },
});
const pod = (spec: object = { nodeName: 'n1' }) => readOurPod(object(spec))!;
const facts = { class: 'cancelled', code: 'stopped', reason: 'asked' } as const;
const all = '/api/v1/namespaces/ns/pods/p';

describe('calls on a pod', () => {
  it('stop it by a deadline that has passed, for the very pod', async () => {
    const { client, sent } = recording();
    await podsOf(client, 'ns', 'ours').stop(pod(), facts, 5);
    expect(sent).toEqual([
      [
        'PATCH',
        all,
        {
          metadata: { uid: 'the-uid', annotations: { 'muster/stop': JSON.stringify(facts) } },
          spec: { activeDeadlineSeconds: 1 },
        },
      ],
    ]);
  });

  it('ask its program first where it runs, and end it when the wait is over', async () => {
    const ask = { signal: 'USR1', waitMs: 60_000 } as const;
    const running = (more: object = {}, spec: object = {}) =>
      readOurPod({
        ...object({ nodeName: 'n1', ...spec }),
        status: {
          phase: 'Running',
          startTime: new Date(Date.now() - 100_000).toISOString(),
          containerStatuses: [{ state: { running: {} } }],
        },
        ...more,
      })!;
    const sentFor = async (made: ReturnType<typeof pod>, word: typeof ask | null) => {
      const { client, sent } = recording();
      await podsOf(client, 'ns', 'ours').stop(made, facts, 5, word);
      return sent.map(
        ([, , body]) =>
          body as { metadata: { annotations: object }; spec: { activeDeadlineSeconds: number } },
      );
    };
    const [asked] = await sentFor(running(), ask);
    expect(asked?.metadata.annotations).toMatchObject({ 'muster/ask': 'USR1 60' });
    expect(asked?.spec.activeDeadlineSeconds).toBeGreaterThanOrEqual(160);
    // A deadline only ever comes nearer, and what does not run cannot be asked.
    const [limited] = await sentFor(running({}, { activeDeadlineSeconds: 130 }), ask);
    expect(limited?.spec).toEqual({ activeDeadlineSeconds: 130 });
    const [early] = await sentFor(pod(), ask);
    expect(early?.spec).toEqual({ activeDeadlineSeconds: 1 });
    // Asked already: the same again is nothing new, and the word that it has saved its work ends the wait.
    const { metadata, ...rest } = object({ nodeName: 'n1' });
    const annotations = {
      ...metadata.annotations,
      'muster/stop': JSON.stringify(facts),
      'muster/ask': 'USR1 60',
    };
    const waits = readOurPod({ ...rest, metadata: { ...metadata, annotations } })!;
    expect(await sentFor(waits, ask)).toEqual([]);
    expect(await sentFor(waits, null)).toMatchObject([
      { metadata: { annotations: {} }, spec: { activeDeadlineSeconds: 1 } },
    ]);
  });

  it.each([
    ['a shorter grace than it was made with', pod(), 1],
    ['no node', pod({}), 5],
  ])('delete it when it has %s', async (_, made, graceS) => {
    const { client, sent } = recording();
    await podsOf(client, 'ns', 'ours').stop(made, facts, graceS);
    expect(sent[0]?.[2]).not.toHaveProperty('spec');
    expect(sent[1]).toEqual([
      'DELETE',
      all,
      { preconditions: { uid: 'the-uid' }, gracePeriodSeconds: graceS },
    ]);
  });

  it('bind the very pod, and take it for bound when it is bound there already', async () => {
    const taken = recording(([method]) => {
      if (method === 'POST') throw new ApiError(409, 'Conflict', 'already assigned');
      return object({ nodeName: 'n1' });
    });
    expect(await podsOf(taken.client, 'ns', 'ours').bind(pod({}))).toBe(true);
    expect(taken.sent[0]?.[2]).toMatchObject({ metadata: { uid: 'the-uid' }, target: { name: 'n1' } });
    const elsewhere = recording(([method]) => {
      if (method === 'POST') throw new ApiError(409, 'Conflict', 'being deleted');
      return object({});
    });
    expect(await podsOf(elsewhere.client, 'ns', 'ours').bind(pod({}))).toBe(false);
  });

  it('say that a pod of that name is there already', async () => {
    const { client } = recording(() => {
      throw new ApiError(409, 'AlreadyExists', '');
    });
    expect(await podsOf(client, 'ns', 'ours').create({})).toBeNull();
  });

  it('are looked for by name, and by mark only where the first is gone or there are very many', async () => {
    const run = 'run_000000000000000001_1' as RunId;
    const playing = (tasks: number | null) =>
      recording(([, path]) => {
        if (path.includes('?')) return { items: [object({}, tasks ?? 1)] };
        if (tasks === null) throw new ApiError(404, 'NotFound', '');
        return object({}, tasks);
      });
    const asked = async (tasks: number | null, seen: boolean): Promise<string[]> => {
      const { client, sent } = playing(tasks);
      await podsOf(client, 'ns', 'ours').of(run, seen);
      return sent.map(([, path]) => path.replace(/.*pods/, '').replace(/\?.*/, '?'));
    };
    const name = '/run-000000000000000001-1';
    expect(await asked(1, true)).toEqual([`${name}-0`]);
    expect(await asked(3, true)).toEqual([`${name}-0`, `${name}-1`, `${name}-2`]);
    expect(await asked(100, true)).toEqual([`${name}-0`, '?']);
    expect(await asked(null, false)).toEqual([`${name}-0`]);
    expect(await asked(null, true)).toEqual([`${name}-0`, '?']);
  });

  it("look for ours alone, and know no pod that bears another's mark", async () => {
    const run = 'run_000000000000000001_1' as RunId;
    const { client, sent } = recording(([, path]) => (path.includes('?') ? { items: [] } : object({})));
    expect(await podsOf(client, 'ns', 'theirs').of(run, false)).toEqual([]);
    await podsOf(client, 'ns', 'theirs').of(run, true);
    const query = new URLSearchParams(sent.at(-1)?.[1].split('?')[1]);
    expect(query.get('labelSelector')).toBe(`muster/run=${run},muster/installation=theirs`);
    await expect(podsOf(client, 'ns', 'theirs').get(run, 0)).rejects.toThrow('none of ours');
    expect(await podsOf(client, 'ns', 'ours').get(run, 0)).toMatchObject({ run });
  });

  it('take an answer that says no for no, and nothing else', async () => {
    const { client } = recording(() => {
      throw new ApiError(503, '', 'later');
    });
    await expect(podsOf(client, 'ns', 'ours').get('run_000000000000000001_1' as RunId, 0)).rejects.toThrow(
      'later',
    );
    const quota = 'pods "p" is forbidden: exceeded quota: small';
    expect(new ApiError(403, 'Forbidden', quota).refused).toBe(true);
    const right =
      'pods is forbidden: User "m" cannot create resource "pods" in API group "" in the namespace "ns"';
    expect(new ApiError(403, 'Forbidden', right).refused).toBe(false);
    expect([401, 408, 409, 429, 500, 503, 504].some((status) => new ApiError(status, '', '').refused)).toBe(
      false,
    );
  });
});
