import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { advancePast, noPast, pastAt } from './usage.ts';

const halfLifeMs = 256_000;
const second = 1000;

describe('past use', () => {
  test('of a project that has used an amount for ever is that amount, and halves each half-life after', () => {
    const start = advancePast(noPast, 0, second, halfLifeMs);
    const long = advancePast(start, 8000, 100 * halfLifeMs, halfLifeMs);
    expect(pastAt(long, 8000, 100 * halfLifeMs, halfLifeMs)).toBe(8000);
    const idle = (halves: number) => pastAt(long, 0, (100 + halves) * halfLifeMs, halfLifeMs);
    expect([1, 2, 3].map(idle)).toEqual([4000, 2000, 1000]);
    expect(idle(60)).toBe(0);
  });

  test('counts what was used in parts of a tick', () => {
    // Ticks of a second would count this; ten half-seconds in each of 256 ticks of 10 s are half the use.
    const slow = 10 * halfLifeMs;
    let past = advancePast(noPast, 0, 0, slow);
    for (let tick = 0; tick < 25_600; tick++) {
      past = advancePast(past, 1000, (tick * 10 + 5) * second, slow);
      past = advancePast(past, 0, (tick * 10 + 10) * second, slow);
    }
    expect(pastAt(past, 0, 256_000 * second, slow)).toBeGreaterThan(498);
    expect(pastAt(past, 0, 256_000 * second, slow)).toBeLessThan(502);
  });

  test('is the same whether or not somebody looked in between, and whole numbers all the way', () => {
    const step = fc.record({ use: fc.nat(2 ** 40), afterMs: fc.nat(10 ** 9) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
        let past = noPast;
        let nowMs = 10 ** 12;
        past = advancePast(past, 0, nowMs, halfLifeMs);
        for (const { use, afterMs } of steps) {
          nowMs += afterMs;
          const looked = pastAt(past, use, nowMs, halfLifeMs);
          past = advancePast(past, use, nowMs, halfLifeMs);
          expect(pastAt(past, use, nowMs, halfLifeMs)).toBe(looked);
          for (const value of [past.value, past.used, past.asOfS])
            expect(Number.isSafeInteger(value)).toBe(true);
          expect(past.value).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  test('stands still when time goes back', () => {
    const past = advancePast(noPast, 5, 10_000_000, halfLifeMs);
    expect(advancePast(past, 5, 9_000_000, halfLifeMs)).toEqual(past);
  });
});
