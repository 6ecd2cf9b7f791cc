import type { EngineRows } from '@muster/model';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { encodeRows, RowsReader } from './snapshot.ts';
import { arbitrarySteps } from './testing/arbitrary.ts';
import { job, node, oneTask } from './testing/builders.ts';
import { cases, timeoutOf } from './testing/cases.ts';
import { play } from './testing/play.ts';
import { World } from './testing/world.ts';

const tried = cases(100);

function decoded(pieces: Iterable<string>): EngineRows {
  const reader = new RowsReader();
  for (const piece of pieces) reader.take(piece);
  return reader.rows();
}

test('an engine loaded from a snapshot is the engine it was taken of', { timeout: timeoutOf(tried) }, () => {
  fc.assert(
    fc.property(arbitrarySteps, (steps) => {
      const world = play(steps);
      for (const rows of [world.rows(), world.engine.rows()]) {
        const again = decoded(encodeRows(rows));
        expect(again).toEqual(rows);
        expect(loadEngine(again).stateHash()).toBe(world.engine.stateHash());
      }
    }),
    tried,
  );
});

test('what many jobs ask for is written once a piece', () => {
  const world = new World(loadEngine, node('a'));
  for (let n = 0; n < 25_000; n++) world.submit(job(n, oneTask(n % 2)));
  const pieces = [...encodeRows(world.engine.rows())];
  expect(pieces).toHaveLength(1 + 1 + 3);
  const demands = pieces.join('').split('"accelerators"').length - 1;
  expect(demands).toBe(2 * 3);
  expect(loadEngine(decoded(pieces)).stateHash()).toBe(world.engine.stateHash());
});

test('a snapshot of another form is refused in words', () => {
  expect(() => decoded(['{"form":"other"}'])).toThrow('a snapshot of form "other" cannot be read');
});
