import { expect, test } from 'vitest';
import type { RunResult } from './outcome.ts';
import { type RunState, type RunStateEvent, type Stop, stepRun } from './run-state.ts';

const stopFor = (code: string): Stop => {
  const reason = { code, message: code };
  const result: RunResult = {
    outcome: 'cancelled',
    class: 'cancelled',
    code: null,
    signal: null,
    reason,
    rank: null,
    node: null,
  };
  return { reason, result, preemptor: null, askedMs: null };
};

function after(state: RunState, ...events: RunStateEvent[]): RunState {
  return events.reduce((now, event) => {
    const stepped = stepRun(now, event);
    if (!stepped.ok) throw new Error(`${event.kind}: ${stepped.reason}`);
    return stepped.next;
  }, state);
}

const running: RunState = { state: 'running', startedMs: 5 };
const silence: RunStateEvent = { kind: 'silence', nowMs: 20 };

test('the first reason to stop stays, also through silence', () => {
  const first = stopFor('first');
  const stopped = after(running, { kind: 'stop', stop: first }, { kind: 'stop', stop: stopFor('second') });
  expect(stopped).toEqual({ state: 'stopping', startedMs: 5, stop: first });
  const unknown = after(stopped, silence, { kind: 'stop', stop: stopFor('third') });
  expect(unknown).toEqual({ state: 'unknown', startedMs: 5, sinceMs: 20, stop: first });
  expect(after(unknown, { kind: 'seen', allStarted: true, nowMs: 30 })).toEqual(stopped);
});

test('a later stop that asks for no checkpoint ends the wait for one, and changes nothing else', () => {
  const asked = { ...stopFor('moved'), askedMs: 10 };
  const moved = after(running, { kind: 'stop', stop: asked });
  const again: RunStateEvent = { kind: 'stop', stop: { ...stopFor('preempted'), askedMs: 15 } };
  const cancel: RunStateEvent = { kind: 'stop', stop: stopFor('cancel') };
  expect(after(moved, again)).toEqual(moved);
  expect(after(moved, cancel)).toEqual({ ...moved, stop: { ...asked, askedMs: null } });
  expect(after(moved, silence, cancel)).toMatchObject({ stop: { ...asked, askedMs: null } });
});

test('a stop asked for while nobody knows is carried out when the run is seen again', () => {
  const stop = stopFor('cancel');
  const seen: RunStateEvent = { kind: 'seen', allStarted: true, nowMs: 30 };
  expect(after(running, silence, { kind: 'stop', stop }, seen)).toEqual({
    state: 'stopping',
    startedMs: 5,
    stop,
  });
});

test('a run seen again goes on as what it is', () => {
  expect(after(running, silence, { kind: 'seen', allStarted: true, nowMs: 30 })).toEqual(running);
  const starting: RunState = { state: 'starting' };
  expect(after(starting, silence, { kind: 'seen', allStarted: false, nowMs: 30 })).toEqual(starting);
  expect(after(starting, silence, { kind: 'seen', allStarted: true, nowMs: 30 })).toEqual({
    state: 'running',
    startedMs: 30,
  });
});

test('unknown is dated from the first silence', () => {
  expect(after(running, silence, { kind: 'silence', nowMs: 99 })).toMatchObject({ sinceMs: 20 });
});

test('an end tells when it started, if it did', () => {
  const end: RunStateEvent = { kind: 'end', result: { outcome: 'succeeded' }, nowMs: 40 };
  expect(after(running, silence, end)).toMatchObject({ startedMs: 5, endedMs: 40 });
  expect(after({ state: 'planned' }, end)).toMatchObject({ startedMs: null, endedMs: 40 });
});
