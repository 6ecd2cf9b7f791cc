// Counts the existing nodes by what each is missing for one more task of a group: the first lack in the order of model's
// `Lack`. With several alternatives a node counts under the one it comes closest to. Whole classes and the part of the
// index with too few free devices are counted without looking at their nodes.
import { type Lack, type LackCount, wholeDevice } from '@muster/model';
import type { ClassNodes, Fleet } from './fleet.ts';
import { type ClassFit, matchClass } from './match.ts';
import { deviceRoom, isExclusivelyTaken, labelsAllowed } from './node-room.ts';
import { resourceText } from './resources.ts';
import { asksForPlaces, type Shape } from './shape.ts';
import { root } from './tree.ts';

const lackOrder: readonly Lack[] = [
  'constraint',
  'device-model',
  'device-count',
  'cpu-total',
  'memory-total',
  'draining',
  'quarantined',
  'silent',
  'devices-busy',
  'cpu-busy',
  'memory-busy',
  'exclusive',
  'ports-busy',
  'resource-busy',
  'topology',
];

export interface LackQuestion {
  readonly shape: Shape;
  readonly group: number;
  /** Whether the task would be rank 0, whose node gives a port. */
  readonly needsPort: boolean;
  /** Nodes that hold other tasks of the same gang; they are not foreign to it. */
  readonly own: ReadonlySet<number>;
}

export function countLacks(fleet: Fleet, question: LackQuestion): LackCount[] {
  const counts = new Map<Lack, number>();
  const add = (lack: Lack, nodes: number): void => {
    if (nodes > 0) counts.set(lack, (counts.get(lack) ?? 0) + nodes);
  };
  for (const nodes of fleet.byClass) if (nodes && nodes.existing > 0) countClass(fleet, question, nodes, add);
  const lacks: LackCount[] = [];
  for (const lack of lackOrder) {
    const nodes = counts.get(lack);
    if (nodes === undefined) continue;
    const isCounted = lack === 'resource-busy';
    lacks.push(isCounted ? { lack, nodes, note: resourceNote(fleet, question) } : { lack, nodes });
  }
  return lacks;
}

type Add = (lack: Lack, nodes: number) => void;

function countClass(fleet: Fleet, question: LackQuestion, nodes: ClassNodes, add: Add): void {
  const { shape, group } = question;
  const fits: ClassFit[] = [];
  let nearest: Lack = 'constraint';
  // What was matched before need not be matched again: every decision on a full fleet asks.
  const matched = shape.matchedAt === fleet.classes.generation;
  for (const [o, option] of shape.groups[group]!.options.entries()) {
    const known = matched ? option.fits.find(({ classId }) => classId === nodes.cls.id) : undefined;
    const match = known ?? matchClass(shape.demand, shape.groups[group]!.demand, o, nodes.cls, fleet.classes);
    if (typeof match !== 'string') fits.push(match);
    else nearest = later(nearest, match);
  }
  if (fits.length === 0) add(nearest, nodes.existing);
  else if (shape.nodeRules.length > 0) countNamed(fleet, question, nodes, fits, add);
  else countIndexed(fleet, question, nodes, fits, add);
}

function countIndexed(
  fleet: Fleet,
  question: LackQuestion,
  nodes: ClassNodes,
  fits: readonly ClassFit[],
  add: Add,
): void {
  add('draining', nodes.draining);
  add('quarantined', nodes.quarantined);
  add('silent', nodes.silent);
  const { index } = nodes;
  let position = index.first();
  const only = fits.length === 1 ? fits[0]! : null;
  if (only && only.mask === null && only.count > 0 && only.milli === wholeDevice) {
    position = index.lowerBound(fleet.freeDevices, only.count);
    add('devices-busy', position < 0 ? index.size : index.countBefore(position));
  }
  for (; position >= 0; position = index.next(position))
    add(nearestLack(fleet, question, index.at(position), fits), 1);
}

/** A constraint on node names tells nodes of one class apart, draining and silent ones too. */
function countNamed(
  fleet: Fleet,
  question: LackQuestion,
  nodes: ClassNodes,
  fits: readonly ClassFit[],
  add: Add,
): void {
  for (const slot of fleet.slots.values()) {
    const { state, drain } = fleet.facts[slot]!;
    if (fleet.classOf[slot] !== nodes.cls.id || (state !== 'ready' && state !== 'silent')) continue;
    if (!labelsAllowed(fleet, question.shape, slot)) add('constraint', 1);
    else if (drain !== null) add(drain.quarantine ? 'quarantined' : 'draining', 1);
    else if (state === 'silent') add('silent', 1);
    else add(nearestLack(fleet, question, slot, fits), 1);
  }
}

/** The furthest lack over the alternatives; one that lacks nothing here is not the one that was tried. */
function nearestLack(fleet: Fleet, question: LackQuestion, slot: number, fits: readonly ClassFit[]): Lack {
  let nearest: Lack = 'devices-busy';
  for (const fit of fits) {
    const lack = lackNow(fleet, question, slot, fit);
    if (lack !== null) nearest = later(nearest, lack);
    else if (asksForPlaces(question.shape)) return 'topology';
  }
  return nearest;
}

function lackNow(fleet: Fleet, question: LackQuestion, slot: number, fit: ClassFit): Lack | null {
  if (deviceRoom(fleet, slot, fit) === 0) return 'devices-busy';
  if (fleet.freeCpu[slot]! < fit.cpuMilli) return 'cpu-busy';
  if (fleet.freeMemory[slot]! < fit.memoryMib) return 'memory-busy';
  if (!question.own.has(slot) && isExclusivelyTaken(fleet, question.shape, slot)) return 'exclusive';
  if (question.needsPort && !fleet.hasFreePort(slot)) return 'ports-busy';
  return fleet.resources.roomAt(slot, fit.needs, 1) === 0 ? 'resource-busy' : null;
}

/** "rack r7 has 2 kW of power left, the task needs 5.6 kW of power", for the domain where most is left. */
function resourceNote(fleet: Fleet, { shape, group }: LackQuestion): string {
  const { tree, resources } = fleet;
  let most = -1;
  let note = '';
  const fits = shape.groups[group]!.options.flatMap((option) => option.fits);
  for (const [r, resource] of resources.list.entries()) {
    const need = Math.min(...fits.map((fit) => fit.needs[r]!).filter((each) => each > 0));
    for (const domain of tree.within(root, resources.levels[r]!)) {
      const left = resources.left(r, domain);
      if (left >= need || left <= most) continue;
      most = left;
      note = `${tree.text(domain)} has ${resourceText(resource, left)} left, the task needs ${resourceText(resource, need)}`;
    }
  }
  return note;
}

function later(a: Lack, b: Lack): Lack {
  return lackOrder.indexOf(b) > lackOrder.indexOf(a) ? b : a;
}
