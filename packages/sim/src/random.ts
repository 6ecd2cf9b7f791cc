// The one source of chance in a simulated world: a small generator of our own, so that a seed gives the same world on every
// machine and in every release of Node. A part of a world that must not shift when another part draws more takes a
// generator of its own by `split`.

export interface Random {
  /** A whole number from 0, below `bound`. */
  below(bound: number): number;
  /** From 0, below 1. */
  unit(): number;
  chance(probability: number): boolean;
  /** Another generator that follows from this seed and the name alone, however much was drawn here. */
  split(name: string): Random;
}

/** SplitMix on 32 bits: a counter, mixed. */
export function seeded(seed: number): Random {
  let counter = mix(seed >>> 0);
  const unit = (): number => {
    counter = (counter + 0x9e3779b9) >>> 0;
    return mix(counter) / 2 ** 32;
  };
  return {
    unit,
    below: (bound) => Math.floor(unit() * bound),
    chance: (probability) => unit() < probability,
    split: (name) => seeded(hashed(name, seed >>> 0)),
  };
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function hashed(text: string, seed: number): number {
  let hash = mix(seed ^ 0x811c9dc5);
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return mix(hash);
}
