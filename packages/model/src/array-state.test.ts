import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ArrayState,
  countMember,
  dropMembers,
  freshArray,
  holdArray,
  mayTake,
  releaseArray,
  rowlessMember,
  settledArray,
  stopArray,
  takeMember,
} from './array-state.ts';
import { countOf } from './index-ranges.ts';
import { freshPast, type JobState } from './job-state.ts';
import { cancelledResult, type JobResult } from './outcome.ts';

const size = { count: 10, parallel: null };
const fresh = (): ArrayState => freshArray(size, 5, null);
const queued: JobState = {
  state: 'queued',
  attempt: 1,
  sinceMs: 5,
  notBeforeMs: 0,
  claim: null,
  ...freshPast,
};
const running: JobState = { state: 'starting', attempt: 1, run: 'run' as never, ...freshPast };
const over = (result: JobResult): JobState => ({ state: 'ended', attempt: 1, result, endedMs: 9 });
const succeeded = over({ outcome: 'succeeded' });
const failed = over({ ...cancelledResult('x'), outcome: 'failed', class: 'user' });

function settle(array: ArrayState): ArrayState {
  return settledArray(array, size, 9);
}

function finish(array: ArrayState, from: number, to: number, end: JobState): ArrayState {
  let next = array;
  for (let index = from; index < to; index++) {
    next = countMember(takeMember(next, index), queued, running);
    next = countMember(next, running, end);
  }
  return settle(next);
}

describe('an array', () => {
  test('runs while a member is placed, waits while none is, and every member is somewhere', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('take', 'end', 'requeue', 'drop'), { maxLength: 40 }), (steps) => {
        let array = fresh();
        for (const [i, step] of steps.entries()) {
          if (step === 'take' && mayTake(array, i % 10))
            array = countMember(takeMember(array, i % 10), queued, running);
          if (step === 'end' && array.live > 0)
            array = countMember(array, running, i % 2 ? succeeded : failed);
          if (step === 'requeue' && array.live > 0) array = countMember(array, running, queued);
          if (step === 'drop') array = dropMembers(array, [i % 10, (i % 10) + 1], 9);
          array = settle(array);
          const { waiting, again, live, cancelled } = array;
          expect(countOf(waiting) + again + live + array.succeeded + array.failed + cancelled).toBe(10);
          expect(array.state).toBe(live > 0 ? 'running' : countOf(waiting) + again > 0 ? 'queued' : 'ended');
        }
      }),
    );
  });

  test('succeeds when all members did, and tells counts when not', () => {
    expect(finish(fresh(), 0, 10, succeeded)).toMatchObject({ result: { outcome: 'succeeded' } });
    const some = finish(finish(fresh(), 0, 8, succeeded), 8, 9, failed);
    expect(some.state).toBe('queued');
    expect(settle(dropMembers(some, [9, 9], 9))).toMatchObject({
      state: 'ended',
      result: {
        outcome: 'failed',
        reason: { message: '8 of 10 members succeeded, 1 failed, 1 was cancelled' },
      },
    });
    expect(settle(dropMembers(finish(fresh(), 0, 8, succeeded), [8, 9], 9))).toMatchObject({
      result: { outcome: 'cancelled', reason: { message: '8 of 10 members succeeded, 2 were cancelled' } },
    });
  });

  test('is held and released as a whole, and members wait anew then', () => {
    const held = holdArray(fresh(), 'bo') as ArrayState;
    expect(held).toMatchObject({ state: 'held', by: 'bo', sinceMs: 5 });
    expect(mayTake(held, 0)).toBe(false);
    expect(holdArray(held, 'ada')).toBe(held);
    expect(releaseArray(held, 7)).toMatchObject({ state: 'queued', sinceMs: 7 });
    const stopping = stopArray(held, 'bo');
    expect([holdArray(stopping, 'bo'), releaseArray(stopping, 7)]).toEqual(['not-now', 'not-now']);
    const ended = settle(dropMembers(stopping, [0, 9], 9));
    expect(ended).toMatchObject({ result: { reason: { message: 'cancelled by bo' } } });
    expect([holdArray(ended, 'bo'), releaseArray(ended, 7)]).toEqual(['already-ended', 'already-ended']);
    expect(stopArray(ended, 'bo')).toBe(ended);
  });

  test('answers for its members without a row', () => {
    const array = dropMembers(takeMember(fresh(), 0), [3, 4], 9);
    expect(rowlessMember(array, 0)).toBeNull();
    expect(rowlessMember(array, 10)).toBeNull();
    expect(rowlessMember(array, 5)).toMatchObject({ state: 'queued', attempt: 1, sinceMs: 5 });
    expect(rowlessMember(array, 4)).toMatchObject({
      state: 'ended',
      endedMs: 9,
      result: { outcome: 'cancelled' },
    });
  });
});
