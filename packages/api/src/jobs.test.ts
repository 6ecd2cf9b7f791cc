import { type JobId, onlyVerdict, type RunId } from '@muster/model';
import { aPlan, aUnit, joinNode, lead, placement } from '@muster/store/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aJob, openWorld, type World } from './testing/world.ts';
import { whySchema } from './view-schemas.ts';

let world: World;
let token: string;

beforeAll(async () => {
  world = await openWorld();
  token = await world.token('admin', null, { name: 'op' });
});
afterAll(() => world.close());

const submit = async (extra: object = {}, query = ''): Promise<string> =>
  (await world.ask('POST', `/v1/jobs${query}`, { token, body: { ...aJob, ...extra } })).json().id;
const act = (id: string, what: string, headers: Record<string, string> = {}) =>
  world.ask('POST', `/v1/jobs/${id}/${what}`, { token, headers });

test('cancelling is idempotent; holding or releasing what has ended is 409 with what to do', async () => {
  const id = await submit();
  for (let i = 0; i < 2; i++) {
    const answer = await act(id, 'cancel');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({ state: 'ended', exitCode: 1, result: { outcome: 'cancelled' } });
  }
  for (const what of ['hold', 'release']) {
    const answer = await act(id, what);
    expect(answer.json()).toMatchObject({ status: 409, code: 'conflict' });
    expect(answer.json().detail).toContain('submit it again');
  }
});

test('hold and release take the job to and fro, and saying it twice is no error', async () => {
  const id = await submit();
  expect((await act(id, 'release')).json().state).toBe('queued');
  for (const [what, state] of [
    ['hold', 'held'],
    ['hold', 'held'],
    ['release', 'queued'],
    ['release', 'queued'],
  ] as const) {
    const answer = await act(id, what);
    expect([answer.statusCode, answer.json().state]).toEqual([200, state]);
  }
});

test('If-Match is honoured: a stale version is 409 and changes nothing', async () => {
  const id = await submit();
  const { etag } = (await world.ask('GET', `/v1/jobs/${id}`, { token })).headers;
  expect(etag).toBe('"1"');
  const held = await act(id, 'hold', { 'if-match': etag as string });
  expect(held.statusCode).toBe(200);
  expect(held.headers.etag).toBe('"2"');
  for (const what of ['cancel', 'hold', 'release'])
    for (const tags of ['"1"', '"1", "3"', 'W/"2"', '"x"', '"02"']) {
      const stale = await act(id, what, { 'if-match': tags });
      expect(stale.json(), tags).toMatchObject({ status: 409, code: 'version-mismatch' });
      expect(stale.headers.etag).toBe('"2"');
    }
  expect((await world.ask('GET', `/v1/jobs/${id}`, { token })).json()).toMatchObject({
    state: 'held',
    version: 2,
  });
  for (const tags of ['2', '"2', '', '"2";"3"', '"2",'])
    expect((await act(id, 'cancel', { 'if-match': tags })).json(), tags).toMatchObject({ status: 400 });
  expect((await act(id, 'release', { 'if-match': '"1", "2"' })).statusCode).toBe(200);
  expect((await act(id, 'cancel', { 'if-match': '*' })).statusCode).toBe(200);
});

test('of two who decided on the same version at once, one has their way and the other is told', async () => {
  for (let round = 0; round < 5; round++) {
    const id = await submit();
    const answers = await Promise.all(
      ['hold', 'cancel', 'hold', 'cancel'].map((what) => act(id, what, { 'if-match': '"1"' })),
    );
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 409, 409, 409]);
  }
});

test('a list is newest first, filtered, and paged without gap or repeat', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 7; i++) ids.push(await submit({ name: 'paged' }));
  await act(ids[0] as string, 'cancel');
  const seen: string[] = [];
  let cursor = '';
  do {
    const page = (await world.ask('GET', `/v1/jobs?name=paged&limit=3${cursor}`, { token })).json();
    seen.push(...page.items.map((job: { id: string }) => job.id));
    cursor = page.next === null ? '' : `&cursor=${page.next}`;
  } while (cursor !== '');
  expect(seen).toEqual([...seen].sort().reverse());
  expect([...seen].sort()).toEqual([...ids].sort());
  const states = async (query: string): Promise<number> =>
    (await world.ask('GET', `/v1/jobs?name=paged&${query}`, { token })).json().items.length;
  expect(await states('state=ended')).toBe(1);
  expect(await states('state=queued,held')).toBe(6);
  expect(await states('project=default')).toBe(7);
  expect(await states('project=nowhere')).toBe(0);
  expect(await states('submittedBy=op')).toBe(7);
  expect(await states('submittedBy=somebody')).toBe(0);
});

test('a waiting job whose entry was told nothing since shows what the engine says, unless it is to start', async () => {
  const reasons = async (id: string) => [
    (await world.ask('GET', `/v1/jobs/${id}`, { token })).json().reason,
    (await world.ask('GET', '/v1/jobs?limit=1', { token })).json().items[0].reason,
  ];
  const id = await submit();
  world.control.verdict = { kind: 'waits', reasons: [{ code: 'behind', ahead: 3 }] };
  expect(await reasons(id)).toEqual(Array(2).fill('waits: behind 3 jobs in the order'));
  world.control.verdict = { kind: 'placed', nodes: [] };
  expect(await reasons(id)).toEqual([null, null]);
  world.control.verdict = null;
  await act(id, 'cancel');
});

test('a planned start is in lists, in the job and in its reason, with what it rests on', async () => {
  const id = (await submit()) as JobId;
  const rests = { runs: 3, assumed: 2, overdue: 1 };
  const planned = { startMs: Date.UTC(2026, 0, 2, 3, 4, 5), ...rests };
  world.control.plannedStarts = [{ job: id, ...planned }];
  world.control.verdict = { kind: 'waits', reasons: [{ code: 'behind', ahead: 3 }], planned };
  const at = '2026-01-02T03:04:05.000Z';
  expect((await world.ask('GET', `/v1/jobs/${id}`, { token })).json().plannedStart).toBe(at);
  expect((await world.ask('GET', '/v1/jobs?limit=1', { token })).json().items[0].plannedStart).toBe(at);
  const why = (await world.ask('GET', `/v1/jobs/${id}/why`, { token })).json();
  expect(why.verdict.planned).toEqual({ startsAt: at, ...rests });
  expect(why.text).toBe(
    `waits: behind 3 jobs in the order; planned to start at ${at}, when 3 runs will have ended (of these 2 have no time limit, and their tier's default is taken; 1 has run longer than expected)`,
  );
  expect(whySchema.parse(why)).toEqual(why);
  world.control.plannedStarts = [];
  world.control.verdict = null;
  await act(id, 'cancel');
});

test('what is learned of its run time is said once, when it comes, and stays with it', async () => {
  world.control.estimated = { expectedMs: 60_000, p90Ms: 300_000 };
  const id = await submit();
  world.control.estimated = undefined;
  const later = await submit();
  const estimateOf = async (job: string) =>
    (await world.ask('GET', `/v1/jobs/${job}`, { token })).json().estimate;
  expect(await estimateOf(id)).toEqual({ expectedMs: 60_000, p90Ms: 300_000 });
  expect(await estimateOf(later)).toBeNull();
});

test('a job has the devices of the alternative it runs on, and those of the first while it waits', async () => {
  const accelerators = [
    { kind: 'gpu', count: 2 },
    { kind: 'gpu', count: 4 },
  ];
  const id = (await submit({ resources: { accelerators } })) as JobId;
  const listed = async () => (await world.ask('GET', '/v1/jobs?limit=1', { token })).json().items[0];
  expect(await listed()).toMatchObject({ id, state: 'queued', tasks: 1, devices: 2 });
  const epoch = await lead(world.store);
  const { node } = await joinNode(world.store);
  await world.store.commitPlan(epoch, aPlan([aUnit(id, [placement(node, { devices: [0, 1, 2, 3] })])]));
  expect(await listed()).toMatchObject({ id, state: 'starting', tasks: 1, devices: 4 });
  await act(id, 'cancel');
});

test('why names jobs of others only to those who may see them, and counts them to all', async () => {
  const id = await submit();
  const job = 'job_0e9y2k4m1q8r5t7w3z6x' as JobId;
  const run = 'run_0e9y2k4m1q8r5t7w3z6x-1' as RunId;
  const verdict = { kind: 'waits', reasons: [] } as const;
  world.control.verdict = verdict;
  world.control.explanation = {
    ...onlyVerdict(verdict),
    ahead: { count: 4, jobs: [{ job, project: 'secret', because: { rule: 'submitted', submittedMs: 1 } }] },
    changes: [{ kind: 'exclusive', victims: 0 }],
    ends: { count: 2, runs: [{ job, project: 'secret', run, endMs: null }] },
  };
  const why = async (by: string) => (await world.ask('GET', `/v1/jobs/${id}/why`, { token: by })).json();
  const all = await why(token);
  expect(all.explanation).toMatchObject({
    ahead: { count: 4, jobs: [{ job, because: { submittedAt: '1970-01-01T00:00:00.001Z' } }] },
    changes: [{ kind: 'exclusive', victims: 0 }],
    ends: { count: 2, runs: [{ job, endsAt: null }] },
  });
  expect(whySchema.parse(all)).toEqual(all);
  const scoped = await why(await world.token('viewer', 'default'));
  expect(scoped.explanation).toMatchObject({ ahead: { count: 4, jobs: [] }, ends: { count: 2, runs: [] } });
  world.control.verdict = null;
  world.control.explanation = null;
});

test('why tells the verdict of a waiting job and something useful of every other', async () => {
  const why = async (id: string, query = '') =>
    (await world.ask('GET', `/v1/jobs/${id}/why${query}`, { token })).json();
  const id = await submit();
  world.control.verdict = { kind: 'impossible', reasons: [], nearest: [] };
  const head = (await world.store.head()).sequence;
  const answer = await why(id);
  expect(answer).toMatchObject({ job: id, state: 'queued', verdict: { kind: 'impossible' } });
  expect(answer.sequence).toBeGreaterThanOrEqual(head);
  // A position beyond the log does not wait for ever.
  expect((await why(id, '?after=999999999')).state).toBe('queued');
  await act(id, 'hold');
  expect(await why(id)).toMatchObject({
    state: 'held',
    verdict: null,
    text: 'held by op; release it to let it start',
  });
  await act(id, 'cancel');
  expect((await why(id)).text).toMatch(/^cancelled by op, at /);
  world.control.verdict = null;
});
