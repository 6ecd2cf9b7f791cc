import type { ListedReport } from '@muster/drivers';
import type { RunId } from '@muster/model';
import { expect, it } from 'vitest';
import { RunPlaces } from './run-places.ts';

const run = 'run_000000000000000001_1' as RunId;
const report = (node: string): ListedReport => ({
  run,
  rank: 0,
  node,
  began: true,
  state: 'running',
  exit: null,
});

it('knows the nodes of a run while they are listed', () => {
  const places = new RunPlaces();
  const [a, b] = [[report('a')], [report('b')]];
  places.see(
    new Map([
      ['a', a],
      ['b', b],
    ]),
  );
  expect(places.of(run)).toEqual(['a', 'b']);
  places.see(new Map([['b', b]]));
  expect(places.of(run)).toEqual(['b']);
  places.see(new Map([['b', []]]));
  expect([places.has(run), places.of(run)]).toEqual([false, []]);
});
