// What `why` tells of preemptions, on jobs that really are preempted; the verdict itself is in jobs.test.ts.
import type { JobId, StartUnit, WhyView } from '@muster/model';
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
let token: string;
let node: JoinedNode;
let epoch: number;

beforeAll(async () => {
  world = await openWorld();
  token = await world.token('admin', null, { name: 'op' });
  node = await joinNode(world.store, { name: 'n1', inventory: anInventory({ gpus: 8 }) });
  epoch = await lead(world.store);
});

afterAll(() => world.close());

async function submit(): Promise<JobId> {
  const answer = await world.ask('POST', '/v1/jobs', { token, body: aJob });
  expect(answer.statusCode, answer.body).toBe(201);
  return answer.json<{ id: JobId }>().id;
}

const why = async (id: JobId): Promise<WhyView> =>
  (await world.ask('GET', `/v1/jobs/${id}/why`, { token })).json();

const device0 = () => placement(node.node, { devices: [0] });

/** Starts the job on device 0. */
async function start(job: JobId): Promise<StartUnit> {
  const row = await world.store.job(job);
  const attempt = row && 'attempt' in row.state ? row.state.attempt : 1;
  const unit = aUnit(job, [device0()], { attempt, jobVersion: row!.version });
  expect(await world.store.commitPlan(epoch, aPlan([unit]))).toMatchObject({ value: { dropped: [] } });
  await world.store.takeOutbox([node], 100);
  await world.store.observe(node, [{ kind: 'started', run: unit.run, rank: 0, pid: 1 }]);
  return unit;
}

async function claim(job: JobId, victim: StartUnit): Promise<void> {
  const { version } = (await world.store.job(job))!;
  const unit = aPreemption(job, [device0()], [victim], { port: 20_001, jobVersion: version });
  expect(await world.store.commitPlan(epoch, aPlan([unit]))).toMatchObject({ value: { claimed: [job] } });
}

/** Stops the run for a new job, to its end. */
async function preempt(unit: StartUnit): Promise<JobId> {
  const by = await submit();
  await claim(by, unit);
  const exit = failed({ class: 'preemption', reason: { code: 'preemption', message: 'stopped' } });
  await world.store.observe(node, [{ kind: 'ended', run: unit.run, rank: 0, exit }]);
  await world.store.cancel(by, 'op');
  return by;
}

test('a preemption between two reads gives the ones before no other reason', async () => {
  const job = await submit();
  const first = await preempt(await start(job));
  const again = await start(job);
  const { runs } = world.store;
  let second: JobId | null = null;
  Object.assign(world.store, {
    async runs(id: JobId) {
      if (id === job) second ??= await preempt(again);
      return runs(id);
    },
  });
  const between = await why(job);
  Object.assign(world.store, { runs });
  const reasonOf = (by: JobId) => expect.stringContaining(`preempted for ${by} of project default`);
  const toldFirst = { by: first, reason: reasonOf(first) };
  expect(between.preemptions).toMatchObject([toldFirst]);
  expect(second).not.toBeNull();
  const after = await why(job);
  expect(after.preemptions).toMatchObject([toldFirst, { by: second, reason: reasonOf(second!) }]);
  await world.store.cancel(job, 'op');
});

test('whose runs were stopped for a job is told however much happened to it before', async () => {
  const [victim, job] = [await submit(), await submit()];
  const stale = aUnit(job, [device0()], { jobVersion: 99 });
  await world.store.commitPlan(epoch, aPlan(Array.from({ length: 1500 }, () => stale)));
  const { sequence } = await world.store.head();
  expect(await world.store.events({ scope: null, after: sequence - 1500, job, limit: 2000 })).toHaveLength(
    1500,
  );
  await claim(job, await start(victim));
  expect((await why(job)).victims).toMatchObject([{ job: victim, right: 'tier' }]);
});

test('a run that nobody hears from says what would prove its end', async () => {
  const other = await joinNode(world.store, { name: 'n2' });
  const job = await submit();
  const { version } = (await world.store.job(job))!;
  const unit = aUnit(job, [placement(other.node)], { attempt: 1, jobVersion: version });
  await world.store.commitPlan(epoch, aPlan([unit]));
  await world.store.takeOutbox([other], 100);
  await world.store.observe(other, [{ kind: 'started', run: unit.run, rank: 0, pid: 1 }]);
  expect((await why(job)).text).not.toContain('proven');
  await world.store.silence(other);
  expect((await why(job)).text).toMatch(
    /until its end is proven: n2 must come back, or 5m and 15s must pass since it was last heard, after which/,
  );
});
