// Numbers that order nodes by id, so that comparing two nodes compares two integers. Ids made later sort later as a rule,
// so a new node seldom moves the numbers of the others; their order among themselves never changes.
import type { NodeId } from '@muster/model';
import { grown } from './columns.ts';

export class NodeOrder {
  /** By slot; gaps are allowed. */
  numbers = new Int32Array(0);
  #sorted: { readonly id: NodeId; readonly slot: number }[] = [];

  copy(): NodeOrder {
    const other = new NodeOrder();
    other.numbers = this.numbers.slice();
    other.#sorted = this.#sorted.slice();
    return other;
  }

  /** All nodes by id. */
  slots(): number[] {
    return this.#sorted.map(({ slot }) => slot);
  }

  /** A number below that of every node. */
  reserve(slot: number): void {
    this.numbers = grown(this.numbers, slot + 1);
    this.numbers[slot] = -1;
  }

  add(slot: number, id: NodeId): void {
    this.numbers = grown(this.numbers, slot + 1);
    const sorted = this.#sorted;
    let at = sorted.length;
    while (at > 0 && sorted[at - 1]!.id > id) at--;
    sorted.splice(at, 0, { id, slot });
    if (at === sorted.length - 1) this.numbers[slot] = at === 0 ? 0 : this.numbers[sorted[at - 1]!.slot]! + 1;
    else for (const [i, row] of sorted.entries()) this.numbers[row.slot] = i;
  }

  remove(slot: number): void {
    this.#sorted = this.#sorted.filter((row) => row.slot !== slot);
  }
}
