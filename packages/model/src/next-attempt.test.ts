import { expect, test } from 'vitest';
import { freshPast, type JobState } from './job-state.ts';
import { hasNextAttempt } from './next-attempt.ts';
import { cancelledResult, movedResult, preemptedResult, type RunResult } from './outcome.ts';
import type { RunState } from './run-state.ts';

const retry = { user: 1, outOfMemory: 0, infrastructure: 0 };
const running = { state: 'running', attempt: 1, run: 'run_1_1', startedMs: 0, ...freshPast } as JobState;
const spent = { ...running, failures: { user: 1, outOfMemory: 0, infrastructure: 0 } } as JobState;
const failed = (errorClass: 'user' | 'out-of-memory' | 'timeout'): RunResult => ({
  ...(preemptedResult('') as Extract<RunResult, { outcome: 'failed' | 'cancelled' }>),
  class: errorClass,
});
const unknown = (result: RunResult | null): RunState => ({
  state: 'unknown',
  startedMs: 0,
  sinceMs: 0,
  stop: result && { reason: { code: 'x', message: '' }, result, preemptor: null, askedMs: null },
});

test.each([
  ['nothing stops its run', running, unknown(null), true],
  ['its run makes room', running, unknown(preemptedResult('')), true],
  ['it is moved', running, unknown(movedResult('')), true],
  ['a task failed, and it may try again', running, unknown(failed('user')), true],
  ['a task failed, and it has tried again', spent, unknown(failed('user')), false],
  ['a task failed, and it may not try again', running, unknown(failed('out-of-memory')), false],
  ['its time was over', running, unknown(failed('timeout')), false],
  ['somebody deleted a task of it', running, unknown(cancelledResult('')), false],
  ['it is cancelled', { ...running, state: 'stopping', by: 'ada' } as JobState, unknown(null), false],
])('%s', (_, job, run, expected) => {
  expect(hasNextAttempt(job, run, retry)).toBe(expected);
});
