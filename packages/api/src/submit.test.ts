import { OperationalError } from '@muster/model';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aJob, openWorld, type World } from './testing/world.ts';
import { dryRunSchema, jobDetailSchema } from './view-schemas.ts';

let world: World;
let token: string;

beforeAll(async () => {
  world = await openWorld();
  await world.project('team');
  await world.project('team/sub');
  token = await world.token('member', 'team', { name: 'alice' });
});
afterAll(() => world.close());

const submit = (body: unknown, headers: Record<string, string> = {}, query = '') =>
  world.ask('POST', `/v1/jobs${query}`, { token, body, headers });

test('a submit answers 201 with where the job is and the event it became', async () => {
  const answer = await submit(aJob);
  expect(answer.statusCode).toBe(201);
  const { id, repeated } = answer.json();
  expect(repeated).toBe(false);
  expect(answer.headers.location).toBe(`/v1/jobs/${id}`);
  expect(Number(answer.headers['muster-sequence'])).toBeGreaterThan(0);
  const job = (await world.ask('GET', `/v1/jobs/${id}`, { token })).json();
  // The token's project, and a principal that says whose alice this is.
  expect(job).toMatchObject({ id, project: 'team', submittedBy: 'alice@team', state: 'queued', version: 1 });
});

test('an unscoped token submits to the default project unless the spec names one', async () => {
  const admin = await world.token('admin', null);
  const project = async (body: unknown): Promise<string> => {
    const { id } = (await world.ask('POST', '/v1/jobs', { token: admin, body })).json();
    return (await world.ask('GET', `/v1/jobs/${id}`, { token: admin })).json().project;
  };
  expect(await project(aJob)).toBe('default');
  expect(await project({ ...aJob, project: 'team/sub' })).toBe('team/sub');
});

test('a key submits once: the same body again is 200 with the same job, in any order of fields', async () => {
  const key = { 'idempotency-key': 'once' };
  const first = await submit({ ...aJob, name: 'one' }, key);
  const again = await submit({ name: 'one', ...aJob }, key);
  expect([first.statusCode, again.statusCode]).toEqual([201, 200]);
  expect(again.json()).toEqual({ id: first.json().id, repeated: true });
});

test('a key with another body is 409 and names the first job; holding is part of the body', async () => {
  const key = { 'idempotency-key': 'other' };
  const first = (await submit(aJob, key)).json().id;
  for (const answer of [await submit({ ...aJob, priority: 1 }, key), await submit(aJob, key, '?hold=true')]) {
    expect(answer.json()).toMatchObject({ status: 409, code: 'key-reused' });
    expect(answer.json().detail).toContain(first);
  }
});

test('twenty submits of one key at once make exactly one job', async () => {
  const before = await world.store.head();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => submit({ ...aJob, name: 'race' }, { 'idempotency-key': 'race' })),
  );
  expect(new Set(answers.map((answer) => answer.json().id)).size).toBe(1);
  expect(answers.filter((answer) => answer.statusCode === 201)).toHaveLength(1);
  expect((await world.store.head()).sequence).toBe(before.sequence + 1);
});

test('one key with two bodies at once is one job, and whoever came second is told which', async () => {
  for (let round = 0; round < 5; round++) {
    const key = { 'idempotency-key': `two-${round}` };
    const before = await world.store.head();
    const answers = await Promise.all([0, 1, 2, 3].map((priority) => submit({ ...aJob, priority }, key)));
    const made = answers.filter((answer) => answer.statusCode === 201);
    expect(made).toHaveLength(1);
    for (const answer of answers) {
      if (answer === made[0]) continue;
      expect(answer.json()).toMatchObject({ status: 409, code: 'key-reused' });
      expect(answer.json().detail).toContain(made[0]?.json().id);
    }
    expect((await world.store.head()).sequence).toBe(before.sequence + 1);
  }
});

test('keys are the principal’s own: another token may use the same one', async () => {
  const other = await world.token('member', 'team', { name: 'bob' });
  const headers = { 'idempotency-key': 'mine' };
  const ids = [token, other].map(
    async (who) => (await world.ask('POST', '/v1/jobs', { token: who, body: aJob, headers })).json().id,
  );
  expect(new Set(await Promise.all(ids)).size).toBe(2);
});

test('a dry run tells the whole spec and the verdict, and writes nothing', async () => {
  world.control.verdict = { kind: 'waits', reasons: [{ code: 'behind', ahead: 3 }] };
  const before = await world.store.head();
  const answer = await submit(aJob, {}, '?dryRun=true');
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toMatchObject({ valid: true, reason: 'waits: behind 3 jobs in the order' });
  expect(answer.json().spec).toMatchObject({ project: 'team', tier: 'standard', stopAfterMs: 300_000 });
  expect(await world.store.head()).toEqual(before);
  expect((await submit({ ...aJob, tier: 'no' }, {}, '?dryRun=true')).statusCode).toBe(422);
  world.control.verdict = null;
});

test('the whole spec has its deadline as RFC 3339, in a dry run and in the job, with nothing its schema does not know', async () => {
  const whole = {
    ...aJob,
    deadline: '2150-01-02T03:04:05+01:00',
    timeLimit: '1h',
    checkpoint: { signal: 'USR1', wait: '30s' },
    preferences: [{ label: 'zone', in: ['a'], weight: 1 }],
    resources: { accelerators: [{ count: 2, model: 'H100' }, { count: 0.5 }] },
    topology: { level: 'node', mode: 'required' },
    array: { count: 3 },
  };
  const deadline = '2150-01-02T02:04:05.000Z';
  const dry = (await submit(whole, {}, '?dryRun=true')).json();
  expect(dry.spec).toMatchObject({ deadline, timeLimitMs: 3_600_000 });
  expect(dryRunSchema.parse(dry)).toEqual(dry);
  const { id } = (await submit(whole)).json();
  const job = (await world.ask('GET', `/v1/jobs/${id}`, { token })).json();
  expect(job.spec).toEqual(dry.spec);
  expect(jobDetailSchema.parse(job)).toEqual(job);
});

test('hold=true accepts the job held', async () => {
  const { id } = (await submit(aJob, {}, '?hold=true')).json();
  expect((await world.ask('GET', `/v1/jobs/${id}`, { token })).json().state).toBe('held');
});

test('a project made a moment ago can be submitted to at once', async () => {
  await submit(aJob);
  await world.project('team/new');
  expect((await submit({ ...aJob, project: 'team/new' })).statusCode).toBe(201);
});

test('a batch answers every item in order, and a bad one fails alone', async () => {
  const before = (await world.store.head()).sequence;
  const jobs = [
    { spec: aJob },
    { spec: { ...aJob, tier: 'nope' } },
    { key: 'b1', spec: aJob },
    { key: 'b1', spec: aJob },
    { key: 'b1', spec: { ...aJob, priority: 2 } },
    { spec: { ...aJob, project: 'elsewhere' } },
    { spec: { comand: [] } },
    { kye: 'x', spec: aJob },
    { key: 'with space', spec: aJob },
    { hold: true, spec: aJob },
    'nonsense',
    {},
  ];
  const answer = await world.ask('POST', '/v1/jobs/batch', { token, body: { jobs } });
  expect(answer.statusCode).toBe(200);
  const { items } = answer.json();
  const told = items.map((item: { ok: boolean; repeated?: boolean; problem?: { code: string } }) =>
    item.ok ? (item.repeated ? 'repeated' : 'ok') : item.problem?.code,
  );
  expect(told).toEqual([
    'ok',
    'unknown-tier',
    'ok',
    'repeated',
    'key-reused',
    'unknown-project',
    'unknown-field',
    'unknown-field',
    'invalid-field',
    'ok',
    'invalid-field',
    'invalid-field',
  ]);
  expect(items[6].problem.errors[0].path).toBe('/spec/comand');
  expect(items[2].id).toBe(items[3].id);
  expect((await world.ask('GET', `/v1/jobs/${items[9].id}`, { token })).json().state).toBe('held');
  expect((await world.store.head()).sequence).toBe(before + 3);
});

test('an outcome nobody knows is 503 and says how to find out', async () => {
  const { submit: real, submitMany } = world.store;
  world.store.submit = async () => ({ outcome: 'unknown' });
  world.store.submitMany = async (items) => items.map(() => ({ outcome: 'unknown' }));
  const answer = await submit(aJob, { 'idempotency-key': 'lost' });
  const batch = await world.ask('POST', '/v1/jobs/batch', {
    token,
    body: { jobs: [{ key: 'k', spec: aJob }] },
  });
  Object.assign(world.store, { submit: real, submitMany });
  expect(answer.json()).toMatchObject({ status: 503, code: 'outcome-unknown' });
  expect(answer.json().detail).toContain('check with the same Idempotency-Key');
  expect(batch.json().items[0].problem.code).toBe('outcome-unknown');
});

test('a database that is away is 503 with Retry-After', async () => {
  const real = world.store.submit;
  world.store.submit = async () => {
    throw new OperationalError('unavailable', 'the database does not answer; nothing happened');
  };
  const answer = await submit(aJob);
  world.store.submit = real;
  expect(answer.json()).toMatchObject({ status: 503, code: 'unavailable' });
  expect(answer.headers['retry-after']).toBe('1');
});

test('a level of the topology that is new is known to a batch too', async () => {
  await submit(aJob);
  const real = world.store.policy;
  world.store.policy = async () => {
    const { policy, ...rest } = await real();
    const levels = [...policy.topology.levels, 'pod'];
    return { ...rest, policy: { ...policy, topology: { ...policy.topology, levels } } };
  };
  const spec = { ...aJob, topology: { level: 'pod', mode: 'preferred' } };
  const answer = await world.ask('POST', '/v1/jobs/batch', { token, body: { jobs: [{ spec }] } });
  world.store.policy = real;
  expect(answer.json().items).toMatchObject([{ ok: true }]);
});

test('a level that the topology does not have is refused with the nearest one, wherever it is named', async () => {
  const group = (name: string, more: object) => ({ name, command: ['a'], ...more });
  const answer = await submit({
    name: 'x',
    topology: { level: 'racks', mode: 'required' },
    groups: [
      group('one', { topology: { level: 'node', mode: 'required' } }),
      group('two', { near: { group: 'one', level: 'zoen' } }),
    ],
  });
  expect(answer.statusCode).toBe(422);
  expect(answer.json().errors).toMatchObject([
    {
      path: '/topology/level',
      message: expect.stringContaining('there is no level "racks" in the topology; did you mean "rack"?'),
    },
    { path: '/groups/1/near/level', message: expect.stringContaining('did you mean "zone"?') },
  ]);
});
