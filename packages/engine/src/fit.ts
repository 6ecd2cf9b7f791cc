// Finds a place for a whole gang, or none. The rule for the tasks of one group, until all have a place: of the nodes that
// can take some, the one that takes the most of what remains; of those the one with the least left over afterwards
// (devices of all kinds, cores, memory), then the lowest node id. So a single task goes to the tightest node, a gang goes
// to few nodes, and a remainder goes where it fits best instead of breaking an empty node.
//
// For one group this finds a place whenever there is one. For several groups it is greedy: groups with more devices a
// task choose first; a group that then finds no place chooses first in the next try, until it has been first in vain.
// Places found stay taken in the fleet until `undo`, which is how plans and questions stay harmless.
import type { NodeId } from '@muster/model';
import { chooseDevices, countFree } from './devices.ts';
import type { Fleet } from './fleet.ts';
import { type ClassFit, satisfies, tasksIn } from './match.ts';
import { releasePort, takePort } from './ports.ts';
import type { Shape } from './shape.ts';

/** Some tasks of one group on one node. */
export interface Pick {
  readonly group: number;
  readonly slot: number;
  readonly fit: ClassFit;
  /** The devices of each task. */
  readonly devices: readonly (readonly number[])[];
  /** Whether this is the gang's first pick on this node. */
  readonly first: boolean;
}

export interface Placement {
  /** In the order they were chosen; of each group, lower ranks first. */
  readonly picks: Pick[];
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
const none: readonly number[] = [];

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

/** Gives back everything a placement took. */
export function undo(fleet: Fleet, placement: Placement): void {
  if (placement.port >= 0) releasePort(fleet.ports[placement.portSlot]!, placement.port);
  for (let i = placement.picks.length - 1; i >= 0; i--) {
    const { slot, fit, devices, first } = placement.picks[i]!;
    const position = fleet.begin(slot);
    for (let t = 0; t < devices.length; t++)
      fleet.releaseTask(slot, fit.cpuMilli, fit.memoryMib, devices[t]!);
    if (first) fleet.leaveRun(slot);
    fleet.end(slot, position);
  }
}

/** One try of one combination of alternatives. What it placed stays placed, whether or not all of it fitted. */
export class Attempt {
  readonly placement: Placement = { picks: [], portSlot: -1, port: -1 };
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
  }

  run(combination: readonly number[], order: readonly number[]): Progress {
    for (let i = 0; i < order.length; i++) {
      const group = order[i]!;
      const tasksFit = this.#placeGroup(group, combination[group]!);
      if (tasksFit < this.#shape.groups[group]!.demand.tasks) return { placed: i, group, tasksFit };
    }
    return { placed: order.length, group: -1, tasksFit: 0 };
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
      const position = this.#tightestOfClass(fit, tasks, needsPort);
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

  /** Inside a class the index is in the right order already: the first position that holds the tasks is the tightest. */
  #tightestOfClass(fit: ClassFit, tasks: number, needsPort: boolean): number {
    const fleet = this.#fleet;
    const { index } = fleet.byClass[fit.classId]!;
    const from = index.lowerBound(fleet.freeDevices, tasks * fit.count);
    for (let p = from; p >= 0; p = index.next(p)) {
      const slot = index.at(p);
      const room = this.#room(slot, fit, tasks, needsPort);
      if (room === tasks) return p;
      if (room > this.#tasksNext) this.#tasksNext = room;
    }
    const below = from < 0 ? index.last() : index.previous(from);
    if (below >= 0 && fit.count > 0) {
      const room = Math.min(tasks - 1, tasksIn(fleet.freeDevices[index.at(below)]!, fit.count));
      if (room > this.#tasksNext) this.#tasksNext = room;
    }
    return -1;
  }

  #isTighter(slot: number, fit: ClassFit, other: number, otherFit: ClassFit, tasks: number): boolean {
    const { freeDevices, freeCpu, freeMemory, order } = this.#fleet;
    const less =
      freeDevices[slot]! - tasks * fit.count - (freeDevices[other]! - tasks * otherFit.count) ||
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
    const devices = freeMatching(fleet, slot, fit);
    const cpuMilli = fleet.freeCpu[slot]!;
    const memoryMib = fleet.freeMemory[slot]!;
    if (
      devices >= tasks * fit.count &&
      cpuMilli >= tasks * fit.cpuMilli &&
      memoryMib >= tasks * fit.memoryMib
    )
      return tasks;
    return Math.min(
      tasksIn(devices, fit.count),
      tasksIn(cpuMilli, fit.cpuMilli),
      tasksIn(memoryMib, fit.memoryMib),
    );
  }

  #take(group: number, slot: number, fit: ClassFit, tasks: number): void {
    const fleet = this.#fleet;
    const first = this.#own === null || !this.#own.has(slot);
    if (first) fleet.enterRun(slot, this.#shape.demand.exclusive);
    this.#own?.add(slot);
    const devices: (readonly number[])[] = new Array(tasks);
    for (let i = 0; i < tasks; i++) {
      const { words, stride } = fleet.taken;
      const own =
        fit.count === 0 ? none : chooseDevices(words, slot * stride, fit.devices, fit.mask, fit.count);
      fleet.takeTask(slot, fit.cpuMilli, fit.memoryMib, own);
      devices[i] = own;
    }
    fleet.end(slot, this.#foundAt);
    this.placement.picks.push({ group, slot, fit, devices, first });
    if (group !== 0 || this.placement.port >= 0) return;
    this.placement.portSlot = slot;
    this.placement.port = fleet.freePort(slot);
    takePort(fleet.ports[slot]!, this.placement.port);
  }
}

/** Free devices of the node that match. */
export function freeMatching(fleet: Fleet, slot: number, fit: ClassFit): number {
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
  const count = (group: number): number => shape.groups[group]!.options[combination[group]!]!.count;
  return shape.groups.map((_, group) => group).sort((a, b) => count(b) - count(a) || a - b);
}
