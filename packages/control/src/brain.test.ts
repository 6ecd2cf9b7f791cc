import { loadEngine } from '@muster/engine';
import { defaultPolicy, type EngineRows, jobDemand, type LogEvent, parseSpec } from '@muster/model';
import type { Outcome, PlanCommitted } from '@muster/store';
import { expect, test } from 'vitest';
import { startBrain } from './brain.ts';
import { virtualWorld } from './testing/virtual-world.ts';

type Answer = Outcome<PlanCommitted, 'stale-epoch' | 'stale-policy'>;

const stale: Answer = { outcome: 'refused', refusal: 'stale-epoch' };
const taken: Answer = {
  outcome: 'committed',
  sequence: 1,
  value: { applied: [], claimed: [], released: [], dropped: [] },
};

/** A log with one job and no nodes: every engine has one verdict to tell. */
function submitted(): LogEvent {
  const defaults = { project: 'p', tier: 'standard', stopAfterMs: () => null };
  const parsed = parseSpec({ command: ['true'] }, defaults);
  if (!parsed.ok) throw new Error('the smallest spec is a spec');
  const times = { durationMs: null, deadlineMs: null, submittedMs: 0 };
  const facts = {
    job: 'job_1',
    version: 1,
    name: 'a',
    project: 'p',
    tier: 'standard',
    priority: 0,
    user: 'ada',
  };
  const body = {
    kind: 'job.submitted',
    by: 'ada',
    held: false,
    ...facts,
    ...times,
    demand: jobDemand(parsed.spec),
  };
  return { sequence: 1, atMs: 0, body } as unknown as LogEvent;
}

async function leading(answers: { readonly epoch: number; readonly answer: Promise<Answer> }[]) {
  const world = virtualWorld();
  const none = { nodes: [], runs: [], arrays: [], jobs: [], usage: [] };
  const rows = { sequence: 0, policyVersion: 1, policy: defaultPolicy, ...none };
  const decided: number[] = [];
  const brain = await startBrain({
    world,
    load: loadEngine,
    onBug: (error) => {
      throw error;
    },
    store: {
      loadEngine: async () => rows as EngineRows,
      nowMs: async () => Math.floor(world.clock.monotonicMs()),
      eventsSince: async (sequence) => (sequence === 0 ? [submitted()] : []),
      onEvents: () => () => {},
      commitPlan: (epoch) => {
        decided.push(epoch);
        return answers.find((one) => one.epoch === epoch)?.answer ?? Promise.resolve(taken);
      },
    },
  });
  return { world, brain, decided };
}

test('a decision that an old epoch is refused does not end the leading with a newer one', async () => {
  let refuse: (answer: Answer) => void = () => {};
  const answer = new Promise<Answer>((resolve) => {
    refuse = resolve;
  });
  const { world, brain, decided } = await leading([{ epoch: 1, answer }]);
  brain.lead(1);
  await world.advance(2000);
  expect(decided).toEqual([1]);
  // The lease was lost and taken again while the answer was on its way.
  brain.lead(null);
  brain.lead(2);
  refuse(stale);
  await world.advance(5000);
  expect(decided).toEqual([1, 2]);
  await brain.stop();
});

test('a server whose epoch is refused stops deciding with it', async () => {
  const { world, brain, decided } = await leading([{ epoch: 1, answer: Promise.resolve(stale) }]);
  brain.lead(1);
  await world.advance(10_000);
  expect(decided).toEqual([1]);
  await brain.stop();
});
