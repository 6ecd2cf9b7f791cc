// The nodes of one domain while a group is placed in it. Choosing is by the rule of nodes in order.ts; nodes are sorted once,
// so that filling a domain costs little more than looking at its nodes.
import type { Fleet } from './fleet.ts';
import { compareTightness, scoreOn } from './node-room.ts';
import type { Rooms } from './rooms.ts';
import type { Shape } from './shape.ts';

export class DomainNodes {
  readonly slots: number[] = [];
  readonly #rooms: number[] = [];
  readonly #scores: number[] = [];
  readonly #fleet: Fleet;
  readonly #of: Rooms;
  /** Whether the policy's resources may limit a node further. */
  readonly #limited: boolean;
  #next = 0;

  constructor(fleet: Fleet, shape: Shape, rooms: Rooms, domain: number) {
    this.#fleet = fleet;
    this.#of = rooms;
    this.#collect(domain);
    this.#limited = rooms.fits.some((fit) => fit.needs.some((need) => need > 0));
    const roomOf = (slot: number): number => rooms.amountsAt(slot);
    const scoreOf = (slot: number): number => scoreOn(fleet, shape, slot, rooms.fitOf(slot));
    this.slots.sort(
      (a, b) =>
        scoreOf(a) - scoreOf(b) ||
        roomOf(b) - roomOf(a) ||
        compareTightness(fleet, a, rooms.fitOf(a), b, rooms.fitOf(b), roomOf(a)),
    );
    for (const slot of this.slots) {
      this.#rooms.push(roomOf(slot));
      this.#scores.push(scoreOf(slot));
    }
  }

  /** How many tasks the node at this place of the list holds. */
  room(at: number): number {
    const room = this.#rooms[at]!;
    if (!this.#limited || room === 0) return room;
    const slot = this.slots[at]!;
    return this.#fleet.resources.roomAt(slot, this.#of.fitOf(slot).needs, room);
  }

  /** Of the cheapest nodes the one that takes most of what is left, the tightest of those; -1 when none takes any. */
  best(left: number, needsPort: boolean): number {
    while (this.#next < this.slots.length && this.#rooms[this.#next] === 0) this.#next++;
    // Sorted by score, room and tightness, the first is the one, while all of its room is wanted.
    if (!this.#limited && !needsPort && this.#next < this.slots.length && this.#rooms[this.#next]! <= left)
      return this.#next;
    let best = -1;
    let bestTasks = 0;
    for (let i = this.#next; i < this.slots.length; i++) {
      if (best >= 0 && this.#scores[i]! > this.#scores[best]!) break;
      const tasks = Math.min(left, this.room(i));
      if (tasks === 0 || tasks < bestTasks) continue;
      const slot = this.slots[i]!;
      if (needsPort && !this.#fleet.hasFreePort(slot)) continue;
      if (tasks === bestTasks && this.#compare(slot, this.slots[best]!, tasks) > 0) continue;
      best = i;
      bestTasks = tasks;
    }
    return best;
  }

  /** Tasks of one kind take exactly their number of a node's room. */
  took(at: number, tasks: number): void {
    this.#rooms[at]! -= tasks;
  }

  #compare(a: number, b: number, tasks: number): number {
    return compareTightness(this.#fleet, a, this.#of.fitOf(a), b, this.#of.fitOf(b), tasks);
  }

  #collect(domain: number): void {
    const { tree } = this.#fleet;
    if (this.#of.room[domain] === 0) return;
    const slot = tree.slot[domain]!;
    if (slot >= 0) this.slots.push(slot);
    else for (const child of tree.children[domain]!) this.#collect(child);
  }
}

/** Whether a node of the domain has room for the first task of a gang, with a free port beside it. */
export function holdsFirst(fleet: Fleet, rooms: Rooms, domain: number): boolean {
  if (rooms.room[domain] === 0) return false;
  const { tree, resources } = fleet;
  const slot = tree.slot[domain]!;
  if (slot < 0) return tree.children[domain]!.some((child) => holdsFirst(fleet, rooms, child));
  return fleet.hasFreePort(slot) && resources.roomAt(slot, rooms.fitOf(slot).needs, 1) > 0;
}
