// The node with the least left over among those of some classes that hold so many more tasks, by the indexes of the classes.
import { wholeDevice } from '@muster/model';
import type { Fleet } from './fleet.ts';
import { type ClassFit, tasksIn } from './match.ts';
import { compareTightness } from './node-room.ts';
import type { SortedInts } from './sorted-ints.ts';

export interface RoomOf {
  /** How many more tasks the node holds, at most `tasks`. */
  room(slot: number, fit: ClassFit, tasks: number, needsPort: boolean): number;
}

export interface Tightest {
  /** -1 when no node holds so many. */
  slot: number;
  fit: ClassFit | null;
  /** In the index of its class. */
  position: number;
  /** Where none was found, the most that any node might hold, so that nobody need count down one by one. */
  tasksNext: number;
}

/** Nodes looked at one by one before a leap is tried; a leap costs as much as a few of them. */
export const vainMax = 4;

/** `behind`: a position in the index of the only class, no node up to which holds the tasks; -1 where nothing is known. */
export function findTightest(
  fleet: Fleet,
  fits: readonly ClassFit[],
  tasks: number,
  needsPort: boolean,
  of: RoomOf,
  behind = -1,
): Tightest {
  const found: Tightest = { slot: -1, fit: null, position: -1, tasksNext: 0 };
  for (let f = 0; f < fits.length; f++) {
    const fit = fits[f]!;
    const inClass = fit.milli === wholeDevice ? tightestOfClass : tightestForParts;
    const position = inClass(fleet, fit, tasks, needsPort, of, found, behind);
    if (position < 0) continue;
    const slot = fleet.byClass[fit.classId]!.index.at(position);
    if (found.slot >= 0 && compareTightness(fleet, slot, fit, found.slot, found.fit!, tasks) > 0) continue;
    found.slot = slot;
    found.fit = fit;
    found.position = position;
  }
  return found;
}

/** For whole devices the index is in the right order already: the first position that holds the tasks is the tightest. */
function tightestOfClass(
  fleet: Fleet,
  fit: ClassFit,
  tasks: number,
  needsPort: boolean,
  of: RoomOf,
  found: Tightest,
  behind: number,
): number {
  const { index } = fleet.byClass[fit.classId]!;
  const single = tasks === 1;
  const from = behind >= 0 ? index.next(behind) : firstWith(fleet, fit, tasks);
  let vain = 0;
  for (let p = from; p >= 0; ) {
    const room = of.room(index.at(p), fit, tasks, needsPort);
    if (room === tasks) return p;
    if (room > found.tasksNext) found.tasksNext = room;
    // Many nodes of equal devices without enough cores or memory are passed over in one step.
    p = single && ++vain >= vainMax ? leap(fleet, index, p, fit) : index.next(p);
  }
  const below = from < 0 ? index.last() : index.previous(from);
  if (below >= 0 && fit.count > 0) {
    const room = Math.min(tasks - 1, tasksIn(fleet.freeDevices[index.at(below)]!, fit.count));
    if (room > found.tasksNext) found.tasksNext = room;
  }
  return -1;
}

/** No node before this position has devices enough; for a single task none has all amounts. */
function firstWith(fleet: Fleet, fit: ClassFit, tasks: number): number {
  const { index } = fleet.byClass[fit.classId]!;
  const devices = tasks * fit.count;
  return tasks === 1
    ? fleet.positionOf(index, devices, devices * wholeDevice, fit.cpuMilli, fit.memoryMib)
    : index.lowerBound(fleet.freeDevices, devices);
}

/** The next position, or a later one when the nodes between certainly lack cores or memory for one task. */
function leap(fleet: Fleet, index: SortedInts, position: number, fit: ClassFit): number {
  const { freeDevices, freeMilli, freeCpu, freeMemory } = fleet;
  const slot = index.at(position);
  const cpuMilli = freeCpu[slot]!;
  if (cpuMilli >= fit.cpuMilli && freeMemory[slot]! >= fit.memoryMib) return index.next(position);
  const least = Math.max(cpuMilli, fit.cpuMilli);
  return fleet.positionOf(index, freeDevices[slot]!, freeMilli[slot]!, least, fit.memoryMib);
}

/** For parts of devices the index is in no useful order. */
function tightestForParts(
  fleet: Fleet,
  fit: ClassFit,
  tasks: number,
  needsPort: boolean,
  of: RoomOf,
  found: Tightest,
): number {
  const { index } = fleet.byClass[fit.classId]!;
  let best = -1;
  for (let p = index.first(); p >= 0; p = index.next(p)) {
    const slot = index.at(p);
    const room = of.room(slot, fit, tasks, needsPort);
    if (room < tasks) {
      if (room > found.tasksNext) found.tasksNext = room;
    } else if (best < 0 || compareTightness(fleet, slot, fit, index.at(best), fit, tasks) < 0) best = p;
  }
  return best;
}
