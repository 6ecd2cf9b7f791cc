// What placing reads of a node's facts at every turn, by slot. The facts themselves are objects in objects, each of them
// somewhere else in memory: a walk that fills ten thousand nodes would wait for every one of them.
import type { NodeFacts, NodeId } from '@muster/model';
import { grown } from './columns.ts';

/** The node with its generation, as plans carry it; one list for all units on this node alone. */
export type Stamps = readonly (readonly [NodeId, number])[];

export class PlacingFacts {
  ids: NodeId[] = [];
  /** 1 for nodes that are ready and not draining. */
  takesWork = new Uint8Array(0);
  portFirst = new Int32Array(0);
  portCount = new Int32Array(0);
  #generation = new Float64Array(0);
  /** Made when first asked for. */
  #stamps: (Stamps | undefined)[] = [];

  copy(): PlacingFacts {
    const other = new PlacingFacts();
    other.ids = this.ids.slice();
    other.takesWork = this.takesWork.slice();
    other.portFirst = this.portFirst.slice();
    other.portCount = this.portCount.slice();
    other.#generation = this.#generation.slice();
    return other;
  }

  set(slot: number, { node, generation, state, drain, inventory }: NodeFacts): void {
    this.takesWork = grown(this.takesWork, slot + 1);
    this.portFirst = grown(this.portFirst, slot + 1);
    this.portCount = grown(this.portCount, slot + 1);
    this.#generation = grown(this.#generation, slot + 1);
    this.ids[slot] = node;
    this.takesWork[slot] = state === 'ready' && drain === null ? 1 : 0;
    this.portFirst[slot] = inventory.ports.first;
    this.portCount[slot] = inventory.ports.count;
    this.#generation[slot] = generation;
    this.#stamps[slot] = undefined;
  }

  stampsOf(slot: number): Stamps {
    const known = this.#stamps[slot];
    if (known !== undefined) return known;
    const stamps: Stamps = [[this.ids[slot]!, this.#generation[slot]!]];
    this.#stamps[slot] = stamps;
    return stamps;
  }
}
