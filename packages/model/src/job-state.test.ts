import { describe, expect, test } from 'vitest';
import type { JobId, NodeId, RunId } from './ids.ts';
import { type JobPast, type JobState, type JobStateEvent, preemptionsKept, stepJob } from './job-state.ts';
import { type AfterRun, noFailures, preemptedResult, type RunResult } from './outcome.ts';

const run = 'run_000000000000000000_2' as RunId;
const oldRun = 'run_000000000000000000_1' as RunId;
const node = 'node_000000000000000000' as NodeId;
const failures = { ...noFailures, user: 1 };
const preemptor = 'job_000000000000000009' as JobId;
const past: JobPast = {
  failures,
  failedMs: 4,
  avoid: [node],
  preempted: [{ atMs: 3, by: preemptor }],
  savedMs: 7,
};
const waiting = { attempt: 2, sinceMs: 5, notBeforeMs: 8, ...past };
const queued: JobState = { state: 'queued', claim: null, ...waiting };
const starting: JobState = { state: 'starting', attempt: 2, run, ...past };
const running: JobState = { ...starting, state: 'running', startedMs: 20 };
const failed: RunResult = {
  outcome: 'failed',
  class: 'user',
  code: 3,
  signal: null,
  reason: { code: 'exit', message: 'exit code 3' },
  rank: 0,
  node,
};
const ends = (result: RunResult, then: AfterRun = { kind: 'end', result, failures }): JobStateEvent => ({
  kind: 'run-end',
  run,
  result,
  then,
  preemptor: null,
  savedMs: 0,
  nowMs: 50,
});

function next(state: JobState, event: JobStateEvent): JobState {
  const stepped = stepJob(state, event);
  if (!stepped.ok) throw new Error(stepped.reason);
  return stepped.next;
}

describe('a job', () => {
  test('keeps attempt, failures and avoided nodes on its way to running', () => {
    expect(next(queued, { kind: 'plan', run })).toEqual(starting);
    expect(next(starting, { kind: 'run-start', run, nowMs: 20 })).toEqual(running);
  });

  test('that was held and released waits anew, but keeps its backoff', () => {
    const held = next(queued, { kind: 'hold', by: 'ann' });
    expect(held).toEqual({ ...waiting, state: 'held', by: 'ann' });
    expect(next(held, { kind: 'hold', by: 'bob' })).toBe(held);
    expect(next(held, { kind: 'release', nowMs: 30 })).toEqual({ ...queued, sinceMs: 30 });
  });

  test('ignores a late word about an old attempt', () => {
    const late: JobStateEvent[] = [
      { kind: 'run-start', run: oldRun, nowMs: 1 },
      { ...ends(failed), run: oldRun } as JobStateEvent,
    ];
    for (const event of late) expect(stepJob(starting, event)).toEqual({ ok: false, reason: 'stale-run' });
  });

  test('that will be retried queues its next attempt after the delay', () => {
    const counted = { ...failures, user: 2 };
    const retry: AfterRun = { kind: 'retry', failures: counted, delayMs: 2000, avoid: [] };
    expect(next(running, ends(failed, retry))).toEqual({
      state: 'queued',
      attempt: 3,
      sinceMs: 50,
      notBeforeMs: 2050,
      ...past,
      failures: counted,
      failedMs: 50,
      avoid: [],
      claim: null,
    });
    expect(next(running, ends(failed, { ...retry, delayMs: 0 }))).toMatchObject({ notBeforeMs: 0 });
  });

  test('that was preempted queues at once, is charged nothing, and remembers by whom', () => {
    const kept: AfterRun = { kind: 'retry', failures, delayMs: 0, avoid: [node] };
    const preempted = { ...ends(preemptedResult('for another'), kept), preemptor } as JobStateEvent;
    expect(next(running, preempted)).toEqual({
      ...queued,
      attempt: 3,
      sinceMs: 50,
      notBeforeMs: 0,
      preempted: [...past.preempted, { atMs: 50, by: preemptor }],
    });
    let state: JobState = running;
    for (let i = 0; i < 2 * preemptionsKept; i++) {
      state = next(next(state, preempted), { kind: 'plan', run });
      state = { ...state, state: 'running', startedMs: 1 } as JobState;
    }
    expect((state as JobPast).preempted).toHaveLength(preemptionsKept);
  });

  test('that failed while it was being stopped for another was not preempted', () => {
    const kept: AfterRun = { kind: 'retry', failures: { ...failures, user: 2 }, delayMs: 0, avoid: [] };
    expect(next(running, { ...ends(failed, kept), preemptor } as JobStateEvent)).toMatchObject({
      preempted: past.preempted,
      failedMs: 50,
    });
  });

  test('has one claim at a time, and loses it when it starts, is held or gives it up', () => {
    const claim = { exclusive: false, tasks: [], port: 1, uses: {}, victims: [] };
    const claimed = next(queued, { kind: 'claim', claim });
    expect(claimed).toEqual({ ...queued, claim });
    expect(stepJob(claimed, { kind: 'claim', claim })).toEqual({ ok: false, reason: 'not-now' });
    expect(next(claimed, { kind: 'unclaim' })).toEqual(queued);
    expect(next(queued, { kind: 'unclaim' })).toBe(queued);
    expect(next(claimed, { kind: 'plan', run })).toEqual(starting);
    expect(next(claimed, { kind: 'hold', by: 'ann' })).not.toHaveProperty('claim');
  });

  test('cancelled before it was placed has had no such attempt', () => {
    expect(next(queued, { kind: 'cancel', by: 'ann', nowMs: 9 })).toMatchObject({
      state: 'ended',
      attempt: 1,
      endedMs: 9,
      result: { outcome: 'cancelled', reason: { code: 'cancelled', message: 'cancelled by ann' } },
    });
  });

  test('once cancelled is never queued again, whatever the run says', () => {
    const stopping = next(running, { kind: 'cancel', by: 'ann', nowMs: 30 });
    expect(next(stopping, { kind: 'cancel', by: 'bob', nowMs: 31 })).toBe(stopping);
    const retry: AfterRun = { kind: 'retry', failures, delayMs: 0, avoid: [] };
    expect(next(stopping, ends(failed, retry))).toEqual({
      state: 'ended',
      attempt: 2,
      endedMs: 50,
      result: {
        outcome: 'cancelled',
        class: 'cancelled',
        code: 3,
        signal: null,
        reason: { code: 'cancelled', message: 'cancelled by ann' },
        rank: null,
        node: null,
      },
    });
  });

  test('that finished before the stop reached it has finished', () => {
    const stopping = next(running, { kind: 'cancel', by: 'ann', nowMs: 30 });
    expect(next(stopping, ends({ outcome: 'succeeded' }))).toMatchObject({
      result: { outcome: 'succeeded' },
    });
  });
});
