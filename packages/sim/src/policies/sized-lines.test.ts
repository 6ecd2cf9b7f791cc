import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SizedLine } from './sized-line.ts';
import { SizedLines } from './sized-lines.ts';

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('come' as const), ms: fc.integer({ min: 1, max: 50 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('first' as const), ms: fc.integer({ min: 0, max: 50 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('shortest' as const), ms: fc.constant(0) }) },
);

test('a line finds the first that is short enough and the shortest, however many came and left', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 200, maxLength: 600 }), (steps) => {
      const line = new SizedLine(1);
      let naive: { readonly job: number; readonly ms: number }[] = [];
      for (const [job, { kind, ms }] of steps.entries()) {
        if (kind === 'come') {
          line.push(job, ms);
          naive.push({ job, ms });
          continue;
        }
        const shortest = Math.min(...naive.map((each) => each.ms));
        const limit = kind === 'shortest' ? shortest : ms;
        const expected = naive.find((each) => each.ms <= limit);
        const place = kind === 'shortest' ? line.shortest() : line.firstWithin(ms);
        expect(place < 0 ? undefined : line.jobAt(place)).toBe(expected?.job);
        if (place < 0) continue;
        expect(line.believedMsAt(place)).toBe(expected!.ms);
        line.takeAt(place);
        naive = naive.filter((each) => each !== expected);
        expect(line.waiting).toBe(naive.length);
      }
      expect([...line.inOrder()].map((place) => line.jobAt(place))).toEqual(naive.map(({ job }) => job));
    }),
    { numRuns: 30, seed: 5 },
  );
});

test('together the lines are one line in order of arrival', () => {
  const lines = new SizedLines();
  for (const [job, size] of [4, 1, 2, 1, 4].entries()) lines.push(job, size, 10);
  expect(lines.smallest).toBe(1);
  const order: number[] = [];
  for (let first = lines.first(); first; first = lines.first()) order.push(lines.take(first));
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(lines.waiting).toBe(0);
  expect(lines.smallest).toBe(Number.POSITIVE_INFINITY);
});
