// In which order pods arrive, and how many: pods worth 130 % of the fleet's GPUs. The FGD simulator shuffles the list and appends
// copies of randomly chosen pods (named `<pod>-tuned-N`) until enough have arrived, or cuts the list there. Its own orders
// are used where the folder has them, ours are made the same way from a seed.
import { CalledWrongly } from '../called-wrongly.ts';
import { seeded, shuffled } from '../random.ts';
import type { Pod, PodList } from './trace.ts';

export const arrivedPercent = 130;

/** The seeds of the published results. */
export const defaultSeeds: readonly number[] = [42, 43, 44, 45, 46, 47, 48, 49, 50, 51];

export function milliOf(pod: Pod): number {
  return pod.gpus * pod.gpuMilli;
}

/** The pods of a given order; a copy asks what its pod asks. */
export function podsInOrder(list: PodList, order: readonly string[]): readonly Pod[] {
  return order.map((name) => {
    const pod = list.pods.get(name) ?? list.pods.get(name.replace(/-tuned-\d+$/, ''));
    if (!pod)
      throw new CalledWrongly(
        `the arrival order of ${list.name} names ${name}, which is not in its pod list`,
      );
    return pod;
  });
}

/** An order of our own. */
export function shuffledArrivals(list: PodList, seed: number, gpus: number): readonly Pod[] {
  const random = seeded(seed);
  const names = [...list.pods.keys()].sort();
  const waiting = shuffled(names, random);
  const targetMilli = gpus * 10 * arrivedPercent;
  const pods: Pod[] = [];
  if ([...list.pods.values()].every((pod) => milliOf(pod) === 0))
    throw new CalledWrongly(`no pod of ${list.name} asks for a GPU`);
  for (let milli = 0, i = 0; milli < targetMilli; i++) {
    const pod = list.pods.get(waiting[i] ?? names[random.below(names.length)]!)!;
    pods.push(pod);
    milli += milliOf(pod);
  }
  return pods;
}
