import type { NodeId, WhatIfView } from '@muster/model';
import { anInventory, aPlan, aUnit, joinNode, lead, placement } from '@muster/store/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { whatIfSchema } from './engine-view-schemas.ts';
import { aJob, openWorld, type World } from './testing/world.ts';

let world: World;
let admin: string;
let member: string;
let node: NodeId;

const gpuJob = (project: string, name: string, count: number) => ({
  ...aJob,
  name,
  project,
  resources: { accelerators: { count } },
});

beforeAll(async () => {
  world = await openWorld();
  for (const project of ['a', 'b']) await world.project(project);
  admin = await world.token('admin', null);
  member = await world.token('member', 'a');
  ({ node } = await joinNode(world.store, { name: 'n1', inventory: anInventory({ gpus: 4 }) }));
});

afterAll(() => world.close());

async function ask(token: string, body: object): Promise<WhatIfView> {
  const answer = await world.ask('POST', '/v1/whatif', { token, body });
  expect(answer.statusCode, answer.body).toBe(200);
  expect(whatIfSchema.parse(answer.json())).toEqual(answer.json());
  return answer.json() as WhatIfView;
}

async function submit(project: string, name: string, count: number): Promise<string> {
  const answer = await world.ask('POST', '/v1/jobs', { token: admin, body: gpuJob(project, name, count) });
  expect(answer.statusCode, answer.body).toBe(201);
  return answer.json<{ id: string }>().id;
}

test('a submit would start, or would be told why not, and nothing is submitted', async () => {
  const fits = await ask(member, { submit: gpuJob('a', 'small', 1) });
  expect(fits).toMatchObject({
    settled: true,
    starts: { count: 1, items: [{ name: 'small', nodes: ['n1'] }] },
  });
  const five = await ask(member, { submit: gpuJob('a', 'small', 1), count: 5 });
  expect(five).toMatchObject({ starts: { count: 4 }, verdicts: { count: 1 } });
  const never = await ask(member, { submit: gpuJob('a', 'large', 8) });
  expect(never.starts.count).toBe(0);
  expect(never.verdicts.items[0]).toMatchObject({ name: 'large', beforeText: null });
  expect(never.verdicts.items[0]?.afterText).toMatch(/^impossible: /);
  const listed = await world.ask('GET', '/v1/jobs', { token: admin });
  expect(listed.json<{ items: unknown[] }>().items).toEqual([]);
});

test('a submit is asked about with what would be said of its run time', async () => {
  const asked = vi.spyOn(world.control, 'whatIf');
  const estimate = { expectedMs: 60_000, p90Ms: 300_000 };
  world.control.estimated = estimate;
  await ask(member, { submit: gpuJob('a', 'small', 1) });
  world.control.estimated = undefined;
  expect(asked.mock.calls).toMatchObject([[{ jobs: [{ estimate }] }, expect.any(Number)]]);
  asked.mockRestore();
});

test('nodes: drained, lost, added; and other tenants are counted, not named', async () => {
  const [mine, other] = [await submit('a', 'mine', 2), await submit('b', 'other', 2)];
  const drained = await ask(admin, { drain: ['n1'] });
  expect(drained.startsNot.items.map((item) => item.job).sort()).toEqual([mine, other].sort());
  expect((await ask(admin, { loseCluster: 'main' })).verdicts.items[0]?.afterText).toContain('no nodes');
  await submit('a', 'more', 4);
  const added = await ask(admin, { addNodes: { like: 'n1', count: 1 } });
  expect(added.starts.items).toMatchObject([{ name: 'more', nodes: ['new-1'] }]);
  const urgent = { ...gpuJob('a', 'urgent', 4), tier: 'critical' };
  const pushed = await ask(member, { submit: urgent });
  expect(pushed.starts).toMatchObject({ count: 1, items: [{ name: 'urgent' }] });
  expect(pushed.startsNot.count).toBe(2);
  expect(pushed.startsNot.items.map(({ name }) => name)).toEqual(['mine']);
});

test('the loss of a node stops what runs there, and its job waits again', async () => {
  const job = (await submit('b', 'running', 1)) as never;
  const epoch = await lead(world.store);
  await world.store.commitPlan(epoch, aPlan([aUnit(job, [placement(node)])]));
  const lost = await ask(admin, { lose: [node] });
  expect(lost.stops.items).toMatchObject([{ job, name: 'running', requeued: true }]);
  expect(lost.stops.items[0]?.afterText).toContain('no nodes');
});

test('a policy and a quota are asked about as they are written, with their mistakes told', async () => {
  expect(await ask(admin, { policy: {} })).toMatchObject({ settled: true });
  expect(await ask(admin, { quota: { project: 'a', ceiling: { gpu: 1 } } })).toMatchObject({ settled: true });
  const errors = async (body: object): Promise<string[]> => {
    const wrong = await world.ask('POST', '/v1/whatif', { token: admin, body });
    expect(wrong.statusCode).toBe(422);
    return wrong
      .json<{ errors: { path: string; message: string }[] }>()
      .errors.map(({ path, message }) => `${path}: ${message}`);
  };
  expect(await errors({ policy: { tiers: 1 } })).toMatchObject([expect.stringMatching(/^\/tiers: /)]);
  expect(await errors({ quota: { project: 'aa', ceiling: { gpu: 1 } } })).toEqual([
    '/quota/project: there is no project "aa"; did you mean "a"?',
  ]);
  expect(
    await errors({ quota: { project: 'a', guaranteed: { gpus: 1 }, ceiling: { 'gpu/H10': 1 } } }),
  ).toEqual([
    '/quota/guaranteed/gpus: no node has "gpus"; did you mean "gpu"?',
    '/quota/ceiling/gpu~1H10: no node has "gpu/H10"; did you mean "gpu/H100"?',
  ]);
  expect(await errors({ quota: { project: 'a', ceiling: { licences: 1 } } })).toEqual([
    '/quota/ceiling/licences: no node has "licences"; there are cpu, memory, gpu, tpu',
  ]);
  expect(await errors({ policy: { quotas: [{ project: 'x' }, { project: 'a', weight: 2 }] } })).toEqual([
    '/quotas/0/project: there is no project "x"; did you mean "a"?',
  ]);
});

test('exactly one thing is asked, about nodes that exist, by those who may', async () => {
  const refused = async (token: string, body: object) =>
    (await world.ask('POST', '/v1/whatif', { token, body })).statusCode;
  expect(await refused(admin, {})).toBe(422);
  expect(await refused(admin, { drain: ['n1'], lose: ['n1'] })).toBe(422);
  expect(await refused(admin, { drain: ['nowhere'] })).toBe(404);
  expect(await refused(admin, { loseCluster: 'nowhere' })).toBe(404);
  expect(await refused(member, { drain: ['n1'] })).toBe(403);
  expect(await refused(await world.token('admin', 'a'), { policy: {} })).toBe(403);
  expect(await refused(member, { submit: gpuJob('b', 'x', 1) })).toBe(422);
});
