// What placements took, in the order they took it, so that it can be given back from the end. Columns, because a cycle that
// places a hundred thousand jobs would otherwise spend its time on the memory of small objects. One row a pick: some tasks
// of one group on one node.
import { grown } from './columns.ts';
import type { ClassFit } from './match.ts';

export class Ledger {
  size = 0;
  group = new Int32Array(16);
  slot = new Int32Array(16);
  tasks = new Int32Array(16);
  /** Whether this is the gang's first pick on its node. */
  first = new Uint8Array(16);
  readonly fits: ClassFit[] = [];
  /** Where the devices of the pick begin; each task has `fit.count` of them. */
  devicesAt = new Int32Array(16);
  devices = new Int32Array(16);
  #devices = 0;

  /** A new row, with room for the devices of its tasks. */
  add(group: number, slot: number, fit: ClassFit, tasks: number, first: boolean): number {
    const pick = this.size++;
    if (pick >= this.group.length) this.#grow(pick + 1);
    this.group[pick] = group;
    this.slot[pick] = slot;
    this.tasks[pick] = tasks;
    this.first[pick] = first ? 1 : 0;
    this.fits[pick] = fit;
    this.devicesAt[pick] = this.#devices;
    this.#devices += tasks * fit.count;
    this.devices = grown(this.devices, this.#devices);
    return pick;
  }

  removeLast(): void {
    this.size--;
    this.#devices = this.devicesAt[this.size]!;
  }

  #grow(size: number): void {
    this.group = grown(this.group, size);
    this.slot = grown(this.slot, size);
    this.tasks = grown(this.tasks, size);
    this.first = grown(this.first, size);
    this.devicesAt = grown(this.devicesAt, size);
  }
}
