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

/** Puts tasks into a domain and says how many it placed. */
export type Fill = (domain: number, tasks: number) => number;

/**
 * Down to a level, few domains: where one holds all that is left, the one with the least room; else the one with the most;
 * of equals the first by path.
 */
export function pack(
  fleet: Fleet,
  rooms: Rooms,
  fill: Fill,
  domain: number,
  level: number,
  tasks: number,
): number {
  const { tree } = fleet;
  const { room } = rooms;
  // Where a task's model decides what it takes of a countable resource, more may fit than is certain to.
  if (tree.level[domain]! >= level) return fill(domain, tasks);
  const children = tree.children[domain]!.filter((child) => room[child]! > 0);
  // Children stand by path, and sorting keeps the order of equals.
  children.sort((a, b) => room[b]! - room[a]!);
  let left = Math.min(tasks, room[domain]!);
  const wanted = left;
  let next = 0;
  while (left > 0 && next < children.length) {
    let chosen = next;
    if (room[children[next]!]! >= left) {
      while (chosen + 1 < children.length && room[children[chosen + 1]!]! >= left) chosen++;
      while (chosen > next && room[children[chosen - 1]!] === room[children[chosen]!]) chosen--;
    }
    const child = children[chosen]!;
    const part = Math.min(left, room[child]!);
    const done = pack(fleet, rooms, fill, child, level, part);
    left -= done;
    if (done < part) break;
    next = chosen + 1;
  }
  return wanted - left;
}
