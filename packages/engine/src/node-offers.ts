// For one group of a job: how many tasks of it every node holds now, and which node makes room for more at the least
// damage. A node's offer is the shortest beginning of its victims, in their order, that makes room for at least one more
// task. Offers are kept in a heap; when something changes on a node its offer is made anew and the old one is void.
//
// The best offer has the least damage for a task that is still missing (rounded down), then the fewest victims, the most
// tasks, the lowest node. Tasks beyond what is missing count for nothing, so an offer can only get worse as fewer are
// missing, and is priced again when its turn comes.
import { wholeDevice } from '@muster/model';
import type { Fleet } from './fleet.ts';
import type { ClassFit } from './match.ts';
import { amountRoom, isClosed } from './node-room.ts';
import type { Rights } from './rights.ts';
import type { Shape } from './shape.ts';
import type { State } from './state.ts';
import { changeOnNode } from './take-out.ts';
import type { Victims } from './victims.ts';

export interface Offer {
  readonly slot: number;
  readonly victims: readonly number[];
  readonly damage: number;
  /** Tasks it makes room for. */
  readonly gain: number;
  /** Of them, those that were missing when it was priced; and the damage for each. */
  counted: number;
  price: number;
  readonly version: number;
}

export class NodeOffers {
  readonly #state: State;
  readonly #fleet: Fleet;
  readonly #shape: Shape;
  readonly #victims: Victims;
  readonly #rights: Rights;
  readonly #job: number;
  readonly #fits = new Map<number, ClassFit>();
  readonly #tasks: number;
  readonly #room: Int32Array;
  readonly #version: Int32Array;
  readonly #heap: Offer[] = [];
  /** Nodes whose offer has to be made anew before the next is taken. */
  readonly #stale = new Set<number>();
  /** Tasks that all nodes together hold now. */
  sum = 0;

  constructor(state: State, job: number, shape: Shape, group: number, option: number, victims: Victims) {
    this.#state = state;
    this.#fleet = state.fleets.live;
    this.#shape = shape;
    this.#victims = victims;
    this.#rights = victims.rights;
    this.#job = job;
    this.#tasks = shape.groups[group]!.demand.tasks;
    const size = this.#fleet.facts.length;
    this.#room = new Int32Array(size);
    this.#version = new Int32Array(size);
    for (const fit of shape.groups[group]!.options[option]!.fits) this.#fits.set(fit.classId, fit);
    this.#lookAtAll();
  }

  get missing(): number {
    return Math.max(1, this.#tasks - this.sum);
  }

  get fits(): boolean {
    return this.sum >= this.#tasks;
  }

  /** Makes every offer anew. */
  #lookAtAll(): void {
    for (const fit of this.#fits.values()) {
      const { index } = this.#fleet.byClass[fit.classId]!;
      for (let p = index.first(); p >= 0; p = index.next(p)) this.#measure(index.at(p), fit);
    }
    // What is missing must be known before anything is priced.
    for (const fit of this.#fits.values()) {
      const { index } = this.#fleet.byClass[fit.classId]!;
      for (let p = index.first(); p >= 0; p = index.next(p)) this.#offer(index.at(p), fit);
    }
  }

  /** Rights have changed: everything is looked at again. */
  renew(): void {
    this.#heap.length = 0;
    this.#stale.clear();
    this.#lookAtAll();
  }

  /** More may be missing than when the offers were priced. */
  priceAnew(): void {
    if (this.#tasks === 1) return;
    const offers = this.#heap.splice(0);
    for (const offer of offers) {
      if (offer.version !== this.#version[offer.slot]) continue;
      offer.counted = Math.min(offer.gain, this.missing);
      offer.price = Math.floor(offer.damage / offer.counted);
      this.#push(offer);
    }
  }

  /** Something changed on this node. */
  touch(slot: number): void {
    const fit = this.#fits.get(this.#fleet.classOf[slot]!);
    const { state, drain } = this.#fleet.facts[slot]!;
    if (!fit || state !== 'ready' || drain !== null) return;
    this.#measure(slot, fit);
    this.#stale.add(slot);
  }

  /** The best offer there is, now used up; null when no node can make room for more. */
  take(): Offer | null {
    for (const slot of this.#stale) this.#offer(slot, this.#fits.get(this.#fleet.classOf[slot]!)!);
    this.#stale.clear();
    for (;;) {
      const offer = this.#heap[0];
      if (!offer) return null;
      const counted = Math.min(offer.gain, this.missing);
      if (offer.version === this.#version[offer.slot] && offer.counted !== counted) {
        offer.counted = counted;
        offer.price = Math.floor(offer.damage / counted);
        this.#down();
        continue;
      }
      this.#pop();
      if (offer.version === this.#version[offer.slot]) return offer;
    }
  }

  /** Its room now; offers made before are void. */
  #measure(slot: number, fit: ClassFit): void {
    const room = this.#roomOf(slot, fit);
    this.sum += room - this.#room[slot]!;
    this.#room[slot] = room;
    this.#version[slot]!++;
  }

  #offer(slot: number, fit: ClassFit): void {
    const offer = this.#offerOf(slot, fit, this.#room[slot]!);
    if (offer) this.#push(offer);
  }

  #roomOf(slot: number, fit: ClassFit): number {
    if (isClosed(this.#fleet, this.#shape, slot, false)) return 0;
    const room = Math.min(this.#tasks, amountRoom(this.#fleet, slot, fit));
    const { resources } = this.#fleet;
    return resources.list.length === 0 ? room : Math.min(room, resources.roomAt(slot, fit.needs));
  }

  #offerOf(slot: number, fit: ClassFit, room: number): Offer | null {
    if (room >= this.#tasks) return null;
    const order = this.#victimsOn(slot);
    if (order.length === 0) return null;
    const fleet = this.#fleet;
    const devices = fit.milli === wholeDevice ? (room + 1) * fit.count : 0;
    const victims: number[] = [];
    let damage = 0;
    let gain = 0;
    let changed = false;
    for (let i = 0; i < order.length && gain <= 0; i++) {
      const run = order[i]!;
      if (changed && this.#rights.mayTake(this.#job, run) === null) continue;
      changeOnNode(this.#state, run, slot, -1);
      changed = this.#rights.taken(this.#job, run) || changed;
      victims.push(run);
      damage += this.#victims.damage(run);
      // Most victims of a large task only add up to enough devices.
      if (fleet.freeDevices[slot]! >= devices) gain = this.#roomOf(slot, fit) - room;
    }
    for (let i = victims.length - 1; i >= 0; i--) {
      changeOnNode(this.#state, victims[i]!, slot, 1);
      this.#rights.putBack(victims[i]!);
    }
    if (gain <= 0) return null;
    const counted = Math.min(gain, this.missing);
    const price = Math.floor(damage / counted);
    return { slot, victims, damage, gain, counted, price, version: this.#version[slot]! };
  }

  #victimsOn(slot: number): number[] {
    const { table } = this.#state;
    const order: number[] = [];
    for (let link = table.first(slot); link >= 0; link = table.linkNext[link]!) {
      const run = table.linkRun[link]!;
      if (table.gone[run] === 0 && this.#victims.right(this.#job, run) !== null) order.push(run);
    }
    return order.length > 1 ? order.sort(this.#victims.compare) : order;
  }

  #before(a: Offer, b: Offer): boolean {
    const order = this.#fleet.order.numbers;
    const less =
      a.price - b.price ||
      a.victims.length - b.victims.length ||
      b.counted - a.counted ||
      order[a.slot]! - order[b.slot]!;
    return less < 0;
  }

  #push(offer: Offer): void {
    const heap = this.#heap;
    let at = heap.push(offer) - 1;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!this.#before(offer, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = offer;
  }

  #pop(): void {
    const last = this.#heap.pop()!;
    if (this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#down();
  }

  /** The first one may have to go further down. */
  #down(): void {
    const heap = this.#heap;
    const offer = heap[0]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#before(heap[child + 1]!, heap[child]!)) child++;
      if (!this.#before(heap[child]!, offer)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = offer;
  }
}
