import { expect, test } from 'vitest';
import { EngineHolding } from '../policies/muster/engine-holding.ts';
import type { Trace } from '../traces/trace.ts';
import { fleetOf } from './fleet.ts';
import { replay } from './replay.ts';
import { Stage } from './stage.ts';

/** Jobs that come at once, run for a second, and ask for no device. */
function traceOf(count: number): Trace {
  const zeros = () => new Int32Array(count);
  const times = (ms: number) => new Float64Array(count).fill(ms);
  return {
    ...{ name: 'many', format: 'made', count, originMs: 0, savesWork: true, machineDevices: null },
    ...{ submitMs: times(0), runMs: times(1000), askedMs: times(1000) },
    ...{ size: zeros(), milli: zeros(), user: zeros(), project: zeros(), program: zeros(), line: zeros() },
    names: { users: ['ada'], projects: ['a'], programs: ['train'] },
  };
}

test('however many jobs never start, the replay ends and names them', () => {
  const trace = traceOf(200_000);
  const all = Array.from({ length: trace.count }, (_, job) => job);
  const nothing = () => {};
  const played = replay(trace, fleetOf(0, 8), {
    name: 'idle',
    about: '',
    enter: ({ costs }) => ({
      stage: new Stage(trace, new EngineHolding([], true), costs),
      player: { submitted: nothing, ended: nothing, decide: nothing, waiting: () => all },
    }),
  });
  expect(played.impossible).toHaveLength(trace.count);
});
