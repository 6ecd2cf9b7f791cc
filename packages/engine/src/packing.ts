// Choosing among domains of the topology: which ones could hold a gang, tightest first; and how a gang that needs several
// domains of a level is divided among few of them.
import type { Fleet } from './fleet.ts';
import { amountRoom, isClosed, labelsAllowed } from './node-room.ts';
import { Rooms } from './rooms.ts';
import type { Option, Shape } from './shape.ts';
import { root } from './tree.ts';

/** Kinds of tasks whose rooms are kept; more are counted anew. */
const keptMax = 32;

/**
 * The rooms of one alternative of one group in the fleet as it is. They are kept from one question to the next, by what is
 * asked and not by who asks, because jobs of one kind come and go.
 */
export function roomsOf(fleet: Fleet, shape: Shape, group: number, alternative: number): Rooms {
  const option = shape.groups[group]!.options[alternative]!;
  const key = shape.key === '' ? '' : `${group}/${alternative}/${shape.key}`;
  const known = fleet.rooms.get(key);
  fleet.rooms.delete(key);
  const fresh = known?.madeFor === fleet.classes.generation ? known.rooms : makeRooms(fleet, shape, option);
  if (key !== '') fleet.rooms.set(key, { rooms: fresh, madeFor: fleet.classes.generation });
  for (const oldest of fleet.rooms.keys()) {
    if (fleet.rooms.size <= keptMax) break;
    fleet.rooms.delete(oldest);
  }
  return fresh.sync();
}

function makeRooms(fleet: Fleet, shape: Shape, option: Option): Rooms {
  return new Rooms(
    fleet,
    option.fits,
    (slot, fit) => (isClosed(fleet, shape, slot, false) ? 0 : amountRoom(fleet, slot, fit)),
    (slot) => labelsAllowed(fleet, shape, slot),
  );
}

/** Domains tried for one group before it is said not to fit; the one with most room always is. */
const domainsMax = 64;
const always = (): boolean => true;

/** Domains of a level inside a region that hold so many tasks and all else they should, those with least room first, then by path. */
export function candidates(
  fleet: Fleet,
  rooms: Rooms,
  level: number,
  region: number,
  tasks: number,
  holds: (domain: number) => boolean = always,
): number[] {
  const found: number[] = [];
  if (level < 0) return rooms.room[root]! >= tasks && holds(root) ? [root] : [];
  const list = rooms.atLevel(level);
  for (let p = list.lowerBound(rooms.room, tasks); p >= 0 && found.length < domainsMax; p = list.next(p)) {
    const domain = list.at(p);
    if ((region === root || fleet.tree.isIn(domain, region)) && holds(domain)) found.push(domain);
  }
  if (found.length < domainsMax) return found;
  const most = region === root ? rooms.room[list.at(list.last())]! : -1;
  const last = most < 0 ? roomiest(fleet, rooms, level, region) : list.at(list.lowerBound(rooms.room, most));
  if (holds(last) && !found.includes(last)) found.push(last);
  return found;
}

/** The domain of a level inside a region with the most room, then the first by path; -1 when none has any. */
export function roomiest(fleet: Fleet, rooms: Rooms, level: number, region: number): number {
  let best = -1;
  for (const domain of fleet.tree.within(region, level))
    if (rooms.room[domain]! > (best < 0 ? 0 : rooms.room[best]!)) best = domain;
  return best;
}

/** How a group is put into domains. */
export interface Filling {
  readonly rooms: Rooms;
  /** As many of the tasks as fit into a domain; tells how many. */
  fill(domain: number, tasks: number): number;
  /** Whether the next task may go there: the first one of a gang needs a free port beside it. */
  mayBegin(domain: number): boolean;
}

/** Puts tasks into a domain, in few domains of the level, and says how many it placed. */
export type Into = (domain: number, level: number, tasks: number) => number;

/**
 * Down to a level, few domains: where one holds all that is left, the one with the least room; else the one with the most;
 * of equals the first by path.
 */
export function pack(fleet: Fleet, filling: Filling, domain: number, level: number, tasks: number): number {
  const { tree } = fleet;
  const { room } = filling.rooms;
  // Where a task's model decides what it takes of a countable resource, more may fit than is certain to.
  if (tree.level[domain]! >= level) return filling.fill(domain, tasks);
  const children = tree.children[domain]!.filter((child) => room[child]! > 0);
  // Children stand by path, and sorting keeps the order of equals.
  children.sort((a, b) => room[b]! - room[a]!);
  const wanted = Math.min(tasks, room[domain]!);
  let left = wanted;
  for (let next = 0; left > 0 && next < children.length; next++) {
    const chosen = firstToBegin(filling, children, next, left);
    if (chosen < 0) break;
    // Whoever was passed over, because it holds more or has no port for the first task, may still hold what is left.
    const child = children[chosen]!;
    children.copyWithin(next + 1, next, chosen);
    const part = Math.min(left, room[child]!);
    const done = pack(fleet, filling, child, level, part);
    left -= done;
    if (done < part) break;
  }
  return wanted - left;
}

/** Among children from `next` on, those with most room first: the best one in which the next task may begin; -1 when there is none. */
function firstToBegin(
  { rooms, mayBegin }: Filling,
  children: readonly number[],
  next: number,
  left: number,
): number {
  const { room } = rooms;
  let enough = next;
  while (enough < children.length && room[children[enough]!]! >= left) enough++;
  for (let last = enough - 1; last >= next; ) {
    let first = last;
    while (first > next && room[children[first - 1]!] === room[children[last]!]) first--;
    for (let i = first; i <= last; i++) if (mayBegin(children[i]!)) return i;
    last = first - 1;
  }
  for (let i = enough; i < children.length; i++) if (mayBegin(children[i]!)) return i;
  return -1;
}
