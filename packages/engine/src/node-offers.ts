// For one group of a job: how many tasks of it all nodes hold now, and which node makes room for more at the least
// damage. A node's offer is the shortest beginning of its victims, in their order, that makes room for at least one more
// task. Offers are kept in a heap; when something changes on a node its offer is made anew and the old one is void.
//
// Only nodes with a possible victim can offer anything, so that those are looked at and no others: the search costs what there
// is to take, not what exists. What all nodes hold together is kept up to date elsewhere (rooms.ts). With countable resources
// nodes are counted one by one, because what one of them holds depends on its neighbours; a single task need not be counted.
//
// The best offer has the least damage for a task that is still missing (rounded down), then the fewest victims, the most
// tasks, the lowest node. Tasks beyond what is missing count for nothing, so an offer can only get worse as fewer are
// missing, and is priced again when its turn comes.
import { wholeDevice } from '@muster/model';
import type { Fleet } from './fleet.ts';
import type { ClassFit } from './match.ts';
import { amountRoom, isClosed } from './node-room.ts';
import { roomsOf } from './packing.ts';
import type { Project } from './projects.ts';
import type { Rights } from './rights.ts';
import type { Rooms } from './rooms.ts';
import type { Shape } from './shape.ts';
import type { State } from './state.ts';
import { changeOnNode } from './take-out.ts';
import { root } from './tree.ts';
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

interface Looked {
  room: number;
  version: number;
  /** Whether a countable resource of its domains, and not only the node itself, may be what limits it. */
  limited: boolean;
}

export class NodeOffers {
  readonly #state: State;
  readonly #fleet: Fleet;
  readonly #shape: Shape;
  readonly #victims: Victims;
  readonly #rights: Rights;
  readonly #own: boolean;
  readonly #region: number;
  #job = -1;
  readonly #fits = new Map<number, ClassFit>();
  readonly #tasks: number;
  /** Whether a node without a free rendezvous port holds none: the first task of a job needs one, the others do not. */
  readonly #needsPort: boolean;
  /** What nodes hold together; null where they are counted one by one. */
  readonly #rooms: Rooms | null;
  /** Room and version of the nodes that were looked at. */
  readonly #looked = new Map<number, Looked>();
  #candidates: ReadonlySet<number> = new Set();
  readonly #heap: Offer[] = [];
  /** Nodes whose offer has to be made anew before the next is taken. */
  readonly #stale = new Set<number>();
  readonly #staleDomains = new Set<number>();
  #counted = 0;
  /** Nothing is looked at before an offer is asked for. */
  #isMade = false;

  /**
   * Nodes outside the region offer nothing. `own` when only one job looks, so that what was between it and others counts.
   * `first` when room is looked for only for the first task of the job.
   */
  constructor(
    state: State,
    shape: Shape,
    group: number,
    option: number,
    victims: Victims,
    own: boolean,
    region = root,
    first = false,
  ) {
    this.#state = state;
    this.#fleet = state.fleets.live;
    this.#shape = shape;
    this.#victims = victims;
    this.#rights = victims.rights;
    this.#own = own;
    this.#region = region;
    this.#tasks = first ? 1 : shape.groups[group]!.demand.tasks;
    this.#needsPort = group === 0 && this.#tasks === 1;
    for (const fit of shape.groups[group]!.options[option]!.fits) this.#fits.set(fit.classId, fit);
    this.#rooms = this.#fleet.resources.list.length === 0 ? roomsOf(this.#fleet, shape, group, option) : null;
  }

  /** Nodes on which there was a possible victim when it was last looked at all. */
  get candidates(): ReadonlySet<number> {
    return this.#candidates;
  }

  /** Whether one node, and it alone, makes an offer to such a job; for a single task. */
  offersAt(job: number, slot: number): boolean {
    this.#job = job;
    const fit = this.#isOpen(slot) ? this.#fits.get(this.#fleet.classOf[slot]!)! : null;
    return fit !== null && this.#offerOf(slot, fit, this.#roomOf(slot, fit), 0) !== null;
  }

  /** Tasks that all nodes together hold now, with a port or without. */
  get sum(): number {
    return this.#rooms === null ? this.#counted : this.#rooms.sync().room[this.#region]!;
  }

  get missing(): number {
    return this.#tasks === 1 ? 1 : Math.max(1, this.#tasks - this.sum);
  }

  /** Whether there is room for all tasks; a port for the first may still be missing. */
  get hasRoom(): boolean {
    return this.sum >= this.#tasks;
  }

  /** Whether nodes that do not depend on each other hold all tasks of the first group, and one of them has a port for it. */
  get fits(): boolean {
    if (!this.hasRoom) return false;
    for (const fit of this.#fits.values()) {
      const { index } = this.#fleet.byClass[fit.classId]!;
      // Nodes with most room first: nearly always the first one answers.
      for (let p = index.last(); p >= 0; p = index.previous(p))
        if (this.#roomOf(index.at(p), fit, true) > 0) return true;
    }
    return false;
  }

  /** Makes every offer anew. */
  #lookAtAll(): void {
    this.#isMade = true;
    // What is missing must be known before anything is priced.
    if (this.#rooms === null && this.#tasks > 1) this.#countAll();
    this.#candidates = this.#findCandidates();
    for (const slot of this.#candidates) this.#offer(slot, this.#measure(slot));
  }

  #countAll(): void {
    for (const fit of this.#fits.values()) {
      const { index } = this.#fleet.byClass[fit.classId]!;
      for (let p = index.first(); p >= 0; p = index.next(p))
        if (this.#isOpen(index.at(p))) this.#measure(index.at(p));
    }
  }

  /** Nodes that take work, of classes that match, with a run that the job may stop. */
  #findCandidates(): ReadonlySet<number> {
    const { table } = this.#state;
    const found = new Set<number>();
    for (const group of this.#rights.groups(this.#job))
      for (let run = group.first; run >= 0; run = table.nextOfGroup[run]!) {
        if (!this.#isVictim(run)) continue;
        for (let link = table.firstLink[run]!; link >= 0; link = table.linkOfRun[link]!)
          if (this.#isOpen(table.linkNode[link]!)) found.add(table.linkNode[link]!);
      }
    return found;
  }

  #isOpen(slot: number): boolean {
    if (!this.#fits.has(this.#fleet.classOf[slot]!) || !this.#fleet.takesWork(slot)) return false;
    const { tree } = this.#fleet;
    return this.#region === root || tree.isIn(tree.of[slot]!, this.#region);
  }

  /** Rights have changed: everything is looked at again before the next offer is taken. */
  forget(): void {
    this.#isMade = false;
  }

  /** The use of these projects has moved: offers with their runs are made again. */
  renew(projects: ReadonlySet<Project>): void {
    if (!this.#isMade) return;
    for (const slot of this.#candidates) if (this.#hasRunOf(slot, projects)) this.#stale.add(slot);
  }

  #hasRunOf(slot: number, projects: ReadonlySet<Project>): boolean {
    const { table } = this.#state;
    for (let link = table.first(slot); link >= 0; link = table.linkNext[link]!) {
      const own = this.#rights.projectOf(table.linkRun[link]!);
      for (let at: Project | null = own; at !== null; at = at.parent) if (projects.has(at)) return true;
    }
    return false;
  }

  #make(job: number): void {
    this.#job = job;
    this.#heap.length = 0;
    this.#stale.clear();
    this.#staleDomains.clear();
    this.#lookAtAll();
  }

  /** Another job with the same rights looks; more may be missing than when the offers were priced. */
  lookFor(job: number): void {
    if (!this.#isMade) return;
    this.#job = job;
    this.#refresh();
    this.#priceAnew();
  }

  #priceAnew(): void {
    if (this.#tasks === 1) return;
    const offers = this.#heap.splice(0);
    const { missing } = this;
    for (const offer of offers) {
      if (!this.#isValid(offer)) continue;
      offer.counted = Math.min(offer.gain, missing);
      offer.price = Math.floor(offer.damage / offer.counted);
      this.#push(offer);
    }
  }

  /** Something changed on this node. */
  touch(slot: number): void {
    this.#stale.add(slot);
    const { resources, tree } = this.#fleet;
    // What it gives back of a rack's power may make room on other nodes of that rack.
    for (const level of resources.levels) if (level >= 0) this.#staleDomains.add(tree.at(slot, level));
  }

  /** The best offer there is, now used up; null when no node can make room for more. */
  take(job: number): Offer | null {
    if (!this.#isMade) this.#make(job);
    this.#refresh();
    const { missing } = this;
    for (;;) {
      const offer = this.#heap[0];
      if (!offer) return null;
      const counted = Math.min(offer.gain, missing);
      if (this.#isValid(offer) && offer.counted !== counted) {
        offer.counted = counted;
        offer.price = Math.floor(offer.damage / counted);
        this.#down();
        continue;
      }
      this.#pop();
      if (this.#isValid(offer)) return offer;
    }
  }

  #refresh(): void {
    const { tree } = this.#fleet;
    for (const domain of this.#staleDomains)
      for (const node of tree.within(domain, tree.levels.length)) this.#staleNeighbour(tree.slot[node]!);
    this.#staleDomains.clear();
    for (const slot of this.#stale)
      if (!this.#looked.has(slot) || !this.#isOpen(slot)) this.#stale.delete(slot);
    // All of them are counted before any is priced.
    for (const slot of this.#stale) this.#measure(slot);
    for (const slot of this.#stale) this.#offer(slot, this.#looked.get(slot)!);
    this.#stale.clear();
  }

  /** What changed in its domain concerns a node only where there was or is too little for all that the node could hold. */
  #staleNeighbour(slot: number): void {
    const looked = this.#looked.get(slot);
    if (looked && (looked.limited || this.#isLimited(slot))) this.#stale.add(slot);
  }

  #isLimited(slot: number): boolean {
    const fit = this.#fits.get(this.#fleet.classOf[slot]!);
    return fit !== undefined && this.#fleet.resources.roomAt(slot, fit.needs, fit.tasksMax) < fit.tasksMax;
  }

  #isValid({ slot, version }: Offer): boolean {
    return version === this.#looked.get(slot)!.version;
  }

  /** Its room now; offers made before are void. */
  #measure(slot: number): Looked {
    const room = this.#roomOf(slot, this.#fits.get(this.#fleet.classOf[slot]!)!);
    let looked = this.#looked.get(slot);
    if (!looked) {
      looked = { room: 0, version: 0, limited: false };
      this.#looked.set(slot, looked);
    }
    this.#counted += room - looked.room;
    looked.room = room;
    looked.limited = this.#rooms === null && this.#isLimited(slot);
    looked.version++;
    return looked;
  }

  #offer(slot: number, { room, version }: Looked): void {
    const offer = this.#offerOf(slot, this.#fits.get(this.#fleet.classOf[slot]!)!, room, version);
    if (offer) this.#push(offer);
  }

  #roomOf(slot: number, fit: ClassFit, needsPort = this.#needsPort): number {
    if (isClosed(this.#fleet, this.#shape, slot, false)) return 0;
    if (needsPort && !this.#fleet.hasFreePort(slot)) return 0;
    const room = Math.min(this.#tasks, amountRoom(this.#fleet, slot, fit));
    const { resources } = this.#fleet;
    return resources.roomAt(slot, fit.needs, room);
  }

  #offerOf(slot: number, fit: ClassFit, room: number, version: number): Offer | null {
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
      changed = this.#rights.suppose(this.#job, run) || changed;
      victims.push(run);
      damage += this.#victims.damage(run);
      // Most victims of a large task only add up to enough devices.
      if (fleet.freeDevices[slot]! >= devices) gain = this.#roomOf(slot, fit) - room;
    }
    for (let i = victims.length - 1; i >= 0; i--) {
      changeOnNode(this.#state, victims[i]!, slot, 1);
      this.#rights.unsuppose(victims[i]!);
    }
    if (gain <= 0) return null;
    const counted = Math.min(gain, this.missing);
    const price = Math.floor(damage / counted);
    return { slot, victims, damage, gain, counted, price, version };
  }

  #victimsOn(slot: number): number[] {
    const { table } = this.#state;
    const order: number[] = [];
    for (let link = table.first(slot); link >= 0; link = table.linkNext[link]!) {
      const run = table.linkRun[link]!;
      if (this.#isVictim(run)) order.push(run);
    }
    return order.length > 1 ? order.sort(this.#victims.compare) : order;
  }

  #isVictim(run: number): boolean {
    return this.#victims.isVictim(run, this.#job, this.#own);
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
