// Machines that fail at a given rate, as fleets do: each by itself, again and again, beside the faults of a seed.
import type { Random } from '../random.ts';
import type { VirtualWorld } from '../world/world.ts';

/** How often a machine fails on average, and how long it is away at most. */
export interface Wear {
  readonly everyMs: number;
  readonly awayMsMax: number;
}

export function drawWear(random: Random): Wear | null {
  if (!random.chance(0.25)) return null;
  const everyMs = [40_000, 120_000, 400_000][random.below(3)] as number;
  return { everyMs, awayMsMax: random.chance(0.5) ? 10_000 : 80_000 };
}

const tickMs = 1000;

/** Draws when each machine fails and comes back; a fault may well have it at the time. */
export function wearOut(world: VirtualWorld, random: Random, wear: Wear, untilMs: number): void {
  for (const machine of world.machines)
    for (let atMs = 0; atMs < untilMs; ) {
      atMs += tickMs;
      // Of every second as likely as of any other.
      if (!random.chance(tickMs / wear.everyMs)) continue;
      world.scheduler.after(atMs, () => machine.powerOff());
      atMs += 1 + random.below(wear.awayMsMax);
      world.scheduler.after(atMs, () => machine.powerOn());
    }
}
