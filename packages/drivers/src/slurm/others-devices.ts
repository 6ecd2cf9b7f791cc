// Which devices of a node count as those of others. A plan names devices by their place in the node's list, Slurm chooses the real ones and
// tells of its other jobs how many of each type they hold. So as many places of that type are others', none of which a run of ours was
// planned on; and they stay the same ones as long as they can, because a node that changes is told anew.
import type { Taken } from './sight.ts';
import { typesOf } from './submission.ts';

export class OthersDevices {
  readonly #before = new Map<string, ReadonlySet<number>>();

  /** `planned`: the places that runs of ours were planned on. */
  of(
    node: { readonly name: string; readonly gres: string },
    taken: Taken | undefined,
    planned: ReadonlySet<number>,
  ): ReadonlySet<number> {
    const before = this.#before.get(node.name) ?? new Set();
    const now = new Set<number>();
    const places = typesOf(node.gres).map((type, index) => ({ type, index }));
    for (const [type, count] of taken?.devices ?? []) {
      const free = places.filter((place) => place.type === type && !planned.has(place.index)).reverse();
      const kept = free.filter(({ index }) => before.has(index));
      const others = [...kept, ...free.filter(({ index }) => !before.has(index))];
      for (const { index } of others.slice(0, count)) now.add(index);
    }
    if (now.size > 0) this.#before.set(node.name, now);
    else this.#before.delete(node.name);
    return now;
  }
}
