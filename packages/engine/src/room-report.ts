// How the devices that a group waits for lie: enough may be free in all and yet none where a task needs them together.
import type { RoomReport } from '@muster/model';
import type { Fleet } from './fleet.ts';
import type { ClassFit } from './match.ts';
import { amountRoom, freeMilliOf, isClosed } from './node-room.ts';
import { roomiest, roomsOf } from './packing.ts';
import type { Option, Shape } from './shape.ts';
import { root } from './tree.ts';
import { furthest } from './verdict.ts';

const spreadMax = 8;

/** For a shape that does not fit now; null for a group without devices. */
export function roomReport(fleet: Fleet, shape: Shape): RoomReport | null {
  const { group: name, groupIndex, combination, tasks, tasksFit } = furthest(fleet, shape);
  const group = shape.groups[groupIndex]!;
  const furthestOption = combination[groupIndex]!;
  const isAllowed = ({ fits }: Option): boolean =>
    fits.some((fit) => !slotsFor(fleet, shape, fit).next().done);
  // Where none gets anywhere, one that no node may take says nothing about room.
  const chosen = isAllowed(group.options[furthestOption]!)
    ? furthestOption
    : Math.max(0, group.options.findIndex(isAllowed));
  const wanted = group.demand.accelerators[chosen];
  const option = group.options[chosen]!;
  if (!wanted) return null;
  const counts = new Map<number, number>();
  let [freeMilli, freeNodes, taskNodes] = [0, 0, 0];
  for (const fit of option.fits)
    for (const slot of slotsFor(fleet, shape, fit)) {
      const free = freeMilliOf(fleet, slot, fit);
      counts.set(free, (counts.get(free) ?? 0) + 1);
      freeMilli += free;
      if (free > 0) freeNodes++;
      if (amountRoom(fleet, slot, fit) > 0) taskNodes++;
    }
  const spread = [...counts].sort(([a], [b]) => b - a).filter(([free]) => free > 0);
  return {
    group: name,
    key: wanted.model === null ? wanted.kind : `${wanted.kind}/${wanted.model}`,
    tasks,
    taskMilli: wanted.milli,
    freeMilli,
    freeNodes,
    taskNodes,
    tasksFit,
    spread: spread.slice(0, spreadMax).map(([free, nodes]) => ({ freeMilli: free, nodes })),
    place: bestPlace(fleet, shape, groupIndex, option),
  };
}

/** Nodes that take work and that the job's own rules allow. */
function* slotsFor(fleet: Fleet, shape: Shape, { classId }: ClassFit): IterableIterator<number> {
  const index = fleet.byClass[classId]?.index;
  for (let p = index?.first() ?? -1; p >= 0; p = index!.next(p)) {
    const slot = index!.at(p);
    if (!isClosed(fleet, shape, slot, false)) yield slot;
  }
}

function bestPlace(fleet: Fleet, shape: Shape, group: number, option: Option): RoomReport['place'] {
  const { tree } = fleet;
  const topologies = [shape.groups[group]!.demand.topology, shape.demand.topology];
  const required = topologies.find((each) => each?.mode === 'required');
  const level = required ? tree.levelNamed(required.level) : -2;
  if (!required || level === -2) return null;
  const rooms = roomsOf(fleet, shape, group, shape.groups[group]!.options.indexOf(option));
  const domain = roomiest(fleet, rooms, level, root);
  if (domain < 0) return null;
  let freeMilli = 0;
  for (const fit of option.fits)
    for (const slot of slotsFor(fleet, shape, fit))
      if (tree.isIn(tree.of[slot]!, domain)) freeMilli += freeMilliOf(fleet, slot, fit);
  return { level: required.level, name: tree.labels[domain]!, freeMilli, tasksFit: rooms.room[domain]! };
}
