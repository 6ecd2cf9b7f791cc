// Brings what is kept of our pods on one node up to what the API server has now, without a list of all pods.
import type { RunId } from '@muster/model';
import type { OurPod } from './objects.ts';
import { podName } from './pod.ts';
import { each } from './submission.ts';
import type { Watched } from './watched.ts';

export async function refreshNode(
  own: Pick<Watched<OurPod>, 'refreshOnly'>,
  node: string,
  kept: (run: RunId) => readonly OurPod[],
): Promise<void> {
  const here = await own.refreshOnly(`spec.nodeName=${node}`);
  const tasks = new Map(here.map((pod) => [pod.run, pod.tasks]));
  // A run is told of only once all its pods are bound, as far as is known: of its pods elsewhere that may be behind.
  const open = [...tasks].filter(([run]) =>
    kept(run).some((pod) => !pod.tombstone && pod.node === null && !pod.deleting),
  );
  for (const [run, count] of open)
    await each(
      Array.from({ length: count }, (_, rank) => podName(run, rank)),
      (name) => own.refreshOnly(`metadata.name=${name}`),
    );
}
