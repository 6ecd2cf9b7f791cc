import { type Explanation, type JobId, onlyVerdict, type RunId, type Verdict } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { explanationSchema, replaySchema, verdictSchema } from './engine-view-schemas.ts';
import { explanationView, replayView, verdictView } from './engine-views.ts';

const ms = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const at = '2026-01-02T03:04:05.006Z';
const job = 'job_0e9y2k4m1q8r5t7w3z6x' as JobId;
const run = 'run_0e9y2k4m1q8r5t7w3z6x-1' as RunId;

describe('every moment of a verdict is RFC 3339', () => {
  const told = (verdict: Verdict) => {
    const view = verdictView(verdict);
    expect(verdictSchema.parse(view)).toEqual(view);
    return view;
  };
  test.each([
    [
      { code: 'not-before', untilMs: ms, failures: 2 },
      { code: 'not-before', until: at, failures: 2 },
    ],
    [
      { code: 'near-end', job, endMs: ms },
      { code: 'near-end', job, endsAt: at },
    ],
    [
      { code: 'near-end', job, endMs: null },
      { code: 'near-end', job, endsAt: null },
    ],
    [
      { code: 'reserved', startMs: ms },
      { code: 'reserved', startsAt: at },
    ],
    [
      { code: 'behind', ahead: 3 },
      { code: 'behind', ahead: 3 },
    ],
  ] as const)('%o', (reason, view) => {
    expect(told({ kind: 'waits', reasons: [reason] })).toEqual({ kind: 'waits', reasons: [view] });
  });

  test('with the planned start', () => {
    const planned = { startMs: ms, runs: 3, assumed: 2, overdue: 1 };
    expect(told({ kind: 'waits', reasons: [], planned })).toEqual({
      kind: 'waits',
      reasons: [],
      planned: { startsAt: at, runs: 3, assumed: 2, overdue: 1 },
    });
  });

  test('and the others stay as they are', () => {
    for (const verdict of [
      { kind: 'placed', nodes: [] },
      { kind: 'impossible', reasons: [], nearest: ['4 gpu'] },
    ] as const)
      expect(told(verdict)).toEqual(verdict);
  });
});

test('every moment of an explanation is RFC 3339, and a time limit stays a duration', () => {
  const limit = { kind: 'time-limit', fromMs: null, toMs: 5000, victims: 0 } as const;
  const explanation: Explanation = {
    ...onlyVerdict({ kind: 'waits', reasons: [] }),
    ahead: {
      count: 4,
      jobs: [
        { job, project: 'p', because: { rule: 'starved', sinceMs: ms } },
        { job, project: 'p', because: { rule: 'deadline', latestStartMs: ms } },
        { job, project: 'p', because: { rule: 'submitted', submittedMs: ms } },
        { job, project: 'p', because: { rule: 'priority', theirs: 2, yours: 1 } },
      ],
    },
    changes: [limit],
    ends: {
      count: 2,
      runs: [
        { job, project: 'p', run, endMs: ms },
        { job, project: 'p', run, endMs: null },
      ],
    },
  };
  const view = explanationView(explanation);
  expect(explanationSchema.parse(view)).toEqual(view);
  expect(view).not.toHaveProperty('verdict');
  expect(view.ahead?.jobs.map(({ because }) => because)).toEqual([
    { rule: 'starved', since: at },
    { rule: 'deadline', latestStart: at },
    { rule: 'submitted', submittedAt: at },
    { rule: 'priority', theirs: 2, yours: 1 },
  ]);
  expect(view.changes).toEqual([limit]);
  expect(view.ends.runs.map(({ endsAt }) => endsAt)).toEqual([at, null]);
});

test('a replay says when the first difference was decided', () => {
  const report = {
    snapshot: 5,
    engineVersion: '2',
    recordedVersions: ['1'],
    from: 7,
    to: 90,
    decisions: 30,
    same: 29,
    leadIn: 2,
    divergence: {
      decision: 4,
      sequence: 40,
      nowMs: ms,
      recordedVersion: '1',
      recordedHash: 'a',
      hash: 'b',
      words: [],
      recorded: [],
      replayed: [],
      recordedVerdictsKnown: true,
    },
    cut: false,
  };
  const view = replayView(report);
  expect(replaySchema.parse(view)).toEqual(view);
  expect(view.divergence).toMatchObject({ decision: 4, at });
  expect(view.divergence).not.toHaveProperty('nowMs');
  expect(replayView({ ...report, divergence: null }).divergence).toBeNull();
});
