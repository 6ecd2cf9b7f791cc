// Who holds what where the engine has chosen the places: the stage's books of a machine that it does not search itself.
import type { NodeFacts, TaskPlacement } from '@muster/model';
import type { Holding } from '../../replay/room.ts';

export class EngineHolding implements Holding {
  readonly devices: number;
  readonly #largestGang: number;
  readonly #nodes: ReadonlyMap<string, number>;
  /** In thousandths of a device, because the engine sells parts of one. */
  readonly #freeMilli: Float64Array;
  readonly #sizeMilli: Float64Array;
  readonly #places = new Map<number, readonly TaskPlacement[]>();
  #totalFreeMilli: number;
  #scatteredMilli = 0;
  readonly #counted: boolean;

  constructor(facts: readonly NodeFacts[], counted: boolean) {
    this.#counted = counted;
    this.#nodes = new Map(facts.map(({ node }, i) => [node, i]));
    this.#sizeMilli = Float64Array.from(facts, ({ inventory }) =>
      this.#counted ? inventory.cpuMilli : inventory.devices.length * 1000,
    );
    this.#freeMilli = this.#sizeMilli.slice();
    this.#totalFreeMilli = this.#sizeMilli.reduce((sum, milli) => sum + milli, 0);
    this.devices = this.#totalFreeMilli / 1000;
    this.#largestGang = this.devices;
  }

  get free(): number {
    return this.#totalFreeMilli / 1000;
  }

  get scattered(): number {
    return this.#counted ? 0 : this.#scatteredMilli / 1000;
  }

  everFits(size: number): boolean {
    return size <= this.#largestGang;
  }

  /** Where the job's next run will be. */
  place(job: number, tasks: readonly TaskPlacement[]): void {
    this.#places.set(job, tasks);
  }

  take(job: number): void {
    for (const task of this.#places.get(job)!) this.#add(task, -1);
  }

  give(job: number): void {
    for (const task of this.#places.get(job)!) this.#add(task, 1);
    this.#places.delete(job);
  }

  #add(task: TaskPlacement, sign: number): void {
    const node = this.#nodes.get(task.node)!;
    const milli = this.#counted ? task.cpuMilli : task.devices.length * task.deviceMilli;
    this.#scatteredMilli -= this.#scatteredOn(node);
    this.#freeMilli[node]! += sign * milli;
    this.#totalFreeMilli += sign * milli;
    this.#scatteredMilli += this.#scatteredOn(node);
  }

  #scatteredOn(node: number): number {
    const free = this.#freeMilli[node]!;
    return free === this.#sizeMilli[node] ? 0 : free;
  }
}
