// How tasks are spread evenly over domains: one after the other to the domain with the fewest, of those to the one with the
// least room left, then in the given order. So two domains differ by more than one only where the one with fewer has no
// room for another. Where the first one may not begin everywhere, it goes where it may.
import type { Fleet } from './fleet.ts';
import type { Filling, Into } from './packing.ts';

/** Places the tasks and says how many; adds them to `counts`, the tasks of the gang that are in each domain already. */
export function spread(
  { tree }: Fleet,
  { rooms, mayBegin }: Filling,
  into: Into,
  level: number,
  region: number,
  tasks: number,
  counts: Map<number, number>,
): number {
  // Inside one domain of the level, or of a narrower one, there is nothing to be even about.
  const among = tree.level[region]! >= level ? [region] : tree.within(region, level);
  const domains: number[] = [];
  for (const domain of among) if (rooms.room[domain]! > 0) domains.push(domain);
  const begins = domains.map(mayBegin);
  const parts = share(domains, tasks, (domain) => rooms.room[domain]!, counts, begins);
  const first = parts.findIndex((part, i) => part > 0 && begins[i]);
  if (first < 0) return 0;
  const order = domains.map((_, i) => i).filter((i) => i !== first && parts[i]! > 0);
  let placed = 0;
  for (const i of [first, ...order]) {
    const domain = domains[i]!;
    const done = into(domain, level, parts[i]!);
    counts.set(domain, (counts.get(domain) ?? 0) + done);
    placed += done;
    if (done < parts[i]!) break;
  }
  return placed;
}

/**
 * Parts by domain, in the order given; together as many as asked, or as fit. `counts` are tasks that are there already, and
 * `begins` says where the first one may go.
 */
function share(
  domains: readonly number[],
  tasks: number,
  roomOf: (domain: number) => number,
  counts: ReadonlyMap<number, number>,
  begins: readonly boolean[],
): number[] {
  const parts = domains.map(() => 0);
  const count = (i: number): number => (counts.get(domains[i]!) ?? 0) + parts[i]!;
  const room = (i: number): number => roomOf(domains[i]!) - parts[i]!;
  let open = domains.map((_, i) => i).filter((i) => room(i) > 0);
  /** Those with the fewest, least room first; each of them is next before any other is. */
  const round = (among: readonly number[]): number[] => {
    const fewest = among.reduce((least, i) => Math.min(least, count(i)), Number.POSITIVE_INFINITY);
    return among.filter((i) => count(i) === fewest).sort((a, b) => room(a) - room(b) || a - b);
  };
  let left = tasks;
  let next = round(open.filter((i) => begins[i])).slice(0, 1);
  while (left > 0 && next.length > 0) {
    for (const i of next.slice(0, left)) parts[i]!++;
    left -= Math.min(left, next.length);
    open = open.filter((i) => room(i) > 0);
    next = round(open);
  }
  return parts;
}
