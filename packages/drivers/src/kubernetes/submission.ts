// How a run comes into being. All its pods are made first, rank 0 before all others, and nothing starts: nobody schedules pods of
// our scheduler's name. Only when the API server has taken every one of them are they bound to their nodes, rank 0 first. So a
// gang that a quota or a webhook refuses in part begins in no part, and the name of rank 0 is what makes a key unique: a
// second submit finds the pods there, and a stop that came first holds that name with a tombstone.
//
// A call that was not answered may be carried out later. A late create makes a pod that nobody binds; a late bind names the uid
// of one pod, and is refused once that pod is deleted.

import type { StartCommand } from '@muster/model';
import type { CommandAnswer } from '../contract.ts';
import { ApiError, type KubeClient } from './client.ts';
import type { OurPod } from './objects.ts';
import { type PlacedTask, type PodSettings, podOf, serviceOf } from './pod.ts';
import type { Pods } from './pods.ts';
import { has } from './pods.ts';
import { exitOf } from './reports.ts';

/** One run, whole. */
export interface Submission {
  readonly command: StartCommand;
  readonly tasks: readonly PlacedTask[];
}

const accepted: CommandAnswer = { outcome: 'accepted' };
/** No pod tells the end of what never began, so the answer does: an accepted run without pods would be waited for as long as nobody looks anew. */
const stoppedFirst: CommandAnswer = { outcome: 'refused', detail: 'it was stopped before it began' };
/** Calls at a time for one run, so that a large gang leaves connections to others. */
const atOnce = 32;

/** Throws when nothing is known of a call. */
export async function submitRun(
  client: KubeClient,
  pods: Pods,
  settings: PodSettings,
  installation: string,
  { command, tasks }: Submission,
): Promise<CommandAnswer> {
  const inOrder = tasks.toSorted((a, b) => a.task.rank - b.task.rank);
  const [first, ...others] = inOrder;
  if (first?.task.rank !== 0) return { outcome: 'refused', detail: 'the run has no task of rank 0' };
  const make = (task: PlacedTask): Promise<OurPod> =>
    made(pods, task, podOf(task, command, tasks.length, settings, installation), command);
  const ready: OurPod[] = [];
  try {
    const head = await make(first);
    ready.push(head);
    // Stopped before it began, ended long ago, or running: the key is spent.
    if (isSpent(head)) return head.node === null ? stoppedFirst : accepted;
    await each(others, async (task) => {
      ready.push(await make(task));
    });
    if (tasks.length > 1) await makeService(client, head, settings.namespace);
  } catch (error) {
    if (!(error instanceof ApiError) || !error.refused) throw error;
    await discardUnbound(pods, ready);
    return { outcome: 'refused', detail: error.message.slice(0, 500) };
  }
  const gated = ready.find(({ node, gates }) => node === null && gates.length > 0);
  if (gated) {
    await discardUnbound(pods, ready);
    return { outcome: 'refused', detail: gatedText(gated, settings.namespace) };
  }
  const [head, ...rest] = ready as [OurPod, ...OurPod[]];
  // Whoever could not bind the first was stopped meanwhile: nothing of the run has begun, and nothing will.
  if (!(await pods.bind(head))) {
    await discardUnbound(pods, rest);
    return stoppedFirst;
  }
  await each(rest, (pod) => pods.bind(pod));
  return accepted;
}

function discardUnbound(pods: Pods, some: readonly OurPod[]): Promise<void> {
  return each(
    some.filter(({ node }) => node === null),
    (pod) => pods.discard(pod),
  );
}

/** The API server binds no such pod, and would say so of each by itself, when others of the run have begun. */
function gatedText({ rank, gates }: OurPod, namespace: string): string {
  const which = `scheduling gate${gates.length === 1 ? '' : 's'} ${gates.join(', ')}`.slice(0, 300);
  return `Kubernetes lets task ${rank} be bound to no node: something there (a webhook) put the ${which} on its pod; keep that off the pods in namespace ${namespace}`;
}

async function made(pods: Pods, { task }: PlacedTask, pod: object, { run }: StartCommand): Promise<OurPod> {
  for (;;) {
    const found = (await pods.create(pod)) ?? (await pods.get(run, task.rank));
    // Null: it was there and went between the two calls.
    if (found) return found;
  }
}

function isSpent(pod: OurPod): boolean {
  return pod.tombstone || pod.deleting || pod.stop !== null || exitOf(pod) !== null;
}

async function makeService(client: KubeClient, head: OurPod, namespace: string): Promise<void> {
  try {
    await client.call('POST', `/api/v1/namespaces/${namespace}/services`, serviceOf(head, namespace));
  } catch (error) {
    if (!has(error, 409)) throw error;
  }
}

export async function each<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
}
