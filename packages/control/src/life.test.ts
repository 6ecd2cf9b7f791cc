import { type Engine, loadEngine } from '@muster/engine';
import {
  type DecisionTrace,
  defaultPolicy,
  type EngineRows,
  jobDemand,
  type LogEvent,
  type Plan,
  parseSpec,
} from '@muster/model';
import type { Outcome, PlanCommitted } from '@muster/store';
import { expect, test } from 'vitest';
import { cycle } from './cycle.ts';
import { Life } from './life.ts';

type Answer = Outcome<PlanCommitted, 'stale-epoch' | 'stale-policy'>;

/** An engine with one job and no nodes: it has one verdict to tell, once a life. */
function world(answer: () => Answer) {
  const parsed = parseSpec(
    { command: ['true'] },
    { project: 'p', tier: 'standard', stopAfterMs: () => null },
  );
  if (!parsed.ok) throw new Error('the smallest spec is a spec');
  const none = { nodes: [], runs: [], arrays: [], jobs: [], usage: [] };
  const rows = { sequence: 0, policyVersion: 1, policy: defaultPolicy, ...none };
  const engine: Engine = loadEngine(rows as EngineRows);
  const facts = {
    job: 'job_1',
    version: 1,
    name: 'a',
    project: 'p',
    tier: 'standard',
    priority: 0,
    user: 'ada',
    durationMs: null,
    deadlineMs: null,
    submittedMs: 0,
  };
  const body = { kind: 'job.submitted', by: 'ada', held: false, ...facts, demand: jobDemand(parsed.spec) };
  engine.apply({ sequence: 1, atMs: 0, body } as unknown as LogEvent);
  const logged: { verdicts: number; trace: DecisionTrace }[] = [];
  let nowMs = 1000;
  const store = {
    nowMs: async () => nowMs++,
    eventsSince: async () => [],
    commitPlan: async (_epoch: number, plan: Plan, trace?: DecisionTrace) => {
      logged.push({ verdicts: plan.verdicts.length, trace: trace! });
      return answer();
    },
  };
  const life = new Life();
  const step = (epoch = 1) => cycle({ epoch, engine, life, store, lastNowMs: 0 });
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  const rehearse = (): void => life.rehearse(engine, nowMs++);
  return { logged, step, pass, life, rehearse };
}

const committed: Answer = {
  outcome: 'committed',
  sequence: 1,
  value: { applied: [], claimed: [], released: [], dropped: [] },
};

test('what was told in a plan whose commit is refused or unknown is told again, in a new life', async () => {
  const answers: Answer[] = [
    { outcome: 'refused', refusal: 'stale-policy' },
    { outcome: 'unknown' },
    committed,
  ];
  const { logged, step } = world(() => answers.shift()!);
  for (let i = 0; i < 4; i++) await step();
  expect(logged.map(({ verdicts, trace }) => [verdicts, trace.turn])).toEqual([
    [1, 0],
    [1, 0],
    [1, 0],
  ]);
  expect(new Set(logged.map(({ trace }) => trace.life)).size).toBe(3);
});

test('a commit that fails ends the life too', async () => {
  let fails = true;
  const { logged, step } = world(() => {
    if (fails) throw new Error('no connection');
    return committed;
  });
  await expect(step()).rejects.toThrow('no connection');
  fails = false;
  await step();
  expect(logged.map(({ verdicts }) => verdicts)).toEqual([1, 1]);
});

test('a new epoch tells everything anew, because another leader may have told something else', async () => {
  const { logged, step } = world(() => committed);
  for (const epoch of [1, 1, 3, 3]) await step(epoch);
  expect(logged.map(({ verdicts, trace }) => [verdicts, trace.turn])).toEqual([
    [1, 0],
    [1, 0],
  ]);
});

test('a life ends after an hour, so that a replay can start there', async () => {
  const { logged, step, pass } = world(() => committed);
  await step();
  pass(3_600_001);
  await step();
  expect(logged.map(({ trace }) => [trace.life, trace.turn])).toEqual([
    [1, 0],
    [2, 0],
  ]);
});

test('decides that gave nothing are told with the next decision, and after a thousand by themselves', async () => {
  const { logged, step } = world(() => committed);
  for (let i = 0; i < 1003; i++) await step();
  expect(logged.map(({ trace }) => [trace.turn, trace.quiet.length])).toEqual([
    [0, 0],
    [1, 1000],
  ]);
  expect(logged[1]?.trace.quiet.slice(0, 2)).toEqual([
    [1, 1001],
    [1, 1002],
  ]);
});

test('a life ends with a snapshot, before the next decision and not while one is committed', async () => {
  const { logged, step, life } = world(() => {
    life.endSoon();
    return committed;
  });
  await step();
  await step();
  expect(logged.map(({ verdicts, trace }) => [verdicts, trace.life, trace.turn])).toEqual([
    [1, 1, 0],
    [1, 2, 0],
  ]);
});

test('what a follower told itself is told again when it leads', async () => {
  const { logged, step, rehearse } = world(() => committed);
  rehearse();
  rehearse();
  await step();
  expect(logged.map(({ verdicts, trace }) => [verdicts, trace.turn, trace.quiet])).toEqual([[1, 0, []]]);
});
