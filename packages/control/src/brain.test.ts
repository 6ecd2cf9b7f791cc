import { loadEngine } from '@muster/engine';
import { defaultPolicy, type EngineRows, jobDemand, type LogEvent, parseSpec } from '@muster/model';
import type { Outcome, PlanCommitted } from '@muster/store';
import { expect, test } from 'vitest';
import { type BrainDeps, startBrain } from './brain.ts';
import { virtualWorld } from './testing/virtual-world.ts';

type Answer = Outcome<PlanCommitted, 'stale-epoch' | 'stale-policy'>;

const stale: Answer = { outcome: 'refused', refusal: 'stale-epoch' };
const taken: Answer = {
  outcome: 'committed',
  sequence: 1,
  value: { applied: [], claimed: [], released: [], dropped: [] },
};

/** A job in a log without nodes: every engine has one verdict to tell. */
function submitted(sequence = 1): LogEvent {
  const defaults = { project: 'p', tier: 'standard', stopAfterMs: () => null };
  const parsed = parseSpec({ command: ['true'] }, defaults);
  if (!parsed.ok) throw new Error('the smallest spec is a spec');
  const times = { durationMs: null, deadlineMs: null, submittedMs: 0 };
  const facts = {
    job: `job_${sequence}`,
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
  return { sequence, atMs: 0, body } as unknown as LogEvent;
}

/** A brain on an empty system, with what a test says about its store. */
async function brainOn(store: Omit<BrainDeps['store'], 'loadEngine' | 'nowMs'>) {
  const world = virtualWorld();
  const none = { nodes: [], runs: [], arrays: [], jobs: [], usage: [] };
  const rows = { sequence: 0, policyVersion: 1, policy: defaultPolicy, ...none };
  const brain = await startBrain({
    world,
    load: loadEngine,
    onBug: (error) => {
      throw error;
    },
    store: {
      loadEngine: async () => rows as EngineRows,
      nowMs: async () => Math.floor(world.clock.monotonicMs()),
      ...store,
    },
  });
  return { world, brain };
}

async function leading(answers: { readonly epoch: number; readonly answer: Promise<Answer> }[]) {
  const decided: number[] = [];
  const started = await brainOn({
    eventsSince: async (sequence) => (sequence === 0 ? [submitted()] : []),
    onEvents: () => () => {},
    commitPlan: (epoch) => {
      decided.push(epoch);
      return answers.find((one) => one.epoch === epoch)?.answer ?? Promise.resolve(taken);
    },
  });
  return { ...started, decided };
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

test('of a flood that starts nothing the rest is looked at together', async () => {
  let written = 20;
  let hint: () => void = () => {};
  const looks: number[] = [];
  const { world, brain } = await brainOn({
    eventsSince: async (sequence) => {
      looks.push(sequence);
      return Array.from({ length: written - sequence }, (_, i) => submitted(sequence + i + 1));
    },
    onEvents: (listener) => {
      hint = listener;
      return () => {};
    },
    commitPlan: async () => taken,
  });
  brain.lead(1);
  await world.settle();
  expect(brain.status().sequence).toBe(20);
  const before = looks.length;
  for (let i = 0; i < 5; i++) {
    written++;
    hint();
    await world.advance(3);
  }
  expect(looks.length).toBe(before);
  await world.advance(10);
  expect(brain.status().sequence).toBe(25);
  expect(looks.length).toBe(before + 1);
  // Few are no flood: the next one is looked at when it comes.
  written++;
  hint();
  await world.settle();
  expect(brain.status().sequence).toBe(26);
  await brain.stop();
});
