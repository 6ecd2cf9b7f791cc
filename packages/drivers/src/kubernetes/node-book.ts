// The nodes of the cluster by name, with what pods of others hold of each, summed up as it changes.
import type { KubeNode, OtherPod } from './objects.ts';
import { type Taken, takenBy } from './taken.ts';

export interface SeenNode {
  readonly node: KubeNode;
  /** What pods that are not ours hold of it; the same object while that is the same. */
  readonly taken: Taken | undefined;
}

export class NodeBook {
  readonly #nodes = new Map<string, KubeNode>();
  readonly #others = new Map<string, Set<OtherPod>>();
  readonly #taken = new Map<string, Taken>();
  readonly #seen = new Map<string, SeenNode>();
  readonly #changed = new Set<string>();

  changeNode(before: KubeNode | null, after: KubeNode | null): void {
    // One that was made again under its name is there before the old one is told as gone.
    if (before !== null && this.#nodes.get(before.name)?.uid === before.uid) this.#nodes.delete(before.name);
    if (after !== null) this.#nodes.set(after.name, after);
    for (const one of [before, after]) if (one) this.#changed.add(one.name);
  }

  changeOther(before: OtherPod | null, after: OtherPod | null): void {
    if (before !== null) {
      const held = this.#others.get(before.node);
      held?.delete(before);
      if (held?.size === 0) this.#others.delete(before.node);
      this.#changed.add(before.node);
    }
    if (after === null) return;
    this.#others.set(after.node, (this.#others.get(after.node) ?? new Set()).add(after));
    this.#changed.add(after.node);
  }

  get(name: string): KubeNode | undefined {
    return this.#nodes.get(name);
  }

  /** The entry of a node is the same object while nothing in it changed. */
  all(): ReadonlyMap<string, SeenNode> {
    for (const name of this.#changed) this.#see(name);
    this.#changed.clear();
    return this.#seen;
  }

  #see(name: string): void {
    const node = this.#nodes.get(name);
    const taken = this.#sum(name);
    if (!node) this.#seen.delete(name);
    else {
      const before = this.#seen.get(name);
      if (before?.node !== node || before.taken !== taken) this.#seen.set(name, { node, taken });
    }
  }

  #sum(name: string): Taken | undefined {
    const before = this.#taken.get(name);
    const now = takenBy(this.#others.get(name) ?? []).get(name);
    if (JSON.stringify(now) === JSON.stringify(before)) return before;
    if (now) this.#taken.set(name, now);
    else this.#taken.delete(name);
    return now;
  }
}
