// Every route against every kind of caller. A route that is not in the table fails the test: whoever adds one says here who
// may use it.
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from './routes.ts';
import { type Ask, aJob, openWorld, type World } from './testing/world.ts';
import { mintSecret } from './token-text.ts';

const callers = ['nobody', 'other tenant', 'viewer', 'member', 'admin', 'operator'] as const;
type CallerKind = (typeof callers)[number];

interface Fixture {
  readonly array: string;
  readonly cluster: string;
  readonly job: string;
  readonly node: string;
  readonly token: string;
  readonly enrolment: string;
  readonly n: number;
}

interface Row {
  readonly url: (fixture: Fixture) => string;
  readonly body?: (fixture: Fixture) => unknown;
  /** The status for nobody, other tenant, viewer, member, admin, operator. */
  readonly expect: readonly [number, number, number, number, number, number];
}

const looking = [401, 404, 200, 200, 200, 200] as const;
const changing = [401, 404, 403, 200, 200, 200] as const;
const anyRole = [401, 200, 200, 200, 200, 200] as const;
const everybody = [200, 200, 200, 200, 200, 200] as const;
const operating = [401, 403, 403, 403, 403, 200] as const;
const publicKey = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();

const plain = (path: string) => () => path;
const table: Readonly<Record<string, Row>> = {
  // A project one does not see is answered as one that does not exist.
  'POST /v1/jobs': {
    url: plain('/v1/jobs'),
    body: () => ({ ...aJob, project: 'a' }),
    expect: [401, 422, 403, 201, 201, 201],
  },
  'POST /v1/jobs/batch': {
    url: plain('/v1/jobs/batch'),
    body: () => ({ jobs: [] }),
    expect: [401, 200, 403, 200, 200, 200],
  },
  'GET /v1/jobs': { url: plain('/v1/jobs'), expect: anyRole },
  'GET /v1/jobs/:id': { url: ({ job }) => `/v1/jobs/${job}`, expect: looking },
  'GET /v1/jobs/:id/members': { url: ({ array }) => `/v1/jobs/${array}/members`, expect: looking },
  'GET /v1/jobs/:id/why': { url: ({ job }) => `/v1/jobs/${job}/why`, expect: looking },
  'GET /v1/jobs/:id/logs': { url: ({ job }) => `/v1/jobs/${job}/logs`, expect: looking },
  'POST /v1/jobs/:id/cancel': { url: ({ job }) => `/v1/jobs/${job}/cancel`, expect: changing },
  'POST /v1/jobs/:id/hold': { url: ({ job }) => `/v1/jobs/${job}/hold`, expect: changing },
  'POST /v1/jobs/:id/release': { url: ({ job }) => `/v1/jobs/${job}/release`, expect: changing },
  // The job waits: there is no run to move, and no move to take back.
  'POST /v1/jobs/:id/move': {
    url: ({ job }) => `/v1/jobs/${job}/move`,
    body: () => ({}),
    expect: [401, 404, 403, 409, 409, 409],
  },
  'DELETE /v1/jobs/:id/move': { url: ({ job }) => `/v1/jobs/${job}/move`, expect: changing },
  'POST /v1/clusters/:name/move': {
    url: plain('/v1/clusters/default/move'),
    body: () => ({ reason: 'test' }),
    expect: operating,
  },
  'POST /v1/nodes/:id/move': {
    url: ({ node }) => `/v1/nodes/${node}/move`,
    body: () => ({ reason: 'test' }),
    expect: operating,
  },
  // Only a run's own token authenticates, and none of these callers is a run.
  'POST /v1/runs/self/checkpoint': {
    url: plain('/v1/runs/self/checkpoint'),
    body: () => ({ step: 1 }),
    expect: [401, 401, 401, 401, 401, 401],
  },
  'GET /v1/runs/self': { url: plain('/v1/runs/self'), expect: [401, 401, 401, 401, 401, 401] },
  'POST /v1/whatif': {
    url: plain('/v1/whatif'),
    body: () => ({ submit: { ...aJob, project: 'a' } }),
    expect: [401, 422, 403, 200, 200, 200],
  },
  'GET /v1/jobs/:id/score': { url: ({ job }) => `/v1/jobs/${job}/score`, expect: looking },
  'POST /v1/score': {
    url: plain('/v1/score'),
    body: () => ({ ...aJob, project: 'a' }),
    expect: [401, 422, 403, 200, 200, 200],
  },
  // Nothing was decided yet, so there is nothing to replay.
  'POST /v1/replay': { url: plain('/v1/replay'), body: () => ({}), expect: [401, 403, 403, 403, 403, 404] },
  'GET /v1/events': { url: plain('/v1/events'), expect: anyRole },
  'GET /v1/nodes': { url: plain('/v1/nodes'), expect: anyRole },
  'GET /v1/nodes/:id': { url: ({ node }) => `/v1/nodes/${node}`, expect: anyRole },
  'POST /v1/nodes/:id/drain': {
    url: ({ node }) => `/v1/nodes/${node}/drain`,
    body: () => ({ reason: 'test' }),
    expect: operating,
  },
  'POST /v1/nodes/:id/undrain': { url: ({ node }) => `/v1/nodes/${node}/undrain`, expect: operating },
  'POST /v1/nodes/:id/trust': {
    url: ({ node }) => `/v1/nodes/${node}/trust`,
    body: () => ({ trust: 0.5 }),
    expect: operating,
  },
  'POST /v1/nodes/:id/declare-lost': {
    url: ({ node }) => `/v1/nodes/${node}/declare-lost`,
    expect: operating,
  },
  'DELETE /v1/nodes/:id': { url: ({ node }) => `/v1/nodes/${node}`, expect: operating },
  'GET /v1/clusters': { url: plain('/v1/clusters'), expect: operating },
  'PUT /v1/clusters/:name': {
    url: ({ n }) => `/v1/clusters/new-${n}`,
    body: ({ n }) => ({ kind: 'slurm', directory: `/shared/new-${n}` }),
    expect: [401, 403, 403, 403, 403, 201],
  },
  'POST /v1/clusters/test': {
    url: plain('/v1/clusters/test'),
    body: () => ({ kind: 'slurm', directory: '/shared' }),
    expect: operating,
  },
  'GET /v1/clusters/:name': { url: ({ cluster }) => `/v1/clusters/${cluster}`, expect: operating },
  'PUT /v1/clusters/:name/config': {
    url: ({ cluster }) => `/v1/clusters/${cluster}/config`,
    body: () => ({ kind: 'slurm', directory: '/shared', region: 'north' }),
    expect: operating,
  },
  'GET /v1/clusters/:name/prices': {
    url: ({ cluster }) => `/v1/clusters/${cluster}/prices`,
    expect: operating,
  },
  'POST /v1/clusters/:name/drain': {
    url: ({ cluster }) => `/v1/clusters/${cluster}/drain`,
    body: () => ({ reason: 'test' }),
    expect: operating,
  },
  'POST /v1/clusters/:name/undrain': {
    url: ({ cluster }) => `/v1/clusters/${cluster}/undrain`,
    expect: operating,
  },
  'POST /v1/clusters/:name/test': { url: ({ cluster }) => `/v1/clusters/${cluster}/test`, expect: operating },
  'DELETE /v1/clusters/:name': { url: ({ cluster }) => `/v1/clusters/${cluster}`, expect: operating },
  // Its node has never spoken, so nothing is heard of it.
  'POST /v1/clusters/:name/declare-lost': {
    url: plain('/v1/clusters/default/declare-lost?dryRun=true'),
    expect: operating,
  },
  'POST /v1/clusters/:name/thaw': {
    url: plain('/v1/clusters/default/thaw'),
    expect: [401, 403, 403, 403, 403, 409],
  },
  'POST /v1/enrolments': {
    url: plain('/v1/enrolments'),
    body: () => ({}),
    expect: [401, 403, 403, 403, 403, 201],
  },
  // The one-time token in the body is what authenticates.
  'POST /v1/enrol': {
    url: plain('/v1/enrol'),
    body: ({ enrolment, n }) => ({ token: enrolment, name: `new-${n}`, publicKey }),
    expect: [201, 201, 201, 201, 201, 201],
  },
  'GET /v1/agents/connect': { url: plain('/v1/agents/connect'), expect: [400, 400, 400, 400, 400, 400] },
  'GET /v1/projects': { url: plain('/v1/projects'), expect: anyRole },
  'POST /v1/projects': {
    url: plain('/v1/projects'),
    body: ({ n }) => ({ path: `a/new-${n}` }),
    expect: [401, 403, 403, 403, 201, 201],
  },
  'GET /v1/whoami': { url: plain('/v1/whoami'), expect: anyRole },
  'GET /v1/tokens': { url: plain('/v1/tokens'), expect: [401, 200, 403, 403, 200, 200] },
  'POST /v1/tokens': {
    url: plain('/v1/tokens'),
    body: () => ({ name: 'made', role: 'viewer', project: 'a' }),
    expect: [401, 403, 403, 403, 201, 201],
  },
  'DELETE /v1/tokens/:id': {
    url: ({ token }) => `/v1/tokens/${token}`,
    expect: [401, 404, 404, 404, 200, 200],
  },
  'GET /v1/audit': { url: plain('/v1/audit'), expect: operating },
  'GET /v1/policy': { url: plain('/v1/policy'), expect: anyRole },
  'PUT /v1/policy': {
    url: plain('/v1/policy'),
    body: () => ({}),
    // Without If-Match nobody may, not even who may.
    expect: [401, 403, 403, 403, 403, 400],
  },
  'GET /v1/policy/versions': { url: plain('/v1/policy/versions'), expect: operating },
  'GET /v1/policy/versions/:version': { url: plain('/v1/policy/versions/1'), expect: operating },
  'POST /v1/policy/rollback': {
    url: plain('/v1/policy/rollback'),
    body: () => ({ version: 1 }),
    expect: [401, 403, 403, 403, 403, 400],
  },
  'GET /v1/quota': { url: plain('/v1/quota?project=a'), expect: looking },
  'GET /v1/usage': { url: plain('/v1/usage?project=a'), expect: looking },
  'GET /v1/schemas/policy.json': { url: plain('/v1/schemas/policy.json'), expect: everybody },
  'GET /v1/version': { url: plain('/v1/version'), expect: anyRole },
  'GET /v1/schemas/job-spec.json': { url: plain('/v1/schemas/job-spec.json'), expect: everybody },
  'GET /openapi.json': { url: plain('/openapi.json'), expect: everybody },
  'GET /healthz': { url: plain('/healthz'), expect: everybody },
  'GET /readyz': { url: plain('/readyz'), expect: everybody },
  'GET /metrics': { url: plain('/metrics'), expect: anyRole },
};

let world: World;
let tokens: Readonly<Record<CallerKind, string | undefined>>;
let made = 0;

beforeAll(async () => {
  // As behind a proxy: nothing is open because of loopback.
  world = await openWorld({ behindTlsProxy: true });
  for (const project of ['a', 'a/b', 'a-b']) await world.project(project);
  tokens = {
    nobody: undefined,
    'other tenant': await world.token('admin', 'a-b'),
    viewer: await world.token('viewer', 'a'),
    member: await world.token('member', 'a'),
    admin: await world.token('admin', 'a'),
    operator: await world.token('admin', null),
  };
});
afterAll(() => world.close());

async function fixture(route = ''): Promise<Fixture> {
  const n = made++;
  const operator = tokens.operator as string;
  const ask = async (url: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await world.ask('POST', url, { token: operator, body });
    if (answer.statusCode !== 201) throw new Error(answer.body);
    return answer.json();
  };
  const job = (await ask('/v1/jobs', { ...aJob, project: 'a' })).id as string;
  const enrol = (await ask('/v1/enrolments', { uses: 2 })).token as string;
  const node = (await ask('/v1/enrol', { token: enrol, name: `node-${n}`, publicKey })).node as string;
  const token = (await ask('/v1/tokens', { name: 'victim', role: 'member', project: 'a' })).id as string;
  const array = (await ask('/v1/jobs', { ...aJob, project: 'a', array: { count: 3 } })).id as string;
  const cluster = `cluster-${n}`;
  const config = { kind: 'slurm', directory: `/shared/${n}` };
  // Only where it is asked for: events of the others shall fit on one page below.
  if (route.includes('/clusters/:name'))
    await world.ask('PUT', `/v1/clusters/${cluster}`, { token: operator, body: config });
  return { job, array, cluster, node, token, enrolment: enrol, n };
}

test('the table has every route that is served, and no other', () => {
  expect([...world.api.served].sort()).toEqual(Object.keys(table).sort());
  expect(routes.map((route) => `${route.method} ${route.path}`).sort()).toEqual(Object.keys(table).sort());
});

describe.each(Object.entries(table))('%s', (name, row) => {
  test.each(callers.map((kind, i) => [kind, row.expect[i]] as const))('%s gets %i', async (kind, status) => {
    const method = name.split(' ')[0] as 'GET' | 'POST' | 'PUT' | 'DELETE';
    const given = await fixture(name);
    const token = tokens[kind];
    const answer = await world.ask(method, row.url(given), {
      ...(token === undefined ? {} : { token }),
      ...(row.body ? { body: row.body(given) } : {}),
    });
    expect(answer.statusCode, answer.body).toBe(status);
    if (status === 401)
      expect(answer.json().detail).toBe('send a valid API token as "Authorization: Bearer mst_..."');
  });
});

test('what one may not see reads like what does not exist, and like an id of another kind', async () => {
  const { job, node, token } = await fixture();
  const other = tokens['other tenant'] as string;
  const random = `${job.slice(0, -2)}00`;
  type Asking = readonly [method: 'GET' | 'POST' | 'DELETE', url: (id: string) => string, theirs: string];
  const requests: readonly Asking[] = [
    ...['', '/why', '/logs'].map((tail): Asking => ['GET', (id) => `/v1/jobs/${id}${tail}`, job]),
    ...['cancel', 'hold', 'release'].map((act): Asking => ['POST', (id) => `/v1/jobs/${id}/${act}`, job]),
    ['GET', (id) => `/v1/events?job=${id}`, job],
    ['DELETE', (id) => `/v1/tokens/${id}`, token],
  ];
  for (const [method, url, theirs] of requests) {
    const answers = await Promise.all(
      [theirs, random, node, 'x'].map(async (id) => {
        const { statusCode, body } = await world.ask(method, url(id), { token: other });
        return `${statusCode} ${body.replace(JSON.stringify(id).slice(1, -1), 'ID')}`;
      }),
    );
    expect(new Set(answers), url('ID')).toEqual(new Set([answers[0]]));
    expect(answers[0]).toMatch(/^404 /);
  }
});

test('whole path segments separate tenants: a sees a and a/b, never a-b; lists and events likewise', async () => {
  const operator = tokens.operator as string;
  const ids: Record<string, string> = {};
  for (const project of ['a', 'a/b', 'a-b'])
    ids[project] = (
      await world.ask('POST', '/v1/jobs', { token: operator, body: { ...aJob, project } })
    ).json().id;
  const seen = async (token: string): Promise<string[]> => {
    const listed = (await world.ask('GET', '/v1/jobs?limit=1000', { token }))
      .json()
      .items.map((job: { id: string }) => job.id);
    const events = (await world.ask('GET', '/v1/events?limit=1000', { token })).json().items as {
      body: { job?: string };
    }[];
    const told = new Set(events.map(({ body }) => body.job));
    const projects = Object.keys(ids).filter((project) => listed.includes(ids[project]));
    expect(Object.keys(ids).filter((project) => told.has(ids[project]))).toEqual(projects);
    for (const project of Object.keys(ids)) {
      const { statusCode } = await world.ask('GET', `/v1/jobs/${ids[project]}`, { token });
      expect(statusCode).toBe(projects.includes(project) ? 200 : 404);
    }
    return projects;
  };
  expect(await seen(await world.token('viewer', 'a'))).toEqual(['a', 'a/b']);
  expect(await seen(await world.token('viewer', 'a/b'))).toEqual(['a/b']);
  expect(await seen(await world.token('viewer', 'a-b'))).toEqual(['a-b']);
  expect(await seen(operator)).toEqual(['a', 'a/b', 'a-b']);
});

test('a batch item for a project outside the scope is refused like an unknown project', async () => {
  const jobs = ['a', 'nowhere'].map((project) => ({ spec: { ...aJob, project } }));
  const answer = await world.ask('POST', '/v1/jobs/batch', {
    token: tokens['other tenant'] as string,
    body: { jobs },
  });
  const [hidden, missing] = answer.json().items.map((item: unknown) => JSON.stringify(item));
  expect(hidden).toContain('unknown-project');
  expect(hidden.replaceAll('"a"', 'X').replaceAll('\\"a\\"', 'X')).toBe(
    missing.replaceAll('"nowhere"', 'X').replaceAll('\\"nowhere\\"', 'X'),
  );
});

describe('a token that is not good', () => {
  const good = (): string => tokens.operator as string;
  const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } });
  const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const jwt = (alg: string, signature: string): string =>
    `${base64({ alg, typ: 'JWT' })}.${base64({ sub: 'root', aud: 'elsewhere', exp: 1 })}.${signature}`;
  const cases: Readonly<Record<string, () => Promise<{ url?: string; ask: Ask }>>> = {
    none: async () => ({ ask: {} }),
    expired: async () => ({
      ask: bearer(await world.token('admin', null, { expiresMs: Date.now() - 1000 })),
    }),
    revoked: async () => {
      const token = await world.token('admin', null);
      const { token: id } = (await world.ask('GET', '/v1/whoami', { token })).json();
      await world.ask('DELETE', `/v1/tokens/${id}`, { token: good() });
      return { ask: bearer(token) };
    },
    'made up': async () => ({ ask: bearer(mintSecret('mst', (bytes) => new Uint8Array(bytes).fill(7))) }),
    'with one character changed': async () => ({
      ask: bearer(`${good().slice(0, -1)}${good().endsWith('A') ? 'B' : 'A'}`),
    }),
    'cut short': async () => ({ ask: bearer(good().slice(0, -1)) }),
    'of another kind': async () => ({ ask: bearer(good().replace('mst_', 'mse_')) }),
    'unsigned JWT': async () => ({ ask: bearer(jwt('none', '')) }),
    'JWT signed with a public key': async () => ({ ask: bearer(jwt('HS256', 'c2ln')) }),
    'JWT of another audience': async () => ({ ask: bearer(jwt('RS256', 'c2ln')) }),
    'of 5 kB': async () => ({ ask: bearer('m'.repeat(5000)) }),
    'of strange letters': async () => ({ ask: bearer('mst_é\xff') }),
    empty: async () => ({ ask: { headers: { authorization: '' } } }),
    'without its scheme': async () => ({ ask: { headers: { authorization: good() } } }),
    'of another scheme': async () => ({ ask: { headers: { authorization: `Basic ${good()}` } } }),
    'with its scheme in lower case': async () => ({
      ask: { headers: { authorization: `bearer ${good()}` } },
    }),
    'in a cookie': async () => ({ ask: { headers: { cookie: `token=${good()}` } } }),
    'in the query': async () => ({ url: `/v1/whoami?access_token=${good()}`, ask: {} }),
    'in the query beside a good header': async () => ({
      url: `/v1/whoami?token=${good()}`,
      ask: { token: good() },
    }),
    'in the query under any name': async () => ({ url: `/v1/whoami?x=${good()}`, ask: { token: good() } }),
    'in the path': async () => ({ url: `/v1/jobs/${good()}`, ask: { token: good() } }),
    'in the path with an escape': async () => ({
      url: `/v1/jobs/${good().replace('_', '%5F')}`,
      ask: { token: good() },
    }),
  };

  test.each(Object.entries(cases))('%s is 401 with the one text', async (_, make) => {
    const { url = '/v1/whoami', ask } = await make();
    const answer = await world.ask('GET', url, ask);
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="muster"');
    expect(answer.json()).toEqual({
      type: 'urn:muster:problem:unauthenticated',
      title: 'Authentication is needed',
      status: 401,
      code: 'unauthenticated',
      detail: 'send a valid API token as "Authorization: Bearer mst_..."',
    });
  });

  test('and stands where an id belongs is in neither log nor audit', async () => {
    const escaped = good().replace('_', '%5F');
    for (const secret of [good(), escaped])
      for (const ask of [{}, { token: good() }]) {
        await world.ask('DELETE', `/v1/tokens/${secret}`, ask);
        await world.ask('POST', `/v1/jobs/${secret}/cancel`, ask);
      }
    const entries = async () =>
      (await world.store.auditSince(0, 10_000)).filter(({ target }) => target.startsWith('mst_'));
    await expect.poll(async () => (await entries()).length).toBeGreaterThan(1);
    const kept = JSON.stringify(await entries()) + world.logLines.join('');
    expect(kept).not.toContain(good().slice(4, 20));
    expect(kept).toContain('mst_...');
  });
});
