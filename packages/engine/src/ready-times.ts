// When nodes will have room for tasks of one kind, by the expected ends of what is on them: one row for every moment at
// which a node has room for more. Kept from the fleet's list of changes, so that the start of a gang is found without looking
// at all that runs. Rows are in the order of time, then of nodes; what is free now has time 0.
//
// Two things are remembered. A node whose runs, claims and facts are the same as before (`fleet.moves`) and that nothing is
// placed on by a walk has the same rows, whatever was tried on it meanwhile. And what was found is found again as long as no
// row up to the last one that counted came or went, and no node of it moved: later rows are not looked at.
import { grown } from './columns.ts';
import type { Fleet } from './fleet.ts';
import type { ClassFit } from './match.ts';
import { amountRoom, isClosed } from './node-room.ts';
import type { PlacedOn } from './placed-on.ts';
import type { Option, Shape } from './shape.ts';
import { SortedInts } from './sorted-ints.ts';
import type { State } from './state.ts';

/** Enough room for all tasks: nodes by when they have it, and how many of the tasks go to each. */
export interface Ready {
  readonly atMs: number;
  readonly slots: readonly number[];
  readonly tasks: readonly number[];
}

export class ReadyTimes {
  readonly #shape: Shape;
  readonly #option: Option;
  readonly #tasks: number;
  readonly #parts = new Parts();
  #order = new SortedInts(() => 0);
  #atMs = new Float64Array(0);
  #slot = new Int32Array(0);
  #more = new Int32Array(0);
  /** The next row of the same node, or of those nobody uses; -1 for none. */
  #next = new Int32Array(0);
  #rows = 0;
  #vacant = -1;
  /** By node: its first row, its moves when that was made, and whether a walk had placed something there. */
  #first = new Int32Array(0);
  #moves = new Int32Array(0);
  #tried = new Uint8Array(0);
  #fitOf: (ClassFit | undefined)[] = [];
  #existence = -1;
  #matchedAt = -1;
  #tree = -1;
  #cursor = -1;
  #found: Ready | null = null;
  /** The last row that counted for what was found: its time and the number of its node. */
  #lastMs = Number.POSITIVE_INFINITY;
  #lastNumber = 0;
  #inFound = new Uint8Array(0);
  #stale = true;

  constructor(shape: Shape, option: Option) {
    this.#shape = shape;
    this.#option = option;
    this.#tasks = shape.groups[0]!.demand.tasks;
  }

  /**
   * Null when there is not enough room even when all has ended. The same object as before when nothing it rests on is
   * another. `level` is that of the domain that all tasks must be in; -1 for the whole fleet.
   */
  find(state: State, placed: PlacedOn, level: number): Ready | null {
    this.#sync(state, placed);
    if (!this.#stale) return this.#found;
    if (this.#found) for (const slot of this.#found.slots) this.#inFound[slot] = 0;
    this.#found = level < 0 ? this.#anywhere(state) : this.#inDomain(state, level);
    if (this.#found) for (const slot of this.#found.slots) this.#inFound[slot] = 1;
    this.#stale = false;
    return this.#found;
  }

  #anywhere({ fleets }: State): Ready | null {
    const slots: number[] = [];
    const tasks: number[] = [];
    const at = new Map<number, number>();
    let left = this.#tasks;
    for (let p = this.#order.first(); p >= 0; p = this.#order.next(p)) {
      const row = this.#order.at(p);
      left -= collect(slots, tasks, at, this.#slot[row]!, Math.min(left, this.#more[row]!));
      if (left === 0) return this.#end(fleets.live, row, slots, tasks);
    }
    return this.#nothing();
  }

  /** The domain of the level that has room for all first. */
  #inDomain({ fleets }: State, level: number): Ready | null {
    const { tree } = fleets.live;
    const room = new Map<number, number>();
    for (let p = this.#order.first(); p >= 0; p = this.#order.next(p)) {
      const row = this.#order.at(p);
      const domain = tree.at(this.#slot[row]!, level);
      const sum = (room.get(domain) ?? 0) + this.#more[row]!;
      if (sum >= this.#tasks) return this.#collectIn(fleets.live, level, domain, row);
      room.set(domain, sum);
    }
    return this.#nothing();
  }

  #collectIn(fleet: Fleet, level: number, domain: number, last: number): Ready {
    const slots: number[] = [];
    const tasks: number[] = [];
    const at = new Map<number, number>();
    let left = this.#tasks;
    for (let p = this.#order.first(); left > 0; p = this.#order.next(p)) {
      const row = this.#order.at(p);
      if (fleet.tree.at(this.#slot[row]!, level) !== domain) continue;
      left -= collect(slots, tasks, at, this.#slot[row]!, Math.min(left, this.#more[row]!));
    }
    return this.#end(fleet, last, slots, tasks);
  }

  #end(fleet: Fleet, row: number, slots: readonly number[], tasks: readonly number[]): Ready {
    this.#lastMs = this.#atMs[row]!;
    this.#lastNumber = fleet.order.numbers[this.#slot[row]!]!;
    return { atMs: this.#lastMs, slots, tasks };
  }

  #nothing(): null {
    this.#lastMs = Number.POSITIVE_INFINITY;
    this.#lastNumber = 0;
    return null;
  }

  #sync(state: State, placed: PlacedOn): void {
    const fleet = state.fleets.live;
    const { changes } = fleet;
    const missed = this.#cursor < 0 ? -1 : changes.since(this.#cursor);
    const same =
      this.#existence === fleet.existence &&
      this.#matchedAt === this.#shape.matchedAt &&
      this.#tree === fleet.tree.generation;
    if (!same) this.#begin(state);
    if (!same || missed < 0)
      for (let slot = 0; slot < fleet.facts.length; slot++) this.#follow(state, slot, placed);
    else
      for (let i = changes.count - missed; i < changes.count; i++) this.#follow(state, changes.at(i), placed);
    this.#cursor = changes.count;
  }

  #begin({ fleets }: State): void {
    const fleet = fleets.live;
    const size = fleet.facts.length;
    this.#existence = fleet.existence;
    this.#matchedAt = this.#shape.matchedAt;
    this.#tree = fleet.tree.generation;
    const { numbers } = fleet.order;
    this.#order = new SortedInts(
      (a, b) =>
        this.#atMs[a]! - this.#atMs[b]! || numbers[this.#slot[a]!]! - numbers[this.#slot[b]!]! || a - b,
    );
    this.#rows = 0;
    this.#vacant = -1;
    this.#first = new Int32Array(size).fill(-1);
    this.#moves = new Int32Array(size).fill(-1);
    this.#tried = new Uint8Array(size);
    this.#inFound = new Uint8Array(size);
    this.#found = null;
    this.#stale = true;
    this.#fitOf = [];
    for (const fit of this.#option.fits) this.#fitOf[fit.classId] = fit;
  }

  /** The node may be another than when its rows were made. */
  #follow(state: State, slot: number, placed: PlacedOn): void {
    const fleet = state.fleets.live;
    if (fleet.facts[slot] === undefined || !this.#fitOf[fleet.classOf[slot]!]) return;
    const tried = placed.first(slot) >= 0 ? 1 : 0;
    if (tried === 0 && this.#tried[slot] === 0 && this.#moves[slot] === fleet.moves[slot]) return;
    this.#tried[slot] = tried;
    this.#moves[slot] = fleet.moves[slot]!;
    if (this.#inFound[slot] === 1) this.#stale = true;
    this.#remove(fleet, slot);
    this.#make(state, slot, placed);
  }

  #remove(fleet: Fleet, slot: number): void {
    for (let row = this.#first[slot]!; row >= 0; ) {
      const next = this.#next[row]!;
      this.#notice(fleet, row);
      this.#order.remove(row);
      this.#next[row] = this.#vacant;
      this.#vacant = row;
      row = next;
    }
    this.#first[slot] = -1;
  }

  #make(state: State, slot: number, placed: PlacedOn): void {
    const fleet = state.fleets.live;
    const fit = this.#fitOf[fleet.classOf[slot]!]!;
    if (!fleet.takesWork(slot)) return;
    let room = this.#room(fleet, slot, fit);
    if (room > 0) this.#add(fleet, 0, slot, room);
    if (room >= this.#tasks) return;
    const parts = this.#parts;
    const count = parts.collect(state, slot, placed);
    let gone = 0;
    while (gone < count && room < this.#tasks) {
      const endMs = parts.endMs[gone]!;
      for (; gone < count && parts.endMs[gone] === endMs; gone++) parts.change(state, slot, gone, -1);
      const more = this.#room(fleet, slot, fit) - room;
      if (more > 0) this.#add(fleet, endMs, slot, more);
      room += Math.max(0, more);
    }
    while (gone > 0) parts.change(state, slot, --gone, 1);
  }

  #room(fleet: Fleet, slot: number, fit: ClassFit): number {
    return isClosed(fleet, this.#shape, slot, false)
      ? 0
      : Math.min(this.#tasks, amountRoom(fleet, slot, fit));
  }

  #add(fleet: Fleet, atMs: number, slot: number, more: number): void {
    let row = this.#vacant;
    if (row >= 0) this.#vacant = this.#next[row]!;
    else {
      row = this.#rows++;
      this.#atMs = grown(this.#atMs, row + 1);
      this.#slot = grown(this.#slot, row + 1);
      this.#more = grown(this.#more, row + 1);
      this.#next = grown(this.#next, row + 1);
    }
    this.#atMs[row] = atMs;
    this.#slot[row] = slot;
    this.#more[row] = more;
    this.#next[row] = this.#first[slot]!;
    this.#first[slot] = row;
    this.#order.insert(row);
    this.#notice(fleet, row);
  }

  /** A row comes or goes. */
  #notice({ order }: Fleet, row: number): void {
    const ms = this.#atMs[row]!;
    if (ms < this.#lastMs || (ms === this.#lastMs && order.numbers[this.#slot[row]!]! <= this.#lastNumber))
      this.#stale = true;
  }
}

function collect(
  slots: number[],
  tasks: number[],
  at: Map<number, number>,
  slot: number,
  more: number,
): number {
  const known = at.get(slot);
  if (known === undefined) {
    at.set(slot, slots.length);
    slots.push(slot);
    tasks.push(more);
  } else tasks[known]! += more;
  return more;
}

/** What is on one node, by when it ends: runs, and what a walk has placed. One list, filled anew for each node. */
class Parts {
  endMs = new Float64Array(16);
  /** A run's number, or a row of the ledger as -1 - row. */
  #what = new Int32Array(16);
  #placed: PlacedOn | null = null;

  collect(state: State, slot: number, placed: PlacedOn): number {
    this.#placed = placed;
    const { ends, table, claims } = state;
    let count = 0;
    for (let link = table.first(slot); link >= 0; link = table.linkNext[link]!) {
      const run = table.linkRun[link]!;
      if (!ends.isAwaited(run)) continue;
      // What a victim holds is claimed.
      if (claims.size > 0 && claims.isVictim(table.live[run]!.run)) continue;
      this.#insert(count++, ends.endMs[run]!, run);
    }
    for (let pick = placed.first(slot); pick >= 0; pick = placed.next(pick))
      this.#insert(count++, placed.endMs[pick]!, -1 - pick);
    return count;
  }

  /** Few are on a node, and mostly in order. */
  #insert(count: number, endMs: number, what: number): void {
    this.endMs = grown(this.endMs, count + 1);
    this.#what = grown(this.#what, count + 1);
    let at = count;
    for (; at > 0 && this.endMs[at - 1]! > endMs; at--) {
      this.endMs[at] = this.endMs[at - 1]!;
      this.#what[at] = this.#what[at - 1]!;
    }
    this.endMs[at] = endMs;
    this.#what[at] = what;
  }

  /** The index is not told, and nothing asks it before all is put back. */
  change({ table, fleets }: State, slot: number, at: number, sign: 1 | -1): void {
    const fleet = fleets.live;
    const what = this.#what[at]!;
    if (what < 0) {
      const { ledger } = fleet;
      const pick = -1 - what;
      const fit = ledger.fits[pick]!;
      for (let t = 0, from = ledger.devicesAt[pick]!; t < ledger.tasks[pick]!; t++, from += fit.count)
        fleet.changeTask(sign, slot, fit, ledger.devices, from, fit.count, fit.milli);
      if (ledger.first[pick] === 1) count(fleet, slot, sign, this.#placed!.alone[pick] === 1);
      return;
    }
    const { tasks, exclusive } = table.live[what]!;
    const { node } = fleet.facts[slot]!;
    const isAlone = table.isOnOne(what);
    for (let t = 0; t < tasks.length; t++) {
      const task = tasks[t]!;
      if (isAlone || task.node === node)
        fleet.changeTask(sign, slot, task, task.devices, 0, task.devices.length, task.deviceMilli);
    }
    count(fleet, slot, sign, exclusive);
  }
}

function count(fleet: Fleet, slot: number, sign: 1 | -1, exclusive: boolean): void {
  fleet.runs[slot]! += sign;
  if (exclusive) fleet.exclusive[slot] = sign === 1 ? 1 : 0;
}
