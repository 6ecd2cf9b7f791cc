import { type JobId, memberId } from '@muster/model';
import { joinNode } from '@muster/store/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runJob } from './testing/placing.ts';
import { aJob, openWorld, type World } from './testing/world.ts';

let world: World;
let token: string;

beforeAll(async () => {
  world = await openWorld();
  token = await world.token('admin', null, { name: 'op' });
});
afterAll(() => world.close());

const submit = async (array: object | undefined, query = ''): Promise<JobId> =>
  (await world.ask('POST', `/v1/jobs${query}`, { token, body: { ...aJob, array } })).json().id;
const get = (path: string) => world.ask('GET', `/v1/jobs/${path}`, { token });
const act = (id: string, what: string) => world.ask('POST', `/v1/jobs/${id}/${what}`, { token });

test('an array is one job of the list, with its counts', async () => {
  const id = await submit({ count: 1000, parallel: 10 });
  const counts = { waiting: 1000, running: 0, succeeded: 0, failed: 0, cancelled: 0 };
  const array = { count: 1000, parallel: 10, ...counts, notStarted: [[0, 999]] };
  expect((await get(id)).json()).toMatchObject({ id, state: 'queued', array, index: null, runs: [] });
  const listed = (await world.ask('GET', '/v1/jobs', { token })).json();
  expect(listed.items.filter((job: { id: string }) => job.id.startsWith(id))).toHaveLength(1);
});

test('a member is looked at by its index, before and after it started', async () => {
  const id = await submit({ count: 3 });
  const waiting = (await get(`${id}[2]`)).json();
  expect(waiting).toMatchObject({
    id: `${id}[2]`,
    state: 'queued',
    attempt: 1,
    array: null,
    index: 2,
    runs: [],
  });
  // As a client escapes it.
  expect((await get(encodeURIComponent(`${id}[2]`))).json().id).toBe(`${id}[2]`);
  const node = await joinNode(world.store);
  const { run } = await runJob(world, memberId(id, 0), [node]);
  expect((await get(`${id}[0]`)).json()).toMatchObject({
    state: 'running',
    run,
    runs: [{ id: run, attempt: 1 }],
  });
  expect((await get(id)).json()).toMatchObject({
    state: 'running',
    array: { running: 1, waiting: 2, notStarted: [[1, 2]] },
  });
  const page = (await get(`${id}/members?state=running,ended`)).json();
  expect(page).toMatchObject({ items: [{ id: `${id}[0]`, index: 0, plannedStart: null }], next: null });
  const why = (await get(`${id}/why`)).json();
  expect(why.text).toContain('1 running, 2 waiting, 0 succeeded, 0 failed of 3 members');
  const events = (await world.ask('GET', `/v1/events?after=0&job=${id}[0]`, { token })).json();
  expect(events.items.map(({ body }: { body: { job: string } }) => body.job)).toEqual(
    events.items.map(() => `${id}[0]`),
  );
  expect(events.items.length).toBeGreaterThan(1);
});

test('members are cancelled one by one, by range and all together', async () => {
  const id = await submit({ count: 20 });
  expect((await act(`${id}[3]`, 'cancel')).json()).toMatchObject({ id: `${id}[3]`, state: 'ended' });
  expect((await act(`${id}[3]`, 'cancel')).statusCode).toBe(200);
  expect((await act(`${id}[5-9]`, 'cancel')).json()).toMatchObject({
    id,
    array: {
      cancelled: 6,
      waiting: 14,
      notStarted: [
        [0, 2],
        [4, 4],
        [10, 19],
      ],
    },
  });
  expect((await get(`${id}[7]`)).json()).toMatchObject({ state: 'ended', result: { outcome: 'cancelled' } });
  expect((await act(id, 'cancel')).json()).toMatchObject({ state: 'ended', array: { cancelled: 20 } });
});

test('an array is held and released as a whole', async () => {
  const id = await submit({ count: 5 }, '?hold=true');
  expect((await get(`${id}[1]`)).json()).toMatchObject({ state: 'queued', reason: 'waits: held by op' });
  expect((await act(id, 'release')).json().state).toBe('queued');
  expect((await act(`${id}[1]`, 'hold')).json()).toMatchObject({ status: 409, code: 'conflict' });
  expect((await act(`${id}[1]`, 'hold')).json().detail).toContain(`hold ${id} as a whole`);
});

test('what names no member is refused with a code and what to write', async () => {
  const id = await submit({ count: 5 });
  const plain = await submit(undefined);
  const cases: [path: string, status: number, code: string, says: string][] = [
    [`${id}[5]`, 404, 'not-found', `${id} has 5 members, 0 to 4; there is no 5`],
    [`${id}[x]`, 400, 'bad-request', `write ${id}[17]`],
    [`${id}[1-3]`, 400, 'bad-request', 'only cancel takes several'],
    [`${id}[3-1]`, 400, 'bad-request', 'names no member'],
    [`${plain}[0]`, 404, 'not-found', 'is no array'],
    [`${plain}/members`, 400, 'bad-request', 'is no array'],
    [`${id}/logs`, 400, 'bad-request', `ask for one, such as ${id}[0]`],
    [`${id}/members?cursor=x`, 400, 'bad-cursor', 'start again'],
    [`${id}/members?outcome=x`, 400, 'bad-request', 'outcome'],
    ['job_000000000000000000[1]', 404, 'not-found', 'there is no job'],
  ];
  for (const [path, status, code, says] of cases) {
    const answer = await get(path);
    expect(answer.json(), path).toMatchObject({ status, code });
    expect(answer.json().detail, path).toContain(says);
  }
  for (const [range, code] of [
    ['[3-5]', 'not-found'],
    ['[9]', 'not-found'],
    ['[a-b]', 'bad-request'],
  ] as const)
    expect((await act(`${id}${range}`, 'cancel')).json(), range).toMatchObject({ code });
  const other = await world.token('member', 'elsewhere');
  const hidden = await world.ask('GET', `/v1/jobs/${id}[0]`, { token: other });
  expect(hidden.statusCode).toBe(404);
  for (const array of [{ count: 0 }, { count: 1_000_001 }, { count: 2, parallel: 0 }, { parallel: 2 }])
    expect((await world.ask('POST', '/v1/jobs', { token, body: { ...aJob, array } })).statusCode).toBe(422);
});
