// Finds a place for a whole gang, or none. The rule for the tasks of one group, until all have a place: of the nodes that
// can take some, the one that takes the most of what remains; of those the one where they open the fewest untouched
// devices; of those the one with the least left over afterwards (untouched devices, thousandths of devices, cores, memory),
// then the lowest node id. So a single task goes to the tightest node, a gang goes to few nodes, a remainder goes where it
// fits best instead of breaking an empty node, and parts of devices share devices.
//
// For one group this finds a place whenever there is one. For several groups it is greedy: groups with more devices a
// task choose first; a group that then finds no place chooses first in the next try, until it has been first in vain.
// Places found stay taken in the fleet until `undo`, which is how plans and questions stay harmless.
import { type NodeId, wholeDevice } from '@muster/model';
import { chooseDevices, choosePart, countFree, countParts } from './devices.ts';
import type { Fleet } from './fleet.ts';
import { type ClassFit, satisfies, tasksIn } from './match.ts';
import { releasePort, takePort } from './ports.ts';
import type { Shape } from './shape.ts';
import type { SortedInts } from './sorted-ints.ts';

/** Rows of the fleet's ledger: in the order they were chosen; of each group, lower ranks first. */
export interface Placement {
  readonly from: number;
  to: number;
  /** Rank 0's node, and the rendezvous port on it; -1 before there is one. */
  portSlot: number;
  port: number;
}

/** How far an attempt came: groups wholly placed, and tasks of the first that was not. */
export interface Progress {
  readonly placed: number;
  /** The group that did not fit; -1 when all did. */
  readonly group: number;
  readonly tasksFit: number;
}

const anyNode: ReadonlySet<number> = new Set();

/** Orders of groups tried for one combination of alternatives. */
const maxOrders = 8;

/** A place for every task, now taken in the fleet; or null, with the fleet as it was. */
export function place(fleet: Fleet, shape: Shape, avoid: readonly NodeId[]): Placement | null {
  if (avoid.length > 0) {
    const slots = new Set<number>();
    for (const node of avoid) if (fleet.slots.has(node)) slots.add(fleet.slotOf(node));
    const away = slots.size > 0 ? placeAround(fleet, shape, slots) : null;
    if (away) return away;
  }
  return placeAround(fleet, shape, anyNode);
}

function placeAround(fleet: Fleet, shape: Shape, avoid: ReadonlySet<number>): Placement | null {
  for (const combination of shape.combinations) {
    const placement = placeCombination(fleet, shape, avoid, combination);
    if (placement) return placement;
  }
  return null;
}

function placeCombination(
  fleet: Fleet,
  shape: Shape,
  avoid: ReadonlySet<number>,
  combination: readonly number[],
): Placement | null {
  let order = groupOrder(shape, combination);
  for (let tried = 0; tried < maxOrders; tried++) {
    const attempt = new Attempt(fleet, shape, avoid);
    const { group } = attempt.run(combination, order);
    if (group < 0) return attempt.placement;
    undo(fleet, attempt.placement);
    if (group === order[0]) return null;
    order = [group, ...order.filter((other) => other !== group)];
  }
  return null;
}

/** The nodes of a placement, group by group, in the order they were chosen; a node may come several times. */
export function slotsOf(fleet: Fleet, { from, to }: Placement): number[] {
  const { group, slot } = fleet.ledger;
  const picks = Array.from({ length: to - from }, (_, i) => from + i);
  return picks.sort((a, b) => group[a]! - group[b]! || a - b).map((pick) => slot[pick]!);
}

/** Gives back everything a placement took; placements are undone in reverse order. */
export function undo(fleet: Fleet, placement: Placement): void {
  const { ledger } = fleet;
  if (placement.port >= 0) releasePort(fleet.ports[placement.portSlot]!, placement.port);
  while (ledger.size > placement.from) {
    const pick = ledger.size - 1;
    const slot = ledger.slot[pick]!;
    const fit = ledger.fits[pick]!;
    const position = fleet.begin(slot);
    for (let t = ledger.tasks[pick]! - 1, at = ledger.devicesAt[pick]! + t * fit.count; t >= 0; t--) {
      fleet.changeTask(-1, slot, fit, ledger.devices, at, fit.count, fit.milli);
      at -= fit.count;
    }
    if (ledger.first[pick] === 1) fleet.leaveRun(slot);
    fleet.end(slot, position);
    ledger.removeLast();
  }
}

const exact: Progress = { placed: -1, group: -1, tasksFit: 0 };

/** One try of one combination of alternatives. What it placed stays placed, whether or not all of it fitted. */
export class Attempt {
  readonly placement: Placement;
  readonly #fleet: Fleet;
  readonly #shape: Shape;
  readonly #avoid: ReadonlySet<number>;
  /** Nodes with tasks of earlier groups of this gang; null while there is only one group. */
  readonly #own: Set<number> | null;
  #foundFit: ClassFit | null = null;
  #foundAt = -1;
  #tasksNext = 0;

  constructor(fleet: Fleet, shape: Shape, avoid: ReadonlySet<number>) {
    this.#fleet = fleet;
    this.#shape = shape;
    this.#avoid = avoid;
    this.#own = shape.groups.length > 1 ? new Set() : null;
    const { size } = fleet.ledger;
    this.placement = { from: size, to: size, portSlot: -1, port: -1 };
  }

  run(combination: readonly number[], order: readonly number[]): Progress {
    for (let i = 0; i < order.length; i++) {
      const group = order[i]!;
      const tasksFit = this.#placeGroup(group, combination[group]!);
      if (tasksFit < this.#shape.groups[group]!.demand.tasks) return { placed: i, group, tasksFit };
    }
    return exact;
  }

  #placeGroup(group: number, option: number): number {
    const { demand, options } = this.#shape.groups[group]!;
    const { fits } = options[option]!;
    let tasksMax = 0;
    for (let i = 0; i < fits.length; i++) tasksMax = Math.max(tasksMax, fits[i]!.tasksMax);
    let left = demand.tasks;
    let tasks = tasksMax;
    while (left > 0 && tasks > 0) {
      tasks = Math.min(tasks, left);
      const needsPort = group === 0 && this.placement.port < 0;
      const slot = this.#tightest(fits, tasks, needsPort);
      if (slot < 0) {
        tasks = this.#tasksNext;
        continue;
      }
      this.#take(group, slot, this.#foundFit!, tasks);
      left -= tasks;
      // Nodes without a free port are out for rank 0 only; they may hold more than the first one did.
      if (needsPort) tasks = tasksMax;
    }
    return demand.tasks - left;
  }

  /**
   * The node with the least left over among those that hold `tasks` more, or -1. In that case `#tasksNext` is the most
   * that any node might hold, so that the caller need not count down one by one.
   */
  #tightest(fits: readonly ClassFit[], tasks: number, needsPort: boolean): number {
    let best = -1;
    let bestFit: ClassFit | null = null;
    this.#tasksNext = 0;
    for (let f = 0; f < fits.length; f++) {
      const fit = fits[f]!;
      const position =
        fit.milli === wholeDevice
          ? this.#tightestOfClass(fit, tasks, needsPort)
          : this.#tightestForParts(fit, tasks, needsPort);
      if (position < 0) continue;
      const slot = this.#fleet.byClass[fit.classId]!.index.at(position);
      if (best >= 0 && !this.#isTighter(slot, fit, best, bestFit!, tasks)) continue;
      best = slot;
      bestFit = fit;
      this.#foundAt = position;
    }
    this.#foundFit = bestFit;
    return best;
  }

  /** For whole devices the index is in the right order already: the first position that holds the tasks is the tightest. */
  #tightestOfClass(fit: ClassFit, tasks: number, needsPort: boolean): number {
    const fleet = this.#fleet;
    const { index } = fleet.byClass[fit.classId]!;
    const devices = tasks * fit.count;
    const single = tasks === 1;
    const from = single
      ? fleet.positionOf(index, devices, devices * wholeDevice, fit.cpuMilli, fit.memoryMib)
      : index.lowerBound(fleet.freeDevices, devices);
    let vain = 0;
    for (let p = from; p >= 0; ) {
      const slot = index.at(p);
      const room = this.#room(slot, fit, tasks, needsPort);
      if (room === tasks) return p;
      if (room > this.#tasksNext) this.#tasksNext = room;
      // Many nodes of equal devices without enough cores or memory are passed over in one step.
      p = single && ++vain >= vainMax ? this.#leap(index, p, fit) : index.next(p);
    }
    const below = from < 0 ? index.last() : index.previous(from);
    if (below >= 0 && fit.count > 0) {
      const room = Math.min(tasks - 1, tasksIn(fleet.freeDevices[index.at(below)]!, fit.count));
      if (room > this.#tasksNext) this.#tasksNext = room;
    }
    return -1;
  }

  /** The next position, or a later one when the nodes between certainly lack cores or memory for one task. */
  #leap(index: SortedInts, position: number, fit: ClassFit): number {
    const { freeDevices, freeMilli, freeCpu, freeMemory } = this.#fleet;
    const slot = index.at(position);
    const cpuMilli = freeCpu[slot]!;
    if (cpuMilli >= fit.cpuMilli && freeMemory[slot]! >= fit.memoryMib) return index.next(position);
    return this.#fleet.positionOf(
      index,
      freeDevices[slot]!,
      freeMilli[slot]!,
      Math.max(cpuMilli, fit.cpuMilli),
      fit.memoryMib,
    );
  }

  /** For parts of devices the index is in no useful order. */
  #tightestForParts(fit: ClassFit, tasks: number, needsPort: boolean): number {
    const { index } = this.#fleet.byClass[fit.classId]!;
    let best = -1;
    for (let p = index.first(); p >= 0; p = index.next(p)) {
      const slot = index.at(p);
      const room = this.#room(slot, fit, tasks, needsPort);
      if (room < tasks) {
        if (room > this.#tasksNext) this.#tasksNext = room;
      } else if (best < 0 || this.#isTighter(slot, fit, index.at(best), fit, tasks)) best = p;
    }
    return best;
  }

  #isTighter(slot: number, fit: ClassFit, other: number, otherFit: ClassFit, tasks: number): boolean {
    const { freeDevices, freeMilli, freeCpu, freeMemory, order } = this.#fleet;
    const opened = opens(this.#fleet, slot, fit, tasks);
    const otherOpened = opens(this.#fleet, other, otherFit, tasks);
    const less =
      opened - otherOpened ||
      freeDevices[slot]! - opened - (freeDevices[other]! - otherOpened) ||
      freeMilli[slot]! - milliOf(fit, tasks) - (freeMilli[other]! - milliOf(otherFit, tasks)) ||
      freeCpu[slot]! - tasks * fit.cpuMilli - (freeCpu[other]! - tasks * otherFit.cpuMilli) ||
      freeMemory[slot]! - tasks * fit.memoryMib - (freeMemory[other]! - tasks * otherFit.memoryMib) ||
      order.numbers[slot]! - order.numbers[other]!;
    return less < 0;
  }

  /** How many more tasks the node holds, at most `tasks`. */
  #room(slot: number, fit: ClassFit, tasks: number, needsPort: boolean): number {
    const fleet = this.#fleet;
    if (this.#avoid.size > 0 && this.#avoid.has(slot)) return 0;
    if (isClosed(fleet, this.#shape, slot, this.#own?.has(slot) === true)) return 0;
    if (needsPort && !fleet.hasFreePort(slot)) return 0;
    const cpuMilli = fleet.freeCpu[slot]!;
    const memoryMib = fleet.freeMemory[slot]!;
    if (cpuMilli >= tasks * fit.cpuMilli && memoryMib >= tasks * fit.memoryMib)
      return Math.min(tasks, deviceRoom(fleet, slot, fit));
    return Math.min(
      deviceRoom(fleet, slot, fit),
      tasksIn(cpuMilli, fit.cpuMilli),
      tasksIn(memoryMib, fit.memoryMib),
    );
  }

  #take(group: number, slot: number, fit: ClassFit, tasks: number): void {
    const fleet = this.#fleet;
    const { ledger } = fleet;
    const first = this.#own === null || !this.#own.has(slot);
    if (first) fleet.enterRun(slot, this.#shape.demand.exclusive);
    this.#own?.add(slot);
    const pick = ledger.add(group, slot, fit, tasks, first);
    for (let i = 0, at = ledger.devicesAt[pick]!; i < tasks; i++, at += fit.count) {
      const { words, milli, stride } = fleet.taken;
      if (fit.milli < wholeDevice)
        ledger.devices[at] = choosePart(milli, slot * stride * 32, fit.devices, fit.mask, fit.milli);
      else if (fit.count > 0)
        chooseDevices(words, slot * stride, fit.devices, fit.mask, fit.count, ledger.devices, at);
      fleet.changeTask(1, slot, fit, ledger.devices, at, fit.count, fit.milli);
    }
    fleet.end(slot, this.#foundAt);
    this.placement.to = ledger.size;
    if (group !== 0 || this.placement.port >= 0) return;
    this.placement.portSlot = slot;
    this.placement.port = fleet.freePort(slot);
    takePort(fleet.ports[slot]!, this.placement.port);
  }
}

/** Nodes looked at one by one before a leap is tried; a leap costs as much as a few of them. */
const vainMax = 4;

function milliOf(fit: ClassFit, tasks: number): number {
  return tasks * fit.count * fit.milli;
}

/** Untouched devices of the node that so many tasks open. */
function opens(fleet: Fleet, slot: number, fit: ClassFit, tasks: number): number {
  if (fit.milli === wholeDevice) return tasks * fit.count;
  const untouched = freeMatching(fleet, slot, fit);
  const whole = Math.floor(wholeDevice / fit.milli);
  const touched = deviceRoom(fleet, slot, fit) - untouched * whole;
  return Math.max(0, Math.ceil((tasks - touched) / whole));
}

/** How many tasks the node's free devices hold. */
export function deviceRoom(fleet: Fleet, slot: number, fit: ClassFit): number {
  if (fit.milli === wholeDevice) return tasksIn(freeMatching(fleet, slot, fit), fit.count);
  const { milli, stride } = fleet.taken;
  return countParts(milli, slot * stride * 32, fit.devices, fit.mask, fit.milli);
}

/** Untouched devices of the node that match. */
function freeMatching(fleet: Fleet, slot: number, fit: ClassFit): number {
  return fit.mask === null || fit.count === 0
    ? fleet.freeDevices[slot]!
    : countFree(fleet.taken.words, slot * fleet.taken.stride, fit.mask);
}

/** Whether other jobs on the node, or a constraint on its name, keep the shape off it. */
function isClosed(fleet: Fleet, shape: Shape, slot: number, own: boolean): boolean {
  if (!own && isExclusivelyTaken(fleet, shape, slot)) return true;
  return shape.nodeRules.length > 0 && !nameAllowed(fleet, shape, slot);
}

export function isExclusivelyTaken(fleet: Fleet, shape: Shape, slot: number): boolean {
  return shape.demand.exclusive ? fleet.runs[slot]! > 0 : fleet.exclusive[slot]! > 0;
}

export function nameAllowed(fleet: Fleet, shape: Shape, slot: number): boolean {
  const { name } = fleet.facts[slot]!;
  return shape.nodeRules.every((rule) => satisfies(name, rule));
}

const onlyGroup: readonly number[] = [0];

/** Groups with more devices a task first, then as written. */
export function groupOrder(shape: Shape, combination: readonly number[]): readonly number[] {
  if (shape.groups.length === 1) return onlyGroup;
  const milli = (group: number): number => shape.groups[group]!.options[combination[group]!]!.milli;
  return shape.groups.map((_, group) => group).sort((a, b) => milli(b) - milli(a) || a - b);
}
