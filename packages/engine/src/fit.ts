// Finds a place for a whole gang, or none: tries alternatives, domains of the topology and orders of groups until all of it
// fits (attempt.ts). How everything is chosen is written in order.ts.
//
// For one group this finds a place whenever there is one (unless countable resources differ by the model a task gets). For several
// groups it is greedy: groups with more devices a task choose first, but after the groups they must be near to; one that
// then finds no place chooses first in the next try, until it has been first in vain. Groups that must be near each other are at
// last tried in one domain after the other. Places found stay taken in the fleet until `undo`, which is how plans and
// questions stay harmless.
import type { NodeId } from '@muster/model';
import { Attempt, type Ground } from './attempt.ts';
import { holdsFirst } from './domain-nodes.ts';
import type { Fleet } from './fleet.ts';
import { type Placement, undo } from './ledger.ts';
import { scoreOn } from './node-room.ts';
import { candidates, roomiest, roomsOf } from './packing.ts';
import { isTied, type Ranked, type Shape, takesVary } from './shape.ts';
import { root } from './tree.ts';

const anyNode: ReadonlySet<number> = new Set();
export const wholeFleet: Ground = { region: root, packLevel: -1, near: -1, certain: false, avoid: anyNode };

/** Orders of groups tried for one combination of alternatives. */
const maxOrders = 8;

/** Says whether the job may have a place that was found; the next alternative is tried when not. */
export interface Allows {
  allows(placement: Placement): boolean;
}

/** A place for every task, now taken in the fleet; or null, with the fleet as it was. */
export function place(
  fleet: Fleet,
  shape: Shape,
  avoid: readonly NodeId[],
  allows: Allows | null = null,
): Placement | null {
  if (avoid.length > 0) return placeAway(fleet, shape, avoid, allows);
  const again = fleet.latest.placeAgain(fleet, shape);
  return again ? ifAllowed(fleet, again, allows) : placeAround(fleet, shape, anyNode, allows);
}

/** Where it was not yet, or else anywhere. */
function placeAway(
  fleet: Fleet,
  shape: Shape,
  avoid: readonly NodeId[],
  allows: Allows | null,
): Placement | null {
  const slots = new Set<number>();
  for (const node of avoid) if (fleet.slots.has(node)) slots.add(fleet.slotOf(node));
  const away = slots.size > 0 ? placeAround(fleet, shape, slots, allows) : null;
  return away ?? placeAround(fleet, shape, anyNode, allows);
}

function ifAllowed(fleet: Fleet, placement: Placement, allows: Allows | null): Placement | null {
  if (allows === null || allows.allows(placement)) return placement;
  undo(fleet, placement);
  return null;
}

function placeAround(
  fleet: Fleet,
  shape: Shape,
  avoid: ReadonlySet<number>,
  allows: Allows | null,
): Placement | null {
  const { ranked } = shape;
  if (ranked.length === 1) {
    const placement = placeCombination(fleet, shape, avoid, ranked[0]!.combination);
    return placement && ifAllowed(fleet, placement, allows);
  }
  let best: Ranked | null = null;
  let bestCost = Number.POSITIVE_INFINITY;
  for (const next of ranked) {
    // What follows costs at least as much.
    if (best && (next.least > bestCost || (next.least === bestCost && next.index > best.index))) break;
    const placement = placeCombination(fleet, shape, avoid, next.combination);
    if (!placement) continue;
    const cost = costOf(fleet, shape, placement);
    const allowed = allows === null || allows.allows(placement);
    undo(fleet, placement);
    if (!allowed || cost > bestCost || (cost === bestCost && next.index > best!.index)) continue;
    best = next;
    bestCost = cost;
  }
  return best && placeCombination(fleet, shape, avoid, best.combination);
}

/** What all tasks of a placement cost. */
export function costOf(fleet: Fleet, shape: Shape, { from, to }: Placement): number {
  const { slot, tasks, fits } = fleet.ledger;
  let cost = 0;
  for (let pick = from; pick < to; pick++)
    cost += tasks[pick]! * scoreOn(fleet, shape, slot[pick]!, fits[pick]!);
  return cost;
}

/** Without a topology the whole fleet is the ground; see `groundsOf`. */
function placeCombination(
  fleet: Fleet,
  shape: Shape,
  avoid: ReadonlySet<number>,
  combination: readonly number[],
): Placement | null {
  const { topology } = shape.demand;
  const anywhere = topology === null || topology.mode === 'spread';
  const grounds = anywhere
    ? [avoid.size === 0 ? wholeFleet : { ...wholeFleet, avoid }]
    : groundsOf(fleet, shape, combination, avoid);
  for (const ground of grounds) {
    const placement = placeOn(fleet, shape, combination, ground);
    if (placement) return placement;
  }
  if (shape.groups.length === 1) return null;
  for (const ground of nearGrounds(fleet, shape, combination, grounds)) {
    const placement = placeOn(fleet, shape, combination, ground);
    if (placement) return placement;
  }
  return null;
}

/**
 * The first of groups that must be near each other may have chosen a domain with too little room for the others. So each domain
 * of the level with room for all of them is tried, least room for the first of them first, then by path; of several
 * levels the widest first.
 */
function* nearGrounds(
  fleet: Fleet,
  shape: Shape,
  combination: readonly number[],
  grounds: readonly Ground[],
): IterableIterator<Ground> {
  const { tree } = fleet;
  const levels = new Set<number>();
  for (const { demand } of shape.groups) if (demand.near) levels.add(tree.levelNamed(demand.near.level));
  if (levels.size === 0 || levels.has(-2)) return;
  const tied = groupOrder(shape, combination).filter((group) => isTied(shape, group));
  for (const ground of grounds)
    for (const level of [...levels].sort((a, b) => a - b))
      if (level > tree.level[ground.region]!)
        for (const near of holding(fleet, shape, combination, tied, level, ground.region))
          yield { ...ground, near };
}

/**
 * Domains of a level inside a region with room for each of the groups by itself, and for the gang's first task; those with least
 * room for the first of them first.
 */
function holding(
  fleet: Fleet,
  shape: Shape,
  combination: readonly number[],
  [leader, ...others]: readonly number[],
  level: number,
  region: number,
): number[] {
  const tasks = (group: number): number => shape.groups[group]!.demand.tasks;
  const rooms = roomsOf(fleet, shape, leader!, combination[leader!]!);
  const also = others.map((group) => ({
    group,
    rooms: roomsOf(fleet, shape, group, combination[group]!),
    tasks: tasks(group),
  }));
  const first = leader === 0 ? rooms : also.find(({ group }) => group === 0)?.rooms;
  const holds = (domain: number): boolean =>
    also.every((other) => other.rooms.room[domain]! >= other.tasks) &&
    (first === undefined || holdsFirst(fleet, first, domain));
  return candidates(fleet, rooms, level, region, tasks(leader!), holds);
}

function placeOn(
  fleet: Fleet,
  shape: Shape,
  combination: readonly number[],
  ground: Ground,
): Placement | null {
  let order = groupOrder(shape, combination);
  for (let tried = 0; tried < maxOrders; tried++) {
    const attempt = new Attempt(fleet, shape, ground);
    const { group } = attempt.run(combination, order);
    if (group < 0) return attempt.placement;
    undo(fleet, attempt.placement);
    const first = withTargets(shape, group);
    if (first.every((other, i) => other === order[i])) return null;
    order = [...first, ...order.filter((other) => !first.includes(other))];
  }
  return null;
}

/**
 * The domains that a gang with a required or preferred topology may be tried in, best first: those of the level with room for
 * each group by itself, least room for the group that chooses first first, then by path; preferred goes on with the levels above. Where
 * tasks may take another amount of a resource than they are counted for, it ends with the whole fleet as if nothing were preferred: no
 * preference makes a job wait.
 */
export function groundsOf(
  fleet: Fleet,
  shape: Shape,
  combination: readonly number[],
  avoid: ReadonlySet<number>,
): Ground[] {
  const { tree } = fleet;
  const { level: name, mode } = shape.demand.topology!;
  const level = tree.levelNamed(name);
  if (level === -2) return [];
  const order = groupOrder(shape, combination);
  const grounds: Ground[] = [];
  for (let l = level; l >= (mode === 'required' ? level : -1); l--)
    for (const region of holding(fleet, shape, combination, order, l, root))
      grounds.push({ region, packLevel: level, near: -1, certain: false, avoid });
  const isOpen = mode === 'preferred' && shape.groups.some((_, g) => takesVary(shape, g, combination[g]!));
  if (isOpen) for (const packLevel of [level, -1]) grounds.push({ ...wholeFleet, packLevel, avoid });
  return grounds;
}

/** The nodes of a placement, group by group, in the order they were chosen; a node may come several times. */
export function slotsOf(fleet: Fleet, { from, to }: Placement): number[] {
  const { group, slot } = fleet.ledger;
  const picks = Array.from({ length: to - from }, (_, i) => from + i);
  return picks.sort((a, b) => group[a]! - group[b]! || a - b).map((pick) => slot[pick]!);
}

/**
 * Where a gang that fits nowhere comes furthest: of a required level the domain with most room for the first group. Domains whose
 * room is too little were not tried, so it must not fit there by luck.
 */
export function likeliest(fleet: Fleet, shape: Shape, combination: readonly number[]): Ground {
  const { topology } = shape.demand;
  if (topology === null || topology.mode === 'spread') return wholeFleet;
  const level = fleet.tree.levelNamed(topology.level);
  const nowhere: Ground = { ...wholeFleet, packLevel: -2 };
  if (level === -2) return nowhere;
  if (topology.mode === 'preferred') return { ...wholeFleet, packLevel: level };
  const [leader] = groupOrder(shape, combination);
  const rooms = roomsOf(fleet, shape, leader!, combination[leader!]!);
  const region = roomiest(fleet, rooms, level, root);
  return region < 0 ? nowhere : { ...wholeFleet, region, packLevel: level, certain: true };
}

/** One domain of a required level by itself. */
export function domainGround({ tree }: Fleet, region: number): Ground {
  return { ...wholeFleet, region, packLevel: tree.level[region]! };
}

const onlyGroup: readonly number[] = [0];

/** Groups with more devices a task first, then as written; each after the group it must be near to. */
export function groupOrder(shape: Shape, combination: readonly number[]): readonly number[] {
  if (shape.groups.length === 1) return onlyGroup;
  const milli = (group: number): number => shape.groups[group]!.options[combination[group]!]!.milli;
  const sorted = shape.groups.map((_, group) => group).sort((a, b) => milli(b) - milli(a) || a - b);
  return [...new Set(sorted.flatMap((group) => withTargets(shape, group)))];
}

/** A group after the groups that it must be near to, directly or by way of others. */
function withTargets(shape: Shape, group: number): number[] {
  const chain = [group];
  for (let near = shape.groups[group]!.demand.near; near !== null; ) {
    const { group: name } = near;
    const target = shape.groups.findIndex(({ demand }) => demand.name === name);
    if (target < 0 || chain.includes(target)) break;
    chain.unshift(target);
    near = shape.groups[target]!.demand.near;
  }
  return chain;
}
