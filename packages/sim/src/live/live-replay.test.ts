import {
  defaultPolicy,
  type JobDemand,
  type JobFacts,
  type JobId,
  type Policy,
  parsePolicy,
} from '@muster/model';
import { expect, test } from 'vitest';
import { nodesOf } from '../policies/muster/virtual-nodes.ts';
import { fleetOf } from '../replay/fleet.ts';
import type { PastJob } from '../traces/past-jobs.ts';
import { gainsOf } from './gains.ts';
import { liveReplay } from './live-replay.ts';
import { liveTrace } from './live-trace.ts';

const hour = 3_600_000;

function demand(devices: number, rest: Partial<JobDemand> = {}): JobDemand {
  const gpu = { kind: 'gpu', model: null, milli: devices * 1000, memoryMib: null };
  const accelerators = [{ ...gpu, interconnect: null, generation: null, speedMilli: 1000 }];
  const group = { name: 'main', tasks: 1, cpuMilli: null, memoryMib: null, topology: null, near: null };
  const none = { constraints: [], preferences: [], topology: null, capabilities: [], exclusive: false };
  return { groups: [{ ...group, accelerators }], ...none, ...rest } as JobDemand;
}

interface Line {
  readonly at: number;
  readonly run: number;
  readonly devices?: number;
  readonly facts?: Partial<JobFacts>;
}

/** Times in hours after some Monday. */
function past(n: number, { at, run, devices = 4, facts = {} }: Line): PastJob {
  const id = `job_${n}`;
  const submittedMs = 1_700_000_000_000 + at * hour;
  const usual = { name: 'train', project: 'a', tier: 'standard', priority: 0, user: 'ada' };
  const times = { durationMs: run * hour, deadlineMs: null, submittedMs };
  return {
    id,
    runMs: run * hour,
    startedMs: submittedMs + hour,
    facts: { job: id as JobId, version: 1, ...usual, ...times, demand: demand(devices), ...facts },
  };
}

const nodes = (count: number) => nodesOf(fleetOf(count, 4));
const waits = (live: ReturnType<typeof liveTrace>, played: ReturnType<typeof liveReplay>) =>
  live.ids.map((_, job) => (played.firstStartMs[job]! - live.trace.submitMs[job]!) / hour);

test('the same jobs on one more node: everybody is told how much sooner', () => {
  const live = liveTrace([
    past(1, { at: 0, run: 10 }),
    past(2, { at: 1, run: 10, facts: { project: 'b', user: 'bo' } }),
    past(3, { at: 2, run: 10 }),
  ]);
  const before = liveReplay(live, { nodes: nodes(1), policy: defaultPolicy });
  const after = liveReplay(live, { nodes: nodes(2), policy: defaultPolicy });
  expect(waits(live, before)).toEqual([0, 9, 18]);
  expect(waits(live, after)).toEqual([0, 0, 8]);
  const { all, projects, users, most } = gainsOf(live, before, after);
  expect(all).toMatchObject({ jobs: 3, beforeWaitS: 32_400, afterWaitS: 9600, sooner: 2, later: 0, lost: 0 });
  expect(projects.map(({ name, beforeWaitS, afterWaitS }) => [name, beforeWaitS, afterWaitS])).toEqual([
    ['a', 32_400, 14_400],
    ['b', 32_400, 0],
  ]);
  expect(users.map(({ name }) => name)).toEqual(['ada', 'bo']);
  expect(most).toEqual([
    { job: 'job_3', beforeWaitS: 64_800, afterWaitS: 28_800 },
    { job: 'job_2', beforeWaitS: 32_400, afterWaitS: 0 },
  ]);
});

test('a job keeps what it asked for: constraints, tier and priority decide as they do in production', () => {
  const labelled = nodes(2).map((node, i) =>
    i === 0 ? node : { ...node, inventory: { ...node.inventory, labels: { zone: 'b' } } },
  );
  const only: Partial<JobDemand> = { constraints: [{ label: 'zone', op: 'in', values: ['b'] }] };
  const live = liveTrace([
    past(1, { at: 0, run: 10, facts: { demand: demand(4, only) } }),
    past(2, { at: 1, run: 10, facts: { demand: demand(4, only) } }),
    past(3, { at: 2, run: 5, facts: { demand: demand(4, only), priority: 10 } }),
  ]);
  // One node of two will do, and who is more important goes before who came before.
  expect(waits(live, liveReplay(live, { nodes: labelled, policy: defaultPolicy }))).toEqual([0, 14, 8]);
});

test('what can never start after a change is counted as lost, and the rest goes on', () => {
  const live = liveTrace([past(1, { at: 0, run: 10, devices: 8 }), past(2, { at: 1, run: 10 })]);
  const large = nodesOf(fleetOf(1, 8));
  const before = liveReplay(live, { nodes: large, policy: defaultPolicy });
  const after = liveReplay(live, { nodes: nodes(1), policy: defaultPolicy });
  expect(waits(live, before)).toEqual([0, 9]);
  expect(gainsOf(live, before, after).all).toMatchObject({ jobs: 1, lost: 1, sooner: 1, later: 0 });
});

test('another policy: a ceiling makes its project wait, and lets the other go first', () => {
  const live = liveTrace([
    past(1, { at: 0, run: 10, devices: 2 }),
    past(2, { at: 1, run: 10, devices: 2 }),
    past(3, { at: 2, run: 10, devices: 2, facts: { project: 'b', user: 'bo' } }),
  ]);
  const parsed = parsePolicy({ quotas: [{ project: 'a', ceiling: { gpu: 2 } }] });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed));
  const { policy } = parsed;
  const before = liveReplay(live, { nodes: nodes(1), policy: defaultPolicy });
  const after = liveReplay(live, { nodes: nodes(1), policy });
  expect(waits(live, before)).toEqual([0, 0, 8]);
  expect(waits(live, after)).toEqual([0, 9, 0]);
  expect(gainsOf(live, before, after).projects.map(({ name }) => name)).toEqual(['a', 'b']);
});

test('a policy that uses learned run times is played with them, beside one that does not', () => {
  const short = { name: 'short', user: 'bo' };
  const live = liveTrace([
    ...Array.from({ length: 5 }, (_, i) => past(i, { at: i, run: 0.1, facts: short })),
    ...Array.from({ length: 5 }, (_, i) => past(10 + i, { at: 10 + i * 20, run: 10 })),
    past(20, { at: 200, run: 10 }),
    past(21, { at: 201, run: 10 }),
    past(22, { at: 202, run: 0.1, facts: short }),
  ]);
  const { policy } = parsePolicy({ runTimes: { use: 'learned', first: 'expected' } }) as { policy: Policy };
  const before = liveReplay(live, { nodes: nodes(1), policy: defaultPolicy });
  const after = liveReplay(live, { nodes: nodes(1), policy });
  expect(waits(live, before).slice(-3)).toEqual([0, 9, 18]);
  expect(waits(live, after).slice(-3)).toEqual([0, 9.1, 8]);
});
