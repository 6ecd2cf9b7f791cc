// The rows of the bad-input matrix that concern HTTP, against a whole server: a 4xx from the table with a place and what is
// allowed, no stack, nothing written, and no body in the log.
import { type ProblemCode, problemCodes } from '@muster/model';
import type { PgStore } from '@muster/store';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from './routes.ts';
import { type Ask, aJob, openWorld, type World } from './testing/world.ts';
import { problemSchema } from './view-schemas.ts';

let world: World;
let token: string;

beforeAll(async () => {
  world = await openWorld({ maxBodyBytes: 256 * 1024 });
  token = await world.token('admin', null);
});
afterAll(() => world.close());

const canary = 'canary-in-the-body';

async function refusedSubmit(ask: Ask) {
  const before = await world.store.head();
  const answer = await world.ask('POST', '/v1/jobs', { token, ...ask });
  expect(answer.headers['content-type']).toContain('application/problem+json');
  expect(await world.store.head()).toEqual(before);
  return wellFormed(answer);
}

/** The form of every refusal: a stable code, places, clipped values, no stack. */
function wellFormed(answer: { statusCode: number; body: string }) {
  const problem = problemSchema.strict().parse(JSON.parse(answer.body));
  expect(problemCodes[problem.code as ProblemCode]?.status).toBe(answer.statusCode);
  expect(problem.status).toBe(answer.statusCode);
  expect(answer.body).not.toContain('    at ');
  expect(problem.detail.length).toBeLessThan(600);
  for (const { path, value } of problem.errors ?? []) {
    expect(path === '' || path.startsWith('/'), path).toBe(true);
    expect((value ?? '').length).toBeLessThanOrEqual(80);
  }
  return problem;
}

type Case = readonly [
  name: string,
  body: string | Buffer,
  status: number,
  code: string,
  says: string,
  path?: string,
];
const forms: readonly Case[] = [
  ['not JSON', 'hello', 400, 'bad-json', 'not JSON'],
  ['empty', '', 400, 'bad-json', 'empty'],
  ['byte order mark', '\ufeff{}', 400, 'bad-json', 'byte order mark'],
  ['NaN', '{"priority":NaN}', 400, 'bad-json', 'not JSON'],
  ['Infinity', '{"priority":-Infinity}', 400, 'bad-json', 'not JSON'],
  ['duplicate key', '{"command":["a"],"command":["b"]}', 400, 'bad-json', '"/command" twice', '/command'],
  ['too large', JSON.stringify({ title: 'x'.repeat(300_000) }), 413, 'too-large', 'at most 262144 bytes'],
  ['depth 1,000', '['.repeat(1000) + ']'.repeat(1000), 400, 'bad-json', 'deeper than 64'],
  ['invalid UTF-8', Buffer.from([0x7b, 0xc3, 0x28, 0x7d]), 400, 'bad-json', 'UTF-8'],
  ['NUL as it is', '{"command":["a\0b"]}', 400, 'bad-json', 'not JSON'],
  ['NUL', '{"command":["a\\u0000b"]}', 400, 'bad-json', 'NUL character', '/command/0'],
  ['lone surrogate', '{"title":"\\ud800"}', 400, 'bad-json', 'surrogate', '/title'],
  ['an array', '[]', 422, 'invalid-field', 'the body'],
  ['a string', '"x"', 422, 'invalid-field', 'the body'],
  ['null', 'null', 422, 'invalid-field', 'the body'],
  [
    'unknown field',
    '{"command":["a"],"comand":1}',
    422,
    'unknown-field',
    'did you mean "command"',
    '/comand',
  ],
  ['next version', '{"apiVersion":"v2","command":["a"]}', 422, 'unknown-field', 'apiVersion', '/apiVersion'],
  ['__proto__', '{"command":["a"],"__proto__":{"x":1}}', 422, 'unknown-field', '__proto__', '/__proto__'],
  ['constructor', '{"command":["a"],"constructor":{}}', 422, 'unknown-field', 'constructor', '/constructor'],
];

test.each(forms.map((row) => [row[0], row] as const))('%s is refused', async (_name, row) => {
  const [, raw, status, code, says, path] = row;
  const problem = await refusedSubmit({ raw });
  expect(problem).toMatchObject({ status, code });
  expect(problem.detail).toContain(says);
  if (path !== undefined) expect(problem.errors?.map((error) => error.path)).toEqual([path]);
  expect(({} as Record<string, unknown>).x).toBeUndefined();
});

type Field = readonly [name: string, spec: object, path: string, code?: string];
const gpus = (count: unknown) => ({ resources: { accelerators: { count } } });
const fields: readonly Field[] = [
  ['-1 devices', gpus(-1), '/resources/accelerators/count'],
  ['0 devices', gpus(0), '/resources/accelerators/count'],
  ['1.5 devices', gpus(1.5), '/resources/accelerators/count'],
  ['2^31 devices', gpus(2 ** 31), '/resources/accelerators/count'],
  ['"8" devices', gpus('8'), '/resources/accelerators/count'],
  ['2^53+1 tasks', { tasks: 2 ** 53 + 2 }, '/tasks'],
  ['size 10GB', { resources: { memory: '10GB' } }, '/resources/memory'],
  ['size 10', { resources: { memory: '10' } }, '/resources/memory'],
  ['time limit 90', { timeLimit: '90' }, '/timeLimit'],
  ...[
    '',
    'x'.repeat(300),
    '../x',
    'a/b',
    '%x',
    'a\nb',
    '"',
    '`a`',
    '$(a)',
    '-a',
    '😀',
    'a\u202eb',
    'аdmin',
    'A',
    '"'.repeat(300),
  ].map((name): Field => [`name ${JSON.stringify(name).slice(0, 20)}`, { name }, '/name']),
  ['env MUSTER_X', { env: { MUSTER_X: '1' } }, '/env/MUSTER_X'],
  ['env SLURM_X', { env: { SLURM_X: '1' } }, '/env/SLURM_X'],
  ['env SBATCH_X', { env: { SBATCH_X: '1' } }, '/env/SBATCH_X'],
  ['env of 200 kB', { env: { A: 'x'.repeat(200_000) } }, '/env'],
  ['CRLF in a script', { command: ['sh', '-c', '#!/bin/sh\r\n#SBATCH --gpus=8\r\ntrue\r\n'] }, '/command/2'],
  ['a deadline in the past', { deadline: '2020-01-01T00:00:00Z' }, '/deadline'],
  [
    'a dependency on a foreign job, or in a circle',
    { dependencies: [{ job: 'job_000000000000000000' }] },
    '/dependencies',
    'unsupported-field',
  ],
  ['deadline 2026-02-30', { deadline: '2026-02-30T00:00:00Z' }, '/deadline'],
  ['deadline without zone', { deadline: '2026-02-20T00:00:00' }, '/deadline'],
  ['deadline in the year 9999', { deadline: '9999-01-01T00:00:00Z' }, '/deadline'],
  ['deadline as a number', { deadline: 1_700_000_000 }, '/deadline'],
  ['min above max', { tasks: { min: 3, max: 2 } }, '/tasks'],
  ['an empty command', { command: [] }, '/command'],
  ['a service', { kind: 'service' }, '/kind', 'unsupported-field'],
];

test.each(fields.map((row) => [row[0], row] as const))('%s is refused at its place', async (_name, row) => {
  const [, extra, path, code = 'invalid-field'] = row;
  const problem = await refusedSubmit({ body: { ...aJob, ...extra } });
  expect(problem).toMatchObject({ status: 422, code });
  expect(problem.errors?.[0]?.path.startsWith(path), JSON.stringify(problem)).toBe(true);
});

const pinned = (cluster: string) => ({ label: 'cluster', in: [cluster] });
test.each([
  ['min above max', { tasks: { min: 3, max: 2 } }, ['/tasks/min', '/tasks/max']],
  ['two clusters pinned', { constraints: [pinned('a'), pinned('b')] }, ['/constraints/0', '/constraints/1']],
  ['tasks beside groups', { tasks: 2, groups: [{}] }, ['/tasks', '/groups']],
  [
    'two conditions in a rule',
    { constraints: [{ ...pinned('a'), exists: false }] },
    ['/constraints/0/in', '/constraints/0/exists'],
  ],
])('%s is refused with both paths', async (_name, extra, paths) => {
  const problem = await refusedSubmit({ body: { ...aJob, ...extra } });
  expect(problem).toMatchObject({ status: 422, code: 'invalid-field' });
  expect(problem.errors?.map(({ path }) => path)).toEqual(paths);
});

test('2 MB of variables are beyond every cap', async () => {
  const env = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`V${i}`, 'x'.repeat(1000)]));
  expect(await refusedSubmit({ body: { ...aJob, env } })).toMatchObject({ status: 413, code: 'too-large' });
});

test('a project that nobody has is named, however long it is', async () => {
  const project = Array(8).fill('p'.repeat(63)).join('/');
  expect(await refusedSubmit({ body: { ...aJob, project } })).toMatchObject({ code: 'unknown-project' });
});

test('numbers that JSON cannot hold exactly are refused or harmless', async () => {
  const submit = (raw: string) => world.ask('POST', '/v1/jobs', { token, raw });
  for (const count of ['1e309', '9007199254740993', '-0', '-1e309'])
    expect(
      (await submit(`{"command":["a"],"resources":{"accelerators":{"count":${count}}}}`)).statusCode,
      count,
    ).toBe(422);
  expect((await submit('{"command":["a"],"priority":-0}')).statusCode).toBe(201);
});

test('what no fleet here could hold is accepted: it waits for hardware, with a verdict that says so', async () => {
  const accelerators = { count: 9, model: 'Z9-unknown' };
  for (const extra of [{ resources: { accelerators } }, { tasks: 100_000 }])
    expect((await world.ask('POST', '/v1/jobs', { token, body: { ...aJob, ...extra } })).statusCode).toBe(
      201,
    );
});

test('env values with newlines, LD_PRELOAD and PATH are the user’s own business', async () => {
  const env = { LD_PRELOAD: '/x.so', PATH: '/bin', TEXT: 'a\nb\t$(c)`d`' };
  const answer = await world.ask('POST', '/v1/jobs', { token, body: { ...aJob, env } });
  expect(answer.statusCode).toBe(201);
  const { spec } = (await world.ask('GET', `/v1/jobs/${answer.json().id}`, { token })).json();
  expect(spec.groups[0].env).toEqual(env);
});

test('an unknown tier or project is named with what there is', async () => {
  expect((await refusedSubmit({ body: { ...aJob, tier: 'standart' } })).detail).toContain(
    'did you mean "standard"',
  );
  const problem = await refusedSubmit({ body: { ...aJob, project: 'nowhere' } });
  expect(problem).toMatchObject({ code: 'unknown-project', status: 422 });
});

describe('requests around the body', () => {
  test('another content type is 415, another method 405 with Allow, another path 404', async () => {
    const problem = await refusedSubmit({
      raw: 'a=b',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(problem.status).toBe(415);
    expect((await refusedSubmit({ body: aJob, headers: { 'content-encoding': 'gzip' } })).status).toBe(415);
    const method = await world.ask('DELETE', '/v1/jobs', { token });
    expect([method.json().code, method.headers.allow]).toEqual(['method-not-allowed', 'POST, GET']);
    expect(method.statusCode).toBe(405);
    const path = await world.ask('GET', '/v2/jobs', { token });
    expect(path.json()).toMatchObject({ status: 404, code: 'not-found' });
    expect((await world.ask('GET', '/v1/jobs/%E0%A4%A', { token })).json()).toMatchObject({ status: 400 });
    expect((await world.ask('GET', `/v1/jobs/${'x'.repeat(500)}`, { token })).json()).toMatchObject({
      status: 404,
    });
  });

  test('queries are strict: unknown names, repeated names, wrong limits', async () => {
    const bad = async (query: string) => {
      const answer = await world.ask('GET', `/v1/jobs?${query}`, { token });
      expect(answer.statusCode, query).toBe(400);
      expect(answer.json().code).toBe('bad-request');
      return answer.json().detail as string;
    };
    for (const limit of ['-1', '0', '1.5', 'abc', '', '99999999999']) await bad(`limit=${limit}`);
    expect(await bad('sort=name')).toContain('unknown field "sort"');
    expect(await bad('stat=queued')).toContain('did you mean "state"');
    await bad('limit=1&limit=2');
    await bad('state=queued,flying');
    await bad(`name=${'x'.repeat(5000)}`);
    await bad('name=(a+)%2B$');
    for (const query of ['__proto__=1', 'constructor=1', '__proto__[x]=1']) await bad(query);
    for (const query of ['submittedBy=%00', 'name=a%00', 'submittedBy=a%00b', 'cursor=%00', '%00=1'])
      expect(await bad(query)).toContain('NUL');
    await bad(`submittedBy=${'x'.repeat(5000)}`);
    expect((await world.ask('GET', '/v1/jobs?limit=1000000000', { token })).statusCode).toBe(200);
  });

  test('forged, old and foreign cursors are 400', async () => {
    for (let i = 0; i < 3; i++) await world.ask('POST', '/v1/jobs', { token, body: aJob });
    const { next } = (await world.ask('GET', '/v1/jobs?limit=1', { token })).json();
    const flipped = (next[5] === 'A' ? 'B' : 'A') as string;
    const cursors = ['x', 'AAAA', `${next}A`, next.slice(1), next.slice(0, 5) + flipped + next.slice(6)];
    for (const cursor of [...cursors, Buffer.from('job_00000000000000000').toString('base64url')]) {
      const answer = await world.ask('GET', `/v1/jobs?cursor=${cursor}`, { token });
      expect(answer.json()).toMatchObject({ status: 400, code: 'bad-cursor' });
    }
    // A good cursor of another list is none of this one.
    expect((await world.ask('GET', `/v1/nodes?cursor=${next}`, { token })).json().code).toBe('bad-cursor');
    expect((await world.ask('GET', `/v1/jobs?cursor=${next}`, { token })).statusCode).toBe(200);
  });

  test('a cursor from before a restore is 400', async () => {
    const { next } = (await world.ask('GET', '/v1/jobs?limit=1', { token })).json();
    await (world.store as PgStore).newLogId();
    world.clock.aheadMs += 2000;
    expect((await world.ask('GET', `/v1/jobs?cursor=${next}`, { token })).json().code).toBe('bad-cursor');
    world.clock.aheadMs -= 2000;
  });

  test('an idempotency key has a grammar', async () => {
    for (const key of ['a b', 'x'.repeat(201), 'é'])
      expect((await refusedSubmit({ body: aJob, headers: { 'idempotency-key': key } })).status).toBe(400);
  });

  test('other bodies are strict too', async () => {
    const post = async (url: string, body: unknown) => (await world.ask('POST', url, { token, body })).json();
    expect(await post('/v1/projects', { path: 'A' })).toMatchObject({ status: 422, code: 'invalid-field' });
    expect((await post('/v1/projects', { pth: 'a' })).errors[0].message).toBeTruthy();
    expect(await post('/v1/tokens', { name: 'x', role: 'root' })).toMatchObject({ status: 422 });
    const unknown = await post('/v1/tokens', { name: 'x', role: 'viewer', scope: 'a' });
    expect(unknown).toMatchObject({ code: 'unknown-field' });
    expect(await post('/v1/tokens', { name: 'x', role: 'viewer', expiresIn: '30' })).toMatchObject({
      status: 422,
    });
    expect(await post('/v1/enrol', { token: 'x', name: 'n', publicKey: 'x' })).toMatchObject({ status: 422 });
    expect(await post('/v1/jobs/batch', { jobs: 'x' })).toMatchObject({ status: 422 });
    expect(await post('/v1/jobs/batch', { jobs: [], extra: 1 })).toMatchObject({ status: 422 });
    expect((await post('/v1/jobs/batch', { jobs: Array(10_001).fill(0) })).status).toBe(422);
    expect((await world.ask('POST', '/v1/tokens', { token })).json()).toMatchObject({
      status: 400,
      code: 'bad-json',
    });
  });
});

test('no line of the log has a body or a token in it', async () => {
  await world.ask('POST', '/v1/jobs', { token, raw: `{"title":"${canary}", broken` });
  await world.ask('POST', '/v1/jobs', { token, body: { ...aJob, title: canary, bad: 1 } });
  await world.ask('GET', `/v1/whoami?access_token=${token}`);
  const log = world.logLines.join('');
  expect(log).not.toContain(canary);
  expect(log).not.toContain(token.slice(4, 20));
});

describe('every boundary', () => {
  const odd = [
    '%00',
    '..%2f..',
    "'--",
    '%F0%9F%98%80',
    '%ED%A0%80',
    'x'.repeat(199),
    '-1',
    'job_',
    '__proto__',
  ];
  const served = routes.filter(({ path }) => path !== '/v1/agents/connect');

  test('takes any id and any query without breaking', { timeout: 30_000 }, async () => {
    for (const { method, path, body } of served)
      for (const id of odd) {
        const url = path.replace(/:\w+/g, id);
        const ask = { token, ...(body ? { body: {} } : {}) };
        const answers = [await world.ask(method, url, ask)];
        if (method === 'GET')
          for (const name of ['limit', 'cursor', 'after', 'job', 'rank', 'offset', 'name', id])
            answers.push(await world.ask(method, `${url}?${name}=${id}`, ask));
        for (const answer of answers) {
          expect(answer.statusCode, `${method} ${url}: ${answer.body}`).toBeLessThan(500);
          if (answer.statusCode >= 400) wellFormed(answer);
        }
      }
  });

  test('takes any JSON without breaking, and says what is wrong with it', async () => {
    const posts = served.filter(({ body }) => body !== null);
    const near = fc.dictionary(
      fc.constantFrom(
        'command',
        'jobs',
        'spec',
        'name',
        'path',
        'role',
        'token',
        'publicKey',
        'reason',
        'uses',
      ),
      fc.oneof(
        fc.jsonValue({ maxDepth: 3 }),
        fc.constant(['true']),
        fc.constant([{ spec: { command: ['x'] } }]),
      ),
      { maxKeys: 5 },
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...posts), fc.oneof(near, fc.jsonValue()), async ({ path }, body) => {
        const answer = await world.ask('POST', path.replace(/:\w+/g, 'nothing'), { token, body });
        expect(answer.statusCode, answer.body).toBeLessThan(500);
        if (answer.statusCode >= 400) wellFormed(answer);
      }),
      { numRuns: 300 },
    );
  }, 60_000);

  test('of a batch tells an item’s problems as briefly as any other', async () => {
    const jobs = [
      { ['k'.repeat(100_000)]: 1, spec: {} },
      { key: 'a b', spec: {} },
      { hold: 'x'.repeat(500), spec: {} },
    ];
    const answer = await world.ask('POST', '/v1/jobs/batch', { token, body: { jobs } });
    for (const { problem } of answer.json().items)
      wellFormed({ statusCode: problem.status, body: JSON.stringify(problem) });
    expect(answer.json().items[1].problem.errors[0]).toMatchObject({ path: '/key', value: '"a b"' });
  });
});

test('a bug is 500 with a request id and nothing else', async () => {
  const job = world.store.job;
  world.store.job = async () => {
    throw new TypeError('secret detail of the inside');
  };
  const answer = await world.ask('GET', '/v1/jobs/job_000000000000000000', { token });
  world.store.job = job;
  expect(answer.statusCode).toBe(500);
  expect(answer.body).not.toContain('secret detail');
  expect(answer.json().detail).toMatch(/request req-/);
  expect(world.logLines.join('')).toContain('secret detail of the inside');
});
