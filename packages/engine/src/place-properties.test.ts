// Of places that differ in what they cost and in how far the data is: the same choices as by the naive reference, and the same by an
// engine that is rebuilt.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Step } from './testing/arbitrary.ts';
import { arbitraryPlacedSteps } from './testing/arbitrary-places.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { play } from './testing/play.ts';
import { bare, referenceUnits } from './testing/reference.ts';

const tried = cases(100);

function holds(property: (steps: readonly Step[]) => void): void {
  fc.assert(fc.property(arbitraryPlacedSteps, property), tried);
}

describe('for any history with regions, instance types and data', { timeout: timeoutOf(tried) }, () => {
  test('tasks go where the reference puts them', () => {
    holds((steps) => {
      play(steps, (world) => {
        const plan = world.engine.fork().decide(world.nowMs);
        expect(plan.units.map(bare)).toEqual(referenceUnits(world.rows(), world.nowMs).map(bare));
      });
    });
  });

  test('an engine that is rebuilt has the same state and places the same', () => {
    holds((steps) => {
      play(steps, (world) => {
        const rebuilt = world.rebuilt();
        expect(rebuilt.stateHash()).toBe(world.engine.stateHash());
        expect(rebuilt.decide(world.nowMs).units).toEqual(world.engine.decide(world.nowMs).units);
      });
    });
  });
});
