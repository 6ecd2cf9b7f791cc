// When nodes will have room for tasks of one kind, by the expected ends of what is on them: one row for every moment at
// which a node has room for more. Kept from the fleet's list of changes, so that the start of a gang is found without looking
// at all that runs. Rows are in the order of time, then of nodes; what is free now has time 0.
import { grown } from './columns.ts';
import type { Fleet } from './fleet.ts';
import type { Holding } from './holding.ts';
import type { ClassFit } from './match.ts';
import { amountRoom, isClosed } from './node-room.ts';
import type { Option, Shape } from './shape.ts';
import { SortedInts } from './sorted-ints.ts';
import type { State } from './state.ts';

/** Enough room for all tasks, and how many of them go to which node. */
export interface Ready {
  readonly atMs: number;
  readonly nodes: ReadonlyMap<number, number>;
}

export class ReadyTimes {
  readonly #shape: Shape;
  readonly #option: Option;
  readonly #tasks: number;
  #order = new SortedInts(() => 0);
  #atMs = new Float64Array(0);
  #slot = new Int32Array(0);
  #more = new Int32Array(0);
  #rows = 0;
  #vacant: number[] = [];
  #ofNode: (number[] | undefined)[] = [];
  #fitOf: (ClassFit | undefined)[] = [];
  #existence = -1;
  #matchedAt = -1;
  #cursor = -1;

  constructor(shape: Shape, option: Option) {
    this.#shape = shape;
    this.#option = option;
    this.#tasks = shape.groups[0]!.demand.tasks;
  }

  /** `placed` is in the fleet and no run yet. Null when there is not enough room even when all has ended. */
  find(state: State, placed: readonly Holding[]): Ready | null {
    this.#sync(state, bySlot(placed));
    const nodes = new Map<number, number>();
    let left = this.#tasks;
    for (let p = this.#order.first(); p >= 0; p = this.#order.next(p)) {
      const row = this.#order.at(p);
      const tasks = Math.min(left, this.#more[row]!);
      nodes.set(this.#slot[row]!, (nodes.get(this.#slot[row]!) ?? 0) + tasks);
      left -= tasks;
      if (left === 0) return { atMs: this.#atMs[row]!, nodes };
    }
    return null;
  }

  #sync(state: State, placed: ReadonlyMap<number, readonly Holding[]>): void {
    const fleet = state.fleets.live;
    const { changes } = fleet;
    const missed = this.#cursor < 0 ? -1 : changes.since(this.#cursor);
    const sameNodes = this.#existence === fleet.existence && this.#matchedAt === this.#shape.matchedAt;
    if (missed < 0 || !sameNodes) this.#rebuild(state, placed);
    else {
      const slots = new Set<number>();
      for (let i = changes.count - missed; i < changes.count; i++) slots.add(changes.at(i));
      for (const slot of slots) this.#refresh(state, slot, placed.get(slot));
    }
    this.#cursor = changes.count;
  }

  #rebuild(state: State, placed: ReadonlyMap<number, readonly Holding[]>): void {
    const fleet = state.fleets.live;
    const { numbers } = fleet.order;
    this.#existence = fleet.existence;
    this.#matchedAt = this.#shape.matchedAt;
    this.#order = new SortedInts(
      (a, b) =>
        this.#atMs[a]! - this.#atMs[b]! || numbers[this.#slot[a]!]! - numbers[this.#slot[b]!]! || a - b,
    );
    this.#rows = 0;
    this.#vacant = [];
    this.#ofNode = [];
    this.#fitOf = [];
    for (const fit of this.#option.fits) {
      this.#fitOf[fit.classId] = fit;
      const { index } = fleet.byClass[fit.classId]!;
      for (let p = index.first(); p >= 0; p = index.next(p)) {
        const slot = index.at(p);
        this.#refresh(state, slot, placed.get(slot));
      }
    }
  }

  #refresh(state: State, slot: number, placed: readonly Holding[] = []): void {
    const fleet = state.fleets.live;
    for (const row of this.#ofNode[slot] ?? []) {
      this.#order.remove(row);
      this.#vacant.push(row);
    }
    this.#ofNode[slot] = undefined;
    const fit = fleet.facts[slot] && this.#fitOf[fleet.classOf[slot]!];
    if (!fit || !fleet.takesWork(slot)) return;
    const rows: number[] = [];
    let room = this.#room(fleet, slot, fit);
    if (room > 0) rows.push(this.#add(0, slot, room));
    const parts = partsOn(state, slot, placed);
    let gone = 0;
    while (gone < parts.length && room < this.#tasks) {
      const { endMs } = parts[gone]!;
      for (; gone < parts.length && parts[gone]!.endMs === endMs; gone++)
        change(fleet, slot, parts[gone]!, -1);
      const more = this.#room(fleet, slot, fit) - room;
      if (more > 0) rows.push(this.#add(endMs, slot, more));
      room += Math.max(0, more);
    }
    while (gone > 0) change(fleet, slot, parts[--gone]!, 1);
    if (rows.length > 0) this.#ofNode[slot] = rows;
  }

  #room(fleet: Fleet, slot: number, fit: ClassFit): number {
    return isClosed(fleet, this.#shape, slot, false)
      ? 0
      : Math.min(this.#tasks, amountRoom(fleet, slot, fit));
  }

  #add(atMs: number, slot: number, more: number): number {
    const row = this.#vacant.pop() ?? this.#rows++;
    this.#atMs = grown(this.#atMs, row + 1);
    this.#slot = grown(this.#slot, row + 1);
    this.#more = grown(this.#more, row + 1);
    this.#atMs[row] = atMs;
    this.#slot[row] = slot;
    this.#more[row] = more;
    this.#order.insert(row);
    return row;
  }
}

/** What one run or placed job has on one node. */
interface Part {
  readonly endMs: number;
  readonly exclusive: boolean;
  readonly tasks: readonly {
    readonly cpuMilli: number;
    readonly memoryMib: number;
    readonly devices: readonly number[];
    readonly deviceMilli: number;
  }[];
}

function partsOn({ ends, fleets, claims }: State, slot: number, placed: readonly Holding[]): Part[] {
  const { node } = fleets.live.facts[slot]!;
  const parts: Part[] = [];
  for (const run of ends.on(slot)) {
    const { run: id, exclusive, tasks } = ends.runs[run]!;
    // What a victim holds is claimed.
    if (claims.isVictim(id)) continue;
    const own = tasks.length === 1 ? tasks : tasks.filter((task) => task.node === node);
    parts.push({ endMs: ends.endMs[run]!, exclusive, tasks: own });
  }
  for (const { endMs, exclusive, tasks } of placed)
    parts.push({ endMs, exclusive, tasks: tasks.filter((task) => task.slot === slot) });
  return parts.sort((a, b) => a.endMs - b.endMs);
}

/** The index is not told, and nothing asks it before all is put back. */
function change(fleet: Fleet, slot: number, { exclusive, tasks }: Part, sign: 1 | -1): void {
  for (const task of tasks)
    fleet.changeTask(sign, slot, task, task.devices, 0, task.devices.length, task.deviceMilli);
  fleet.runs[slot]! += sign;
  if (exclusive) fleet.exclusive[slot] = sign === 1 ? 1 : 0;
}

function bySlot(placed: readonly Holding[]): Map<number, Holding[]> {
  const found = new Map<number, Holding[]>();
  for (const holding of placed) {
    for (const slot of new Set(holding.tasks.map((task) => task.slot))) {
      const known = found.get(slot);
      if (known) known.push(holding);
      else found.set(slot, [holding]);
    }
  }
  return found;
}
