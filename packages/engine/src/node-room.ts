// What one node holds of one kind of task now, and how tightly. Shared by every way of looking for nodes.
import { wholeDevice } from '@muster/model';
import { countFree, countParts } from './devices.ts';
import type { Fleet } from './fleet.ts';
import { type ClassFit, satisfies, tasksIn } from './match.ts';
import type { Shape } from './shape.ts';
import { labelOfNode } from './tree.ts';

/** How many tasks the node's cores, memory and devices hold. */
export function amountRoom(fleet: Fleet, slot: number, fit: ClassFit): number {
  return Math.min(
    deviceRoom(fleet, slot, fit),
    tasksIn(fleet.freeCpu[slot]!, fit.cpuMilli),
    tasksIn(fleet.freeMemory[slot]!, fit.memoryMib),
  );
}

/** How many more tasks of the shape the node holds, at most `tasks`; its gang may have some there already. */
export function roomFor(
  fleet: Fleet,
  shape: Shape,
  slot: number,
  fit: ClassFit,
  tasks: number,
  needsPort: boolean,
  own: boolean,
): number {
  if (isClosed(fleet, shape, slot, own)) return 0;
  if (needsPort && !fleet.hasFreePort(slot)) return 0;
  const room =
    fleet.freeCpu[slot]! >= tasks * fit.cpuMilli && fleet.freeMemory[slot]! >= tasks * fit.memoryMib
      ? Math.min(tasks, deviceRoom(fleet, slot, fit))
      : amountRoom(fleet, slot, fit);
  return fit.needs.length === 0 ? room : fleet.resources.roomAt(slot, fit.needs, room);
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

/** Thousandths of the node's matching devices that such a task could use: untouched ones, or what is left of any. */
export function freeMilliOf(fleet: Fleet, slot: number, fit: ClassFit): number {
  if (fit.milli === wholeDevice) return freeMatching(fleet, slot, fit) * wholeDevice;
  let free = 0;
  for (let i = 0; i < fit.devices; i++)
    if (fit.mask === null || (fit.mask[i >>> 5]! & (1 << (i & 31))) !== 0)
      free += wholeDevice - fleet.taken.taken(slot, i);
  return free;
}

/** Untouched devices of the node that so many tasks open. */
export function opens(fleet: Fleet, slot: number, fit: ClassFit, tasks: number): number {
  if (fit.milli === wholeDevice) return tasks * fit.count;
  const untouched = freeMatching(fleet, slot, fit);
  const whole = Math.floor(wholeDevice / fit.milli);
  const touched = deviceRoom(fleet, slot, fit) - untouched * whole;
  return Math.max(0, Math.ceil((tasks - touched) / whole));
}

/** Which of two nodes such tasks fit more tightly, below 0 for the first: the end of the order of nodes in order.ts. */
export function compareTightness(
  fleet: Fleet,
  slot: number,
  fit: ClassFit,
  other: number,
  otherFit: ClassFit,
  tasks: number,
): number {
  const { freeDevices, freeMilli, freeCpu, freeMemory, order } = fleet;
  const opened = opens(fleet, slot, fit, tasks);
  const otherOpened = opens(fleet, other, otherFit, tasks);
  return (
    opened - otherOpened ||
    freeDevices[slot]! - opened - (freeDevices[other]! - otherOpened) ||
    freeMilli[slot]! - milliOf(fit, tasks) - (freeMilli[other]! - milliOf(otherFit, tasks)) ||
    freeCpu[slot]! - tasks * fit.cpuMilli - (freeCpu[other]! - tasks * otherFit.cpuMilli) ||
    freeMemory[slot]! - tasks * fit.memoryMib - (freeMemory[other]! - tasks * otherFit.memoryMib) ||
    order.numbers[slot]! - order.numbers[other]!
  );
}

function milliOf(fit: ClassFit, tasks: number): number {
  return tasks * fit.count * fit.milli;
}

/** What a task costs on this very node: its class's score, and the preferences that only the node can answer. */
export function scoreOn(fleet: Fleet, shape: Shape, slot: number, fit: ClassFit): number {
  if (shape.nodePreferences.length === 0) return fit.score;
  const facts = fleet.facts[slot]!;
  let points = 0;
  for (const rule of shape.nodePreferences)
    if (!satisfies(labelOfNode(facts, rule.label), rule)) points += rule.weight;
  return fit.score + points * fleet.classes.prices.preferenceMicro;
}

/** Whether other jobs on the node, or constraints on its own labels, keep the shape off it. */
export function isClosed(fleet: Fleet, shape: Shape, slot: number, own: boolean): boolean {
  if (!own && isExclusivelyTaken(fleet, shape, slot)) return true;
  return shape.nodeRules.length > 0 && !labelsAllowed(fleet, shape, slot);
}

export function isExclusivelyTaken(fleet: Fleet, shape: Shape, slot: number): boolean {
  return shape.demand.exclusive
    ? fleet.runs[slot]! > 0 || fleet.claimed[slot]! > 0
    : fleet.exclusive[slot]! > 0 || fleet.claimedAlone[slot]! > 0;
}

export function labelsAllowed(fleet: Fleet, shape: Shape, slot: number): boolean {
  const facts = fleet.facts[slot]!;
  return shape.nodeRules.every((rule) => satisfies(labelOfNode(facts, rule.label), rule));
}
