// How many tasks of one option each domain of the topology holds, summed up the tree and kept up to date from the fleet's
// list of changes, so that a gang finds the tightest domain without looking at nodes. Room is additive: tasks of one kind
// placed anywhere in a domain take exactly their number from it.
import type { Fleet } from './fleet.ts';
import type { ClassFit } from './match.ts';
import { SortedInts } from './sorted-ints.ts';

/** How many tasks a node holds now; 0 where it may not be used. */
export type NodeRoom = (slot: number, fit: ClassFit) => number;

/** Whether the constraints allow the node at all. */
export type Allowed = (slot: number) => boolean;

export class Rooms {
  /** By domain. */
  room: Float64Array;
  readonly fits: readonly ClassFit[];
  readonly #fleet: Fleet;
  readonly #nodeRoom: NodeRoom;
  readonly #fitOf: (ClassFit | undefined)[] = [];
  readonly #allowed: Allowed;
  /** Of each of the policy's resources the least that a task needs on any node that is allowed. */
  #needs: readonly number[] = [];
  /** Rooms of the children together, before the limits of the domain itself. */
  #sum: Float64Array;
  #byLevel: (SortedInts | undefined)[] = [];
  #generation = -1;
  #cursor = -1;

  constructor(fleet: Fleet, fits: readonly ClassFit[], nodeRoom: NodeRoom, allowed: Allowed) {
    this.#fleet = fleet;
    this.fits = fits;
    this.#nodeRoom = nodeRoom;
    for (const fit of fits) this.#fitOf[fit.classId] = fit;
    this.#allowed = allowed;
    this.room = new Float64Array(0);
    this.#sum = new Float64Array(0);
  }

  fitOf(slot: number): ClassFit {
    return this.#fitOf[this.#fleet.classOf[slot]!]!;
  }

  /** What the node's cores, memory and devices hold, whatever is left of countable resources. */
  amountsAt(slot: number): number {
    return this.#sum[this.#fleet.tree.of[slot]!]!;
  }

  /** Brings everything up to the fleet as it is. */
  sync(): this {
    const { changes, tree } = this.#fleet;
    const missed = this.#cursor < 0 ? -1 : changes.since(this.#cursor);
    if (this.#generation !== tree.generation || missed < 0) this.#rebuild();
    else
      for (let i = changes.count - missed; i < changes.count; i++) {
        const slot = changes.at(i);
        if (this.#fleet.facts[slot] !== undefined) this.#refresh(slot);
      }
    this.#cursor = changes.count;
    return this;
  }

  /** Domains of a level, those with least room first, then by path. */
  atLevel(level: number): SortedInts {
    const known = this.#byLevel[level + 1];
    if (known) return known;
    const list = new SortedInts(this.#compare);
    const { tree } = this.#fleet;
    for (const domain of tree.within(0, level)) list.insert(domain);
    this.#byLevel[level + 1] = list;
    return list;
  }

  readonly #compare = (a: number, b: number): number =>
    this.room[a]! - this.room[b]! || this.#fleet.tree.compare(a, b);

  #rebuild(): void {
    const { tree } = this.#fleet;
    this.#generation = tree.generation;
    this.#byLevel = [];
    this.room = new Float64Array(tree.size);
    this.#sum = new Float64Array(tree.size);
    this.#needs = this.#leastNeeds();
    this.#fillUp(0);
  }

  #leastNeeds(): number[] {
    const needs = this.#fleet.resources.list.map(() => Number.POSITIVE_INFINITY);
    if (needs.length === 0) return needs;
    for (const slot of this.#fleet.slots.values()) {
      const fit = this.#fitOf[this.#fleet.classOf[slot]!];
      if (fit === undefined || !this.#allowed(slot)) continue;
      for (let r = 0; r < needs.length; r++) needs[r] = Math.min(needs[r]!, fit.needs[r]!);
    }
    return needs;
  }

  #fillUp(domain: number): number {
    const { tree, resources } = this.#fleet;
    const slot = tree.slot[domain]!;
    let sum = 0;
    if (slot >= 0) sum = this.#roomOf(slot);
    else for (const child of tree.children[domain]!) sum += this.#fillUp(child);
    this.#sum[domain] = sum;
    const room = Math.min(sum, resources.roomIn(domain, this.#needsAt(slot)));
    this.room[domain] = room;
    return room;
  }

  /** What a task needs on the very node; in wider domains, the least it may need there. */
  #needsAt(slot: number): readonly number[] {
    return slot < 0 ? this.#needs : (this.#fitOf[this.#fleet.classOf[slot]!]?.needs ?? this.#needs);
  }

  #roomOf(slot: number): number {
    const fit = this.#fitOf[this.#fleet.classOf[slot]!];
    return fit === undefined || !this.#fleet.takesWork(slot) ? 0 : this.#nodeRoom(slot, fit);
  }

  #refresh(slot: number): void {
    const { tree, resources } = this.#fleet;
    let domain = tree.of[slot]!;
    let sum = this.#roomOf(slot);
    while (domain >= 0) {
      const before = this.room[domain]!;
      this.#sum[domain] = sum;
      const now = Math.min(sum, resources.roomIn(domain, this.#needsAt(tree.slot[domain]!)));
      if (now !== before) this.#set(domain, now);
      domain = tree.parent[domain]!;
      if (domain >= 0) sum = this.#sum[domain]! + now - before;
    }
  }

  #set(domain: number, room: number): void {
    const list = this.#byLevel[this.#fleet.tree.level[domain]! + 1];
    const position = list ? list.find(domain) : -1;
    this.room[domain] = room;
    list?.moved(position);
  }
}
