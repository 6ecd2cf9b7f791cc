import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NodeId } from './ids.ts';
import {
  type AfterRun,
  afterRun,
  type ErrorClass,
  exitCode,
  type Failures,
  noFailures,
  type RunResult,
  retryDelayMs,
} from './outcome.ts';

const budgets = { user: 2, outOfMemory: 1, infrastructure: 5 };
const node = (i: number) => `node_${i}` as NodeId;
const failure = (
  errorClass: ErrorClass,
  on: NodeId | null = node(1),
): RunResult & { outcome: 'failed' | 'cancelled' } => ({
  outcome: 'failed',
  class: errorClass,
  code: 1,
  signal: null,
  reason: { code: 'x', message: 'x' },
  rank: 0,
  node: on,
});

/** Fails with the class again and again until the job ends; how often it was retried, and with what delays. */
function untilEnd(errorClass: ErrorClass, limit = 200) {
  const delays: number[] = [];
  let failures: Failures = noFailures;
  let avoid: readonly NodeId[] = [];
  for (let i = 0; i < limit; i++) {
    const then = afterRun(budgets, failures, avoid, failure(errorClass, node(i)));
    if (then.kind === 'end') return { delays, failures: then.failures, ended: true };
    ({ failures, avoid } = then);
    delays.push(then.delayMs);
  }
  return { delays, failures, ended: false };
}

describe('after a run', () => {
  test('a success or a cancel is the end and charges nothing', () => {
    const results: RunResult[] = [
      { outcome: 'succeeded' },
      { ...failure('cancelled'), outcome: 'cancelled' },
    ];
    for (const result of results)
      expect(afterRun(budgets, noFailures, [], result)).toEqual({
        kind: 'end',
        result,
        failures: noFailures,
      });
  });

  test.each(['timeout', 'cancelled'] as const)('%s is never retried', (errorClass) => {
    expect(untilEnd(errorClass)).toEqual({ delays: [], failures: noFailures, ended: true });
  });

  test('errors of the command are retried as often as their budget says, doubling the wait', () => {
    expect(untilEnd('user')).toEqual({
      delays: [1000, 2000],
      failures: { ...noFailures, user: 3 },
      ended: true,
    });
  });

  test('running out of memory has a budget of its own', () => {
    expect(untilEnd('out-of-memory')).toEqual({
      delays: [1000],
      failures: { ...noFailures, outOfMemory: 2 },
      ended: true,
    });
  });

  test('a lost node is retried at once the first time', () => {
    expect(untilEnd('infrastructure')).toEqual({
      delays: [0, 1000, 2000, 4000, 8000],
      failures: { ...noFailures, infrastructure: 6 },
      ended: true,
    });
  });

  test('preemption is retried for ever, at once, and charged to nobody', () => {
    const { delays, failures, ended } = untilEnd('preemption');
    expect({ failures, ended, waits: delays.some((ms) => ms > 0) }).toEqual({
      failures: noFailures,
      ended: false,
      waits: false,
    });
  });

  test('only the node of an infrastructure failure is avoided, the last four at most', () => {
    const avoidAfter = (errorClass: ErrorClass, avoid: readonly NodeId[], on: NodeId | null) =>
      (
        afterRun({ ...budgets, user: 100 }, noFailures, avoid, failure(errorClass, on)) as Extract<
          AfterRun,
          { kind: 'retry' }
        >
      ).avoid;
    expect(avoidAfter('user', [node(9)], node(1))).toEqual([node(9)]);
    expect(avoidAfter('preemption', [node(9)], node(1))).toEqual([node(9)]);
    expect(avoidAfter('infrastructure', [node(9)], null)).toEqual([node(9)]);
    expect(avoidAfter('infrastructure', [1, 2, 3, 4].map(node), node(5))).toEqual([2, 3, 4, 5].map(node));
    expect(avoidAfter('infrastructure', [1, 2].map(node), node(1))).toEqual([1, 2].map(node));
  });

  test('each failure charges one budget by one, and no history lets a job run beyond its budgets', () => {
    const classes = fc.constantFrom<ErrorClass>('user', 'out-of-memory', 'infrastructure', 'preemption');
    fc.assert(
      fc.property(fc.array(classes, { maxLength: 60 }), (history) => {
        let failures: Failures = noFailures;
        let avoid: readonly NodeId[] = [];
        for (const [i, errorClass] of history.entries()) {
          const then = afterRun(budgets, failures, avoid, failure(errorClass, node(i)));
          const before = failures.user + failures.outOfMemory + failures.infrastructure;
          const after = then.failures.user + then.failures.outOfMemory + then.failures.infrastructure;
          expect(after - before).toBe(errorClass === 'preemption' ? 0 : 1);
          if (then.kind === 'end') return;
          ({ failures, avoid } = then);
          expect(avoid.length).toBeLessThanOrEqual(4);
          for (const budget of ['user', 'outOfMemory', 'infrastructure'] as const)
            expect(failures[budget]).toBeLessThanOrEqual(budgets[budget]);
        }
      }),
    );
  });
});

test('the wait before a retry grows and stays below five minutes', () => {
  for (const budget of ['user', 'outOfMemory', 'infrastructure'] as const) {
    const delays = Array.from({ length: 101 }, (_, i) => retryDelayMs(budget, i + 1));
    expect(delays.every((ms, i) => i === 0 || ms >= (delays[i - 1] ?? 0))).toBe(true);
    expect(delays.at(-1)).toBe(300_000);
  }
});

test.each([
  [{ outcome: 'succeeded' }, 0],
  [{ ...failure('user'), code: 3 }, 3],
  [{ ...failure('user'), code: null, signal: 'SIGTERM' }, 143],
  [{ ...failure('out-of-memory'), code: null, signal: 'SIGKILL' }, 137],
  [{ ...failure('user'), code: null, signal: 'SIGRTMIN' }, 128],
  [{ ...failure('infrastructure'), code: null }, 1],
  [{ ...failure('timeout'), code: 0 }, 1],
] satisfies [RunResult, number][])('%j exits with %i', (result, code) => {
  expect(exitCode(result)).toBe(code);
});
