import { describe, expect, it } from 'vitest';
import { addStrike, mayQuarantine, strikeRule, strikesNow } from './strikes.ts';

const strike = { code: 'bad-order', detail: 'unexpected hello' } as const;

describe('strikes', () => {
  it('count up, each of them for a day from the last', () => {
    const one = addStrike(null, strike, strikeRule, 1000);
    const two = addStrike(one, strike, strikeRule, 1000 + strikeRule.memoryMs - 1);
    expect([one.count, two.count]).toEqual([1, 2]);
    expect(strikesNow(two, two.untilMs - 1)).toBe(two);
    expect(strikesNow(two, two.untilMs)).toBeNull();
    expect(addStrike(two, strike, strikeRule, two.untilMs).count).toBe(1);
  });

  it.each([
    { nodes: 1, quarantined: 0, open: 0, may: false },
    { nodes: 2, quarantined: 0, open: 1, may: true },
    { nodes: 2, quarantined: 1, open: 0, may: false },
    { nodes: 9, quarantined: 1, open: 7, may: false },
    { nodes: 19, quarantined: 1, open: 17, may: false },
    { nodes: 20, quarantined: 1, open: 18, may: true },
    { nodes: 20, quarantined: 0, open: 0, may: false },
    { nodes: 100, quarantined: 10, open: 89, may: false },
  ])(
    'of $nodes nodes with $quarantined quarantined and $open others open, one more: $may',
    ({ may, ...pool }) => {
      expect(mayQuarantine(pool, strikeRule)).toBe(may);
    },
  );
});
