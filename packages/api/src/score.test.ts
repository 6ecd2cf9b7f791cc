import type { JobId, NodeId, ScoreView } from '@muster/model';
import { anInventory, aPlan, aUnit, joinNode, lead, placement } from '@muster/store/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scoreSchema } from './engine-view-schemas.ts';
import { aJob, openWorld, type World } from './testing/world.ts';

let world: World;
let admin: string;
let member: string;
const nodes: NodeId[] = [];

beforeAll(async () => {
  world = await openWorld();
  await world.project('a');
  admin = await world.token('admin', null);
  member = await world.token('member', 'a');
  for (const name of ['n1', 'n2'])
    nodes.push((await joinNode(world.store, { name, inventory: anInventory({ gpus: 4 }) })).node);
});

afterAll(() => world.close());

const spec = { ...aJob, project: 'a', resources: { accelerators: { count: 2 } }, timeLimit: '2h' };

async function table(method: 'GET' | 'POST', url: string, body?: object): Promise<ScoreView> {
  const answer = await world.ask(method, url, { token: member, ...(body ? { body } : {}) });
  expect(answer.statusCode, answer.body).toBe(200);
  scoreSchema.parse(answer.json());
  return answer.json() as ScoreView;
}

test('a spec has its places told in money, and what an operator trusts less costs more', async () => {
  const trust = await world.ask('POST', `/v1/nodes/${nodes[0]}/trust`, {
    token: admin,
    body: { trust: 0.75 },
  });
  expect(trust.json()).toMatchObject({ id: nodes[0], trust: 0.75 });
  const { rows, workMs } = await table('POST', '/v1/score', spec);
  expect(workMs).toBe(7_200_000);
  expect(rows).toMatchObject([
    { trustMilli: 1000, how: 'now', price: 2, trust: 0, total: 4, chosen: 1, nodes: 1 },
    { trustMilli: 750, how: 'now', price: 2, trust: 0.5, total: 5, chosen: 0, nodes: 1 },
  ]);
  const wrong = await world.ask('POST', `/v1/nodes/${nodes[0]}/trust`, { token: admin, body: { trust: 2 } });
  expect(wrong.json().errors).toMatchObject([{ path: '/trust' }]);
});

test('a job that has its place says where it is', async () => {
  const { id } = (await world.ask('POST', '/v1/jobs', { token: member, body: spec })).json<{ id: JobId }>();
  expect((await table('GET', `/v1/jobs/${id}/score`)).placed).toBeNull();
  const unit = aUnit(id, [placement(nodes[0] as NodeId, { devices: [0, 1] })]);
  const epoch = await lead(world.store);
  expect(await world.store.commitPlan(epoch, aPlan([unit]))).toMatchObject({ value: { dropped: [] } });
  expect((await table('GET', `/v1/jobs/${id}/score`)).placed).toBe('starting attempt 1 on n1');
  await world.ask('POST', `/v1/jobs/${id}/cancel`, { token: member });
});

test('so has a job that waits, and one that has ended is refused with what to do', async () => {
  const { id } = (await world.ask('POST', '/v1/jobs', { token: member, body: spec })).json<{ id: string }>();
  expect((await table('GET', `/v1/jobs/${id}/score`)).rows).toEqual(
    (await table('POST', '/v1/score', spec)).rows,
  );
  await world.ask('POST', `/v1/jobs/${id}/cancel`, { token: member });
  const over = await world.ask('GET', `/v1/jobs/${id}/score`, { token: member });
  expect([over.statusCode, over.json().detail]).toEqual([409, expect.stringContaining('has ended')]);
});
