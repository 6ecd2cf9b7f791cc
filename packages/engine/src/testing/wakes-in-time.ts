// Whether an engine that lives on wakes in time. It may wake for nothing, because of what it once looked at, and so may one that is
// loaded now; but before the one wakes the other must find nothing to do, at none of the times at which it would wake itself.
import type { Plan } from '@muster/model';
import { expect } from 'vitest';
import type { World } from './world.ts';

/** Most worlds have one or two such times. */
const looksMax = 20;

/** `plan` is what the world's engine decides now. */
export function wakesInTime(world: World, { units, wakeAtMs }: Plan): void {
  if (units.length > 0) return;
  const untilMs = wakeAtMs ?? Number.POSITIVE_INFINITY;
  let atMs: number | null = world.nowMs;
  for (let looks = 0; looks < looksMax && atMs !== null && atMs < untilMs; looks++) {
    const plan: Plan = world.rebuilt().decide(atMs);
    expect(plan.units, `at ${atMs}, before ${untilMs}`).toEqual([]);
    atMs = plan.wakeAtMs;
  }
}
