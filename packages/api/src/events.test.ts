import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EventReader, openEvents, type ServerEvent } from './testing/event-reader.ts';
import { aJob, openWorld, type World } from './testing/world.ts';

let world: World;
let token: string;
let url: string;
const readers: EventReader[] = [];

beforeAll(async () => {
  world = await openWorld({ maxStreamsPerToken: 3 });
  await world.project('a');
  await world.project('a-b');
  token = await world.token('admin', null);
  ({ url } = await world.api.listen());
});
afterAll(async () => {
  for (const reader of readers) await reader.close();
  await world.close();
});

const submit = async (project = 'default'): Promise<string> =>
  (await world.ask('POST', '/v1/jobs', { token, body: { ...aJob, project } })).json().id;
const list = async (query = '', who = token) =>
  (await world.ask('GET', `/v1/events${query}`, { token: who })).json();

async function follow(query = '', headers: Record<string, string> = {}, who = token): Promise<EventReader> {
  const reader = await openEvents(`${url}/v1/events${query}`, who, headers);
  readers.push(reader);
  return reader;
}

/** Messages that only tell the position are not events. */
const events = (told: ServerEvent[]): ServerEvent[] => told.filter(({ event }) => event !== 'position');

test('pages go through the log in order, and the last one says so', async () => {
  for (let i = 0; i < 5; i++) await submit();
  const sequences: number[] = [];
  let query = '?limit=2';
  for (;;) {
    const page = await list(query);
    sequences.push(...page.items.map((event: { sequence: number }) => event.sequence));
    if (page.next === null) break;
    query = `?limit=2&after=${page.next}`;
  }
  const { first, sequence } = await world.store.head();
  expect(sequences).toEqual(Array.from({ length: sequence - first + 1 }, (_, i) => first + i));
});

test('the newest are had by counting from the end', async () => {
  const { first, sequence } = await world.store.head();
  const numbers = async (after: string) =>
    (await list(`?limit=1000&after=${after}`)).items.map((event: { sequence: number }) => event.sequence);
  expect(await numbers('-2')).toEqual([sequence - 1, sequence]);
  expect((await numbers('-999999'))[0]).toBe(first);
});

test('an answer says where it ended, so that a poller misses nothing', async () => {
  const { headers } = await world.ask('GET', '/v1/events?limit=1000', { token });
  const id = await submit();
  const { items } = await list(`?after=${headers['muster-cursor']}`);
  expect(items.map((event: { body: { job: string } }) => event.body.job)).toEqual([id]);
});

test('a position of another log or before its beginning is 410, a senseless one 400', async () => {
  const { logId, sequence } = await world.store.head();
  expect(await list('?after=other.3')).toMatchObject({ status: 410, code: 'log-gone' });
  for (const after of [
    'x',
    '-x',
    '12',
    `${logId}.`,
    `${logId}.x`,
    `${logId}.${sequence + 1000}`,
    `.${sequence}`,
  ])
    expect(await list(`?after=${after}`), after).toMatchObject({ status: 400, code: 'bad-cursor' });
  const stream = await follow('', { 'last-event-id': 'other.3' });
  expect(stream.status).toBe(410);
});

test('a filter by job takes only its events; a job one may not see is 404', async () => {
  const id = await submit('a');
  await submit('a');
  await world.ask('POST', `/v1/jobs/${id}/cancel`, { token });
  const { items } = await list(`?job=${id}`);
  expect(items.map((event: { kind: string }) => event.kind)).toEqual(['job.submitted', 'job.ended']);
  const other = await world.token('viewer', 'a-b');
  expect(await list(`?job=${id}`, other)).toMatchObject({ status: 404 });
});

test('a live tail starts now, tells what happens, and resumes after its last id without gap or repeat', async () => {
  await submit();
  const stream = await follow();
  const first = await submit();
  const second = await submit();
  const told = events(await stream.take((event) => event.data.body?.job === second));
  expect(told.map((event) => event.data.body.job)).toEqual([first, second]);
  expect(told[0]).toMatchObject({ event: 'job.submitted', data: { kind: 'job.submitted' } });
  await stream.close();
  const third = await submit();
  const resumed = await follow('', { 'last-event-id': told[0]?.id as string });
  const rest = events(await resumed.take((event) => event.data.body?.job === third));
  expect(rest.map((event) => event.data.body.job)).toEqual([second, third]);
  await resumed.close();
});

test('a tail tells its position at once, so that one cut off before its first event misses nothing', async () => {
  const stream = await follow();
  const position = await stream.next();
  expect(position).toMatchObject({ event: 'position', data: {} });
  await stream.close();
  const missed = await submit();
  const resumed = await follow('', { 'last-event-id': position?.id as string });
  const told = events(await resumed.take(({ event }) => event !== 'position'));
  expect(told.map((event) => event.data.body.job)).toEqual([missed]);
  await resumed.close();
});

test('a tail from 0 tells the whole log, in more than one page', async () => {
  const jobs = Array.from({ length: 600 }, () => ({ spec: aJob }));
  await world.ask('POST', '/v1/jobs/batch', { token, body: { jobs } });
  const { sequence, first } = await world.store.head();
  const stream = await follow('?after=0');
  const told = events(await stream.take((event) => event.data.sequence === sequence));
  expect(told.map((event) => event.data.sequence)).toEqual(
    Array.from({ length: sequence - first + 1 }, (_, i) => first + i),
  );
  await stream.close();
});

test('a scoped tail tells only its own jobs', async () => {
  const viewer = await world.token('viewer', 'a');
  const stream = await follow('', {}, viewer);
  await submit('a-b');
  await submit();
  const own = await submit('a');
  expect(
    events(await stream.take((event) => event.event !== 'position')).map((event) => event.data.body.job),
  ).toEqual([own]);
  await stream.close();
});

test('a token may hold only so many streams', async () => {
  const viewer = await world.token('viewer', null);
  const open = [await follow('', {}, viewer), await follow('', {}, viewer), await follow('', {}, viewer)];
  const refused = await follow('', {}, viewer);
  expect(refused.status).toBe(429);
  for (const stream of open) await stream.close();
  // Places come back when streams end.
  await expect.poll(async () => (await follow('', {}, viewer)).status, { timeout: 5000 }).toBe(200);
});

test('a stream ends when its token is revoked', { timeout: 20_000 }, async () => {
  const made = (
    await world.ask('POST', '/v1/tokens', { token, body: { name: 'short', role: 'viewer' } })
  ).json();
  const stream = await follow('', {}, made.token);
  await world.ask('DELETE', `/v1/tokens/${made.id}`, { token });
  expect(events(await stream.take(() => false))).toEqual([]);
});
