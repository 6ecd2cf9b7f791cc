// Brings what is kept of our pods on one node up to what the API server has now, without a list of all pods.
import type { RunId } from '@muster/model';
import type { OurPod } from './objects.ts';
import { podName } from './pod.ts';
import { each } from './submission.ts';
import type { Watched } from './watched.ts';

export async function refreshNode(
  own: Pick<Watched<OurPod>, 'refresh' | 'refreshOnly'>,
  node: string,
  kept: (run: RunId) => readonly OurPod[],
): Promise<void> {
  const here = await own.refreshOnly(`spec.nodeName=${node}`);
  const tasks = new Map(here.map((pod) => [pod.run, pod.tasks]));
  // Nothing is told of a run while one of its pods counts as not bound. Of its pods elsewhere the watch may be behind, and may yet tell
  // how they were made.
  for (const [run, count] of tasks) {
    if (kept(run).filter(isSettled).length >= count) continue;
    const answered = new Set<string>();
    const names = Array.from({ length: count }, (_, rank) => podName(run, rank));
    await each(names, async (name) => {
      for (const { uid } of await own.refreshOnly(`metadata.name=${name}`)) answered.add(uid);
    });
    // A list of what there is tells nothing of what is gone.
    const isGone = (pod: OurPod): boolean => !isSettled(pod) && !pod.tombstone && !answered.has(pod.uid);
    if (kept(run).some(isGone)) await own.refresh();
  }
}

const isSettled = ({ tombstone, node, deleting }: OurPod): boolean =>
  !tombstone && (node !== null || deleting);
