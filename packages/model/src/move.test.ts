import { expect, test } from 'vitest';
import type { JobDemand } from './demand.ts';
import type { RunId } from './ids.ts';
import { freshPast, type JobState, type JobStateEvent, stepJob } from './job-state.ts';
import { type Move, moveDemand, movingText, placeText } from './move.ts';
import { type AfterRun, movedResult } from './outcome.ts';

const first = 'run_000000000000000000_1' as RunId;
const second = 'run_000000000000000000_2' as RunId;
const demand: JobDemand = {
  groups: [],
  constraints: [{ label: 'pool', op: 'in', values: ['gpu'] }],
  preferences: [],
  topology: null,
  capabilities: [],
  exclusive: false,
};
const move: Move = {
  run: first,
  place: { label: 'cluster', op: 'not-in', values: ['north'] },
  by: 'ann',
  reason: 'new switch',
  over: false,
  base: { head: 'head', demand },
};
const running: JobState = { state: 'running', attempt: 1, run: first, startedMs: 1, ...freshPast };
const then: AfterRun = { kind: 'retry', failures: freshPast.failures, delayMs: 0, avoid: [] };
const ends = (run: RunId): JobStateEvent => ({
  kind: 'run-end',
  run,
  result: movedResult('moved'),
  then,
  preemptor: null,
  savedMs: 0,
  nowMs: 5,
});

function after(state: JobState, ...events: JobStateEvent[]): JobState {
  for (const event of events) {
    const stepped = stepJob(state, event);
    if (!stepped.ok) throw new Error(`${event.kind}: ${stepped.reason}`);
    state = stepped.next;
  }
  return state;
}
const moveOf = (state: JobState) => ('move' in state ? state.move : undefined);

test('a move stays with the job until its next run has started, and is gone when it waits again', () => {
  const waits = after(running, { kind: 'move', move }, ends(first));
  expect(moveOf(waits)).toEqual(move);
  const starts = after(waits, { kind: 'plan', run: second });
  expect(moveOf(starts)).toEqual(move);
  // It did not come so far.
  expect(moveOf(after(starts, ends(second)))).toEqual(move);
  const runs = after(starts, { kind: 'run-start', run: second, nowMs: 6 });
  expect(moveOf(runs)).toEqual({ ...move, over: true });
  expect(after(runs, ends(second))).not.toHaveProperty('move');
});

test('a run that starts while it is being stopped for a move is not where it was to go', () => {
  const starting: JobState = { state: 'starting', attempt: 1, run: first, ...freshPast };
  const runs = after(starting, { kind: 'move', move }, { kind: 'run-start', run: first, nowMs: 2 });
  expect(moveOf(runs)).toEqual(move);
});

test('a move is taken back at once while the job waits, and with the next wait while its run is stopped', () => {
  const moving = after(running, { kind: 'move', move });
  expect(moveOf(after(moving, { kind: 'unmove' }))).toEqual({ ...move, over: true });
  expect(after(moving, { kind: 'unmove' }, ends(first))).not.toHaveProperty('move');
  const waits = after(moving, ends(first));
  expect(after(waits, { kind: 'unmove' })).not.toHaveProperty('move');
  expect(after(waits, { kind: 'hold', by: 'bob' }, { kind: 'unmove' })).not.toHaveProperty('move');
  const starts = after(waits, { kind: 'plan', run: second });
  expect(stepJob(starts, { kind: 'unmove' })).toEqual({ ok: false, reason: 'not-now' });
});

test('only the run that a move names is moved', () => {
  expect(stepJob({ ...running, run: second }, { kind: 'move', move })).toEqual({
    ok: false,
    reason: 'stale-run',
  });
});

test('a move is one more constraint for as long as it lasts, and words for people', () => {
  expect(moveDemand(move).constraints).toEqual([...demand.constraints, move.place]);
  expect(moveDemand({ ...move, over: true })).toBe(demand);
  expect(placeText(move.place)).toBe('away from cluster north');
  expect(movingText({ ...running, move })).toBe(
    'being moved away from cluster north by ann: new switch; its run is being stopped',
  );
  expect(movingText({ ...running, move: { ...move, over: true } })).toBe('');
  expect(movingText({ state: 'queued', move })).toBe('moved away from cluster north by ann: new switch');
});
