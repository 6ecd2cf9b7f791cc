// How many tasks each domain gets when a gang is spread: one after the other to the domain with the fewest, of those to
// the one with the least room left, then in the given order. So two domains differ by more than one only where the one
// with fewer has no room for another.

/** Parts by domain, in the order given; together as many as asked, or as fit. `counts` are tasks that are there already. */
export function share(
  domains: readonly number[],
  tasks: number,
  roomOf: (domain: number) => number,
  counts: ReadonlyMap<number, number>,
): number[] {
  const parts = domains.map(() => 0);
  const count = (i: number): number => (counts.get(domains[i]!) ?? 0) + parts[i]!;
  const room = (i: number): number => roomOf(domains[i]!) - parts[i]!;
  let open = domains.map((_, i) => i).filter((i) => room(i) > 0);
  let left = tasks;
  while (left > 0 && open.length > 0) {
    const fewest = open.reduce((least, i) => Math.min(least, count(i)), Number.POSITIVE_INFINITY);
    const round = open.filter((i) => count(i) === fewest).sort((a, b) => room(a) - room(b) || a - b);
    for (const i of round.slice(0, left)) parts[i]!++;
    left -= Math.min(left, round.length);
    open = open.filter((i) => room(i) > 0);
  }
  return parts;
}
