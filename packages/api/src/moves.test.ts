// Moves and the word that a cluster is gone, through the API and the real store; the engine's answer is played.
import type { ClusterLostView, JobId, JobView, MoveAnswerView, MovedView, StartUnit } from '@muster/model';
import {
  aPlan,
  aUnit,
  failed,
  type JoinedNode,
  joinNode,
  lead,
  newId,
  placement,
  sayHello,
} from '@muster/store/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { aJob, openWorld, type World } from './testing/world.ts';

let world: World;
let token: string;
let north: JoinedNode;
let epoch: number;
let port = 20_000;

beforeAll(async () => {
  world = await openWorld();
  token = await world.token('admin', null, { name: 'op' });
  north = await joinNode(world.store, { name: 'n1', cluster: 'north' });
  await joinNode(world.store, { name: 'w1', cluster: 'west' });
  epoch = await lead(world.store);
});
afterAll(() => world.close());
beforeEach(() => {
  world.control.verdict = null;
});

const ask = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, body?: unknown) =>
  world.ask(method, url, { token, ...(body === undefined ? {} : { body }) });

async function submit(spec: object = aJob): Promise<JobId> {
  return (await ask('POST', '/v1/jobs', spec)).json<{ id: JobId }>().id;
}

/** Runs in cluster north. */
async function running(): Promise<{
  readonly job: JobId;
  readonly unit: StartUnit;
  readonly runToken: string;
}> {
  const job = await submit();
  const unit = aUnit(job, [placement(north.node)], { port: port++ });
  expect(await world.store.commitPlan(epoch, aPlan([unit]))).toMatchObject({ value: { dropped: [] } });
  const [row] = await world.store.takeOutbox([north], 100);
  await world.store.observe(north, [{ kind: 'started', run: unit.run, rank: 0, pid: 1 }]);
  const { MUSTER_RUN_TOKEN: runToken = '' } = row?.kind === 'start' ? row.command.tasks[0]!.env : {};
  return { job, unit, runToken };
}

const stop = (unit: StartUnit) =>
  world.store.observe(north, [
    { kind: 'ended', run: unit.run, rank: 0, exit: failed({ class: 'preemption' }) },
  ]);

test('a move says where the job goes, and so do show and why until it has started there', async () => {
  const { job, unit } = await running();
  const answer = await ask('POST', `/v1/jobs/${job}/move`, { to: 'west', reason: 'new switch' });
  expect(answer.statusCode, answer.body).toBe(200);
  expect(answer.headers['muster-sequence']).toBeDefined();
  const { job: view, waits } = answer.json<MoveAnswerView>();
  expect(waits).toBeNull();
  expect(view).toMatchObject({
    state: 'running',
    move: { place: 'to cluster west', by: 'op', reason: 'new switch' },
    reason: 'being moved to cluster west by op: new switch; its run is being stopped',
  });
  const why = async () => (await ask('GET', `/v1/jobs/${job}/why`)).json<{ text: string }>().text;
  expect(await why()).toMatch(/^being moved to cluster west by op: new switch.*running since/);
  await stop(unit);
  expect(await why()).toMatch(/^moved to cluster west by op: new switch; queued/);
  const events = (await ask('GET', `/v1/events?job=${job}`)).json<{ items: { kind: string }[] }>().items;
  expect(events.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['job.moving', 'run.stopping', 'run.ended', 'job.requeued']),
  );
  const back = await ask('DELETE', `/v1/jobs/${job}/move`);
  expect(back.json<JobView>()).toMatchObject({ state: 'queued', attempt: 2, move: null });
});

test('without a place it goes anywhere else, and what it will wait for is told', async () => {
  const { job } = await running();
  world.control.verdict = { kind: 'waits', reasons: [{ code: 'held', by: 'nobody' }] };
  const { job: view, waits } = (await ask('POST', `/v1/jobs/${job}/move`, {})).json<MoveAnswerView>();
  expect(view.move?.place).toBe('away from cluster north');
  expect(waits).toContain('held by nobody');
});

test('a move that could never be placed is refused before anything is stopped', async () => {
  const { job, unit } = await running();
  world.control.verdict = { kind: 'impossible', reasons: [], nearest: [] };
  const answer = await ask('POST', `/v1/jobs/${job}/move`, { to: 'west' });
  expect(answer.statusCode).toBe(409);
  expect(answer.json<{ detail: string }>().detail).toMatch(
    /could never start when moved to cluster west, so it stays/,
  );
  expect((await world.store.runs(job)).find(({ id }) => id === unit.run)?.state.state).toBe('running');
});

test.each([
  ['a cluster that is not there', { to: 'westt' }, /no cluster "westt" has nodes; did you mean "west"\?/],
  ['the cluster where it is', { to: 'north' }, /runs in cluster north already/],
])('%s is refused', async (_, body, detail) => {
  const { job } = await running();
  const answer = await ask('POST', `/v1/jobs/${job}/move`, body);
  expect(answer.statusCode).toBe(409);
  expect(answer.json<{ detail: string }>().detail).toMatch(detail);
});

test('what does not run is not moved, and says why', async () => {
  const detail = async (job: string) => {
    const answer = await ask('POST', `/v1/jobs/${job}/move`, {});
    expect(answer.statusCode).toBe(409);
    return answer.json<{ detail: string }>().detail;
  };
  expect(await detail(await submit())).toMatch(/is queued and runs nowhere/);
  expect(await detail(await submit({ ...aJob, array: { count: 3 } }))).toMatch(
    /is an array, and arrays are not moved/,
  );
  const { job, unit } = await running();
  await ask('POST', `/v1/jobs/${job}/cancel`);
  expect(await detail(job)).toMatch(/is being stopped because op cancelled it/);
  await stop(unit);
  expect(await detail(job)).toMatch(/has ended/);
});

test('everything on a cluster or a node is moved, and what cannot go keeps none of the others', async () => {
  const node = await joinNode(world.store, { name: 's1', cluster: 'south' });
  const jobs: JobId[] = [];
  for (let i = 0; i < 2; i++) {
    const job = await submit();
    const unit = aUnit(job, [placement(node.node)], { port: port++ });
    await world.store.commitPlan(epoch, aPlan([unit]));
    await world.store.takeOutbox([node], 100);
    await world.store.observe(node, [{ kind: 'started', run: unit.run, rank: 0, pid: 1 }]);
    jobs.push(job);
  }
  await ask('POST', `/v1/jobs/${jobs[0]}/move`, { to: 'west' });
  const items = (await ask('POST', '/v1/clusters/south/move', { reason: 'flood' })).json<{
    items: MovedView[];
  }>().items;
  expect(items).toEqual([
    { job: jobs[0], moves: true, detail: 'is moved to cluster west already' },
    { job: jobs[1], moves: true, detail: null },
  ]);
  const again = (await ask('POST', '/v1/nodes/s1/move', { reason: 'flood' })).json<{ items: MovedView[] }>();
  expect(again.items.map(({ moves }) => moves)).toEqual([true, true]);
  expect((await ask('POST', '/v1/clusters/none/move', { reason: 'x' })).statusCode).toBe(404);
});

test('a cluster is declared lost only when nothing of it is heard, and says first what that would do', async () => {
  const node = await joinNode(world.store, { name: 'e1', cluster: 'east' });
  const job = await submit();
  const unit = aUnit(job, [placement(node.node)], { port: port++ });
  await world.store.commitPlan(epoch, aPlan([unit]));
  await world.store.takeOutbox([node], 100);
  await world.store.observe(node, [{ kind: 'started', run: unit.run, rank: 0, pid: 1 }]);
  const refused = await ask('POST', '/v1/clusters/east/declare-lost');
  expect(refused.statusCode).toBe(409);
  expect(refused.json<{ detail: string }>().detail).toMatch(
    /1 of 1 nodes of cluster east are heard from \(e1\)/,
  );
  await world.store.silence(node);
  const would = (await ask('POST', '/v1/clusters/east/declare-lost?dryRun=true')).json<ClusterLostView>();
  expect(would).toEqual({ cluster: 'east', nodes: 1, jobs: [job], done: false });
  expect((await world.store.job(job))?.state.state).toBe('running');
  const did = (await ask('POST', '/v1/clusters/east/declare-lost')).json<ClusterLostView>();
  expect(did).toEqual({ ...would, done: true });
  expect((await world.store.job(job))?.state).toMatchObject({ state: 'queued', attempt: 2 });
  // Once more is no error.
  expect((await ask('POST', '/v1/clusters/east/declare-lost')).json<ClusterLostView>().nodes).toBe(0);
});

test('of a run that nobody hears of in a cluster, why says which proof is missing, and what fencing would need', async () => {
  const said = async (
    fencedCheckpoints: boolean,
    checkpoint: object | undefined,
    cancel = false,
  ): Promise<string> => {
    const cluster = `lost-${port}`;
    const config = { kind: 'slurm', directory: `/shared/${cluster}`, lostAfter: '10s', fencedCheckpoints };
    expect((await ask('PUT', `/v1/clusters/${cluster}`, config)).statusCode).toBe(201);
    const listed = { node: newId.node(), name: `${cluster}-n1`, knownAs: 'n1', closed: null };
    await world.store.admitNodes(epoch, cluster, [listed]);
    const node = await sayHello(world.store, listed.node);
    const job = await submit({ ...aJob, ...(checkpoint && { checkpoint }) });
    const unit = aUnit(job, [placement(node.node)], { port: port++ });
    await world.store.commitPlan(epoch, aPlan([unit]));
    await world.store.takeOutbox([node], 100);
    await world.store.observe(node, [{ kind: 'started', run: unit.run, rank: 0, pid: 1 }]);
    if (cancel) await ask('POST', `/v1/jobs/${job}/cancel`);
    await world.store.silence(node);
    const text = (await ask('GET', `/v1/jobs/${job}/why`)).json<{ text: string }>().text;
    expect(text).toContain(`cluster ${cluster} must answer`);
    return text;
  };
  expect(await said(false, undefined)).not.toContain('fenced');
  expect(await said(true, undefined)).toContain(
    'does not say that it writes nowhere else (checkpoint.fenced)',
  );
  expect(await said(false, { fenced: true })).toContain('its operator does not say so');
  expect(await said(true, { fenced: true })).toContain('or 10s must pass without an answer');
  expect(await said(true, { fenced: true }, true)).toContain('no newer attempt of it will refuse');
});

test("a store of checkpoints learns whose a run's token is, until that run is over", async () => {
  const { job, unit, runToken } = await running();
  const whose = () => world.ask('GET', '/v1/runs/self', { token: runToken });
  const answer = await whose();
  expect([answer.statusCode, answer.json()]).toEqual([200, { job, run: unit.run, attempt: 1 }]);
  await stop(unit);
  expect((await whose()).statusCode).toBe(401);
});
