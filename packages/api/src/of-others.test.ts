// A preemption between two tenants, on rows that really are: each side is told what happened to its own job, and never the
// other's job or project, whichever way it asks.
import type { JobId, StartUnit } from '@muster/model';
import {
  anInventory,
  aPlan,
  aPreemption,
  aUnit,
  failed,
  type JoinedNode,
  joinNode,
  lead,
  placement,
} from '@muster/store/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aJob, openWorld, type World } from './testing/world.ts';

let world: World;
let node: JoinedNode;
let operator: string;
const tenants = { victim: 'lab-of-ada', owner: 'lab-of-bob' };
const tokens = { victim: '', owner: '' };
const jobs = {} as Record<keyof typeof tenants, JobId>;

beforeAll(async () => {
  world = await openWorld();
  operator = await world.token('admin', null, { name: 'op' });
  node = await joinNode(world.store, { name: 'n1', inventory: anInventory({ gpus: 8 }) });
  for (const side of ['victim', 'owner'] as const) {
    await world.project(tenants[side]);
    tokens[side] = await world.token('member', tenants[side], { name: 'someone' });
    const answer = await world.ask('POST', '/v1/jobs', { token: tokens[side], body: aJob });
    jobs[side] = answer.json<{ id: JobId }>().id;
  }
  await preempt();
});
afterAll(() => world.close());

/** The victim's only run is stopped for the owner, and ends. */
async function preempt(): Promise<void> {
  const { store } = world;
  const epoch = await lead(store);
  const device = placement(node.node, { devices: [0] });
  const run: StartUnit = aUnit(jobs.victim, [device], {
    jobVersion: (await store.job(jobs.victim))!.version,
  });
  await store.commitPlan(epoch, aPlan([run]));
  await store.takeOutbox([node], 100);
  await store.observe(node, [{ kind: 'started', run: run.run, rank: 0, pid: 1 }]);
  const jobVersion = (await store.job(jobs.owner))!.version;
  const unit = aPreemption(jobs.owner, [device], [run], { port: 20_001, jobVersion });
  expect(await store.commitPlan(epoch, aPlan([unit]))).toMatchObject({ value: { claimed: [jobs.owner] } });
  const [stopping] = (await store.runs(jobs.victim)).map(({ state }) => state);
  const message =
    stopping?.state === 'stopping' ? stopping.stop.reason.message : 'the run is not being stopped';
  // As an agent gives the reason of a stop back.
  const exit = failed({ class: 'preemption', reason: { code: 'preemption', message } });
  await store.observe(node, [{ kind: 'ended', run: run.run, rank: 0, exit }]);
}

const ask = async (path: string, token: string): Promise<string> =>
  (await world.ask('GET', path, { token })).body;

const places = (job: JobId) => [
  `/v1/jobs/${job}`,
  `/v1/jobs/${job}/why`,
  '/v1/jobs',
  '/v1/events?limit=1000',
  `/v1/events?job=${job}`,
];

test.each([
  ['victim', 'owner'],
  ['owner', 'victim'],
] as const)('the tenant of the %s reads nothing of the %s anywhere', async (mine, others) => {
  for (const place of places(jobs[mine])) {
    const text = await ask(place, tokens[mine]);
    expect(text, place).toContain(jobs[mine]);
    expect(text, place).not.toContain(jobs[others].slice('job_'.length));
    expect(text, place).not.toContain(tenants[others]);
  }
  expect(await ask(`/v1/jobs/${jobs.victim}`, tokens.victim)).toContain(
    'preempted for a job of another project',
  );
});

test('an operator reads who was stopped for whom', async () => {
  for (const place of [`/v1/jobs/${jobs.victim}`, `/v1/jobs/${jobs.victim}/why`, '/v1/events?limit=1000'])
    expect(await ask(place, operator), place).toContain(
      `preempted for ${jobs.owner} of project ${tenants.owner}`,
    );
});
