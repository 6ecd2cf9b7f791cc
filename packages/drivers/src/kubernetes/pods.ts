// The calls on our pods, each with its protection: a name that exists once, or the uid of the very pod that is meant.
import type { RunId, StopCommand } from '@muster/model';
import * as z from 'zod';
import { ApiError, type KubeClient } from './client.ts';
import { finalizer, marks, type OurPod, readOurPod, type StopFacts } from './objects.ts';
import { podName } from './pod.ts';

export interface Pods {
  /** Null when one of that name is there already. */
  create(pod: object): Promise<OurPod | null>;
  get(run: RunId, rank: number): Promise<OurPod | null>;
  /**
   * All of a run, as the API server knows them now; `seen`: whether the watch has any of it. By name: a list by label is a walk through
   * all pods of the namespace for the API server, and whoever has fifty thousand there asks when it is slow already.
   */
  of(run: RunId, seen: boolean): Promise<OurPod[]>;
  /** False when it is bound elsewhere, gone, or being deleted. */
  bind(pod: OurPod): Promise<boolean>;
  /**
   * Says why it ends, which stays as it was said first, and has its node end it with its signal and its grace; where there is
   * something to ask, after the wait for that.
   */
  stop(pod: OurPod, facts: StopFacts, graceS: number, ask?: StopCommand['ask']): Promise<void>;
  /** Ends it by deleting it, and its output with it. */
  delete(pod: OurPod, graceS: number): Promise<void>;
  /** Puts its marks back, which somebody may have edited; false when the very pod is not there. */
  restore(pod: OurPod): Promise<boolean>;
  /** Its end is known and told, or it was never bound: the object goes. */
  discard(pod: OurPod): Promise<void>;
}

/** Of a larger gang all pods are listed at once. */
const namedMax = 32;
const items = z.object({ items: z.array(z.unknown()) });

export function podsOf(client: KubeClient, namespace: string, installation: string): Pods {
  const all = `/api/v1/namespaces/${namespace}/pods`;
  const at = ({ name }: Pick<OurPod, 'name'>): string => `${all}/${name}`;

  function read(object: unknown): OurPod {
    const pod = readOurPod(object);
    if (pod?.installation !== installation)
      throw new ApiError(409, '', 'a pod with the name of one of ours is none of ours');
    return pod;
  }

  async function get(name: string): Promise<OurPod | null> {
    try {
      return read(await client.call('GET', at({ name })));
    } catch (error) {
      if (has(error, 404)) return null;
      throw error;
    }
  }

  /** Null also where the name is another's. */
  async function own(run: RunId, rank: number): Promise<OurPod | null> {
    try {
      const pod = readOurPod(await client.call('GET', at({ name: podName(run, rank) })));
      return pod?.installation === installation ? pod : null;
    } catch (error) {
      if (has(error, 404)) return null;
      throw error;
    }
  }

  async function remove(pod: OurPod, graceS: number | null): Promise<void> {
    const grace = graceS === null ? {} : { gracePeriodSeconds: graceS };
    await unlessGone(() => client.call('DELETE', at(pod), { preconditions: { uid: pod.uid }, ...grace }));
  }

  return {
    async create(pod) {
      try {
        return read(await client.call('POST', all, pod));
      } catch (error) {
        if (has(error, 409)) return null;
        throw error;
      }
    },
    get: (run, rank) => get(podName(run, rank)),
    async of(run, seen) {
      const head = await own(run, 0);
      if (head && head.tasks <= namedMax) {
        const ranks = Array.from({ length: Math.max(0, head.tasks - 1) }, (_, i) => i + 1);
        const rest = await Promise.all(ranks.map((rank) => own(run, rank)));
        return [head, ...rest.filter((pod) => pod !== null)];
      }
      // The first is made before all others, so there are none, unless somebody took it away since.
      if (!head && !seen) return [];
      const query = new URLSearchParams({
        labelSelector: `${marks.run}=${run},${marks.installation}=${installation}`,
      });
      const found = items.parse(await client.call('GET', `${all}?${query}`)).items;
      return found.map(readOurPod).filter((pod) => pod !== null);
    },
    async bind(pod) {
      const { name, uid, meant } = pod;
      const binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, uid },
        target: { apiVersion: 'v1', kind: 'Node', name: meant },
      };
      try {
        await client.call('POST', `${at(pod)}/binding`, binding);
        return true;
      } catch (error) {
        if (!has(error, 409) && !has(error, 404)) throw error;
        // It may be bound already, by us.
        const now = await get(name);
        return now !== null && now.uid === uid && now.node === meant;
      }
    },
    async stop(pod, facts, graceS, ask) {
      const { uid } = pod;
      // It is asked already, and its node knows until when.
      if (ask && pod.askedWaitS !== null) return;
      // A deadline is the one way to have a node end a pod, by signal and grace, and keep its output. It has the grace that the
      // pod was made with.
      const byDeadline = pod.node !== null && graceS >= pod.graceS;
      const asking = byDeadline && ask ? askingOf(pod, ask) : null;
      const why = pod.stop === null ? { [marks.stop]: JSON.stringify(facts) } : {};
      const annotations = { ...why, ...(asking && { [marks.ask]: asking.annotation }) };
      await unlessGone(() =>
        client.call('PATCH', at(pod), {
          metadata: { uid, annotations },
          ...(byDeadline ? { spec: { activeDeadlineSeconds: asking?.deadlineS ?? 1 } } : {}),
        }),
      );
      if (!byDeadline) await remove(pod, graceS);
    },
    delete: remove,
    async restore({ name, uid, run, rank, tasks, meant }) {
      const labels = {
        [marks.run]: run,
        [marks.installation]: installation,
        [marks.rank]: String(rank),
      };
      const annotations = { [marks.tasks]: String(tasks), [marks.node]: meant };
      try {
        await client.call('PATCH', at({ name }), { metadata: { uid, labels, annotations } });
        return true;
      } catch (error) {
        if (has(error, 404) || has(error, 409)) return false;
        throw error;
      }
    },
    async discard(pod) {
      const others = pod.finalizers.filter((one) => one !== finalizer);
      const finalizers = others.length > 0 ? others : null;
      await unlessGone(() => client.call('PATCH', at(pod), { metadata: { uid: pod.uid, finalizers } }));
      if (!pod.deleting) await remove(pod, null);
    },
  };
}

/** Null for one whose program is not there to be asked. The wait is counted by our clock, and by the node's clock from its start. */
function askingOf(
  { stop, container, takenMs, deadlineS }: OurPod,
  { signal, waitMs }: NonNullable<StopCommand['ask']>,
): { readonly annotation: string; readonly deadlineS: number } | null {
  if (stop !== null || container.is !== 'running' || takenMs === null) return null;
  const waitS = Math.ceil(waitMs / 1000);
  const untilS = Math.max(1, Math.ceil((Date.now() - takenMs) / 1000) + waitS);
  // A deadline can only come nearer.
  return { annotation: `${signal} ${waitS}`, deadlineS: Math.min(untilS, deadlineS ?? untilS) };
}

/** It may be gone, or another pod may have its name by now. */
async function unlessGone(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!has(error, 404) && !has(error, 409)) throw error;
  }
}

export function has(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}
