// A small generator of our own, so that a seed gives the same numbers on every machine and in every release.

export interface Random {
  /** A whole number from 0, below `bound`. */
  below(bound: number): number;
}

/** SplitMix on 32 bits: a counter, mixed. */
export function seeded(seed: number): Random {
  let counter = seed >>> 0;
  const next = (): number => {
    counter = (counter + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(counter ^ (counter >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  return { below: (bound) => Math.floor((next() / 2 ** 32) * bound) };
}

export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
