// Every route against every kind of caller. A route that is not in the table fails the test: whoever adds one says here who
// may use it.
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from './routes.ts';
import { aJob, openWorld, type World } from './testing/world.ts';
import { mintSecret, secretHash } from './token-text.ts';

const callers = ['nobody', 'other tenant', 'viewer', 'member', 'admin', 'operator'] as const;
type CallerKind = (typeof callers)[number];

interface Fixture {
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
  'GET /v1/jobs/:id/why': { url: ({ job }) => `/v1/jobs/${job}/why`, expect: looking },
  'GET /v1/jobs/:id/logs': { url: ({ job }) => `/v1/jobs/${job}/logs`, expect: looking },
  'POST /v1/jobs/:id/cancel': { url: ({ job }) => `/v1/jobs/${job}/cancel`, expect: changing },
  'POST /v1/jobs/:id/hold': { url: ({ job }) => `/v1/jobs/${job}/hold`, expect: changing },
  'POST /v1/jobs/:id/release': { url: ({ job }) => `/v1/jobs/${job}/release`, expect: changing },
  'GET /v1/events': { url: plain('/v1/events'), expect: anyRole },
  'GET /v1/nodes': { url: plain('/v1/nodes'), expect: anyRole },
  'GET /v1/nodes/:id': { url: ({ node }) => `/v1/nodes/${node}`, expect: anyRole },
  'POST /v1/nodes/:id/drain': {
    url: ({ node }) => `/v1/nodes/${node}/drain`,
    body: () => ({ reason: 'test' }),
    expect: operating,
  },
  'POST /v1/nodes/:id/undrain': { url: ({ node }) => `/v1/nodes/${node}/undrain`, expect: operating },
  'POST /v1/nodes/:id/declare-lost': {
    url: ({ node }) => `/v1/nodes/${node}/declare-lost`,
    expect: operating,
  },
  'DELETE /v1/nodes/:id': { url: ({ node }) => `/v1/nodes/${node}`, expect: operating },
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

async function fixture(): Promise<Fixture> {
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
  return { job, node, token, enrolment: enrol, n };
}

test('the table has every route that is served, and no other', () => {
  expect([...world.api.served].sort()).toEqual(Object.keys(table).sort());
  expect(routes.map((route) => `${route.method} ${route.path}`).sort()).toEqual(Object.keys(table).sort());
});

describe.each(Object.entries(table))('%s', (name, row) => {
  test.each(callers.map((kind, i) => [kind, row.expect[i]] as const))('%s gets %i', async (kind, status) => {
    const method = name.split(' ')[0] as 'GET' | 'POST' | 'DELETE';
    const given = await fixture();
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
  const { job, node } = await fixture();
  const other = tokens['other tenant'] as string;
  const missing = `${job.slice(0, -2)}00`;
  for (const tail of ['', '/why', '/logs']) {
    const answers = await Promise.all(
      [job, missing, node].map(async (id) => {
        const answer = await world.ask('GET', `/v1/jobs/${id}${tail}`, { token: other });
        return answer.body.replaceAll(id, 'ID');
      }),
    );
    expect(new Set(answers).size).toBe(1);
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

test('a token of a hash that is known but in another form is nobody', async () => {
  const token = mintSecret('mst', (bytes) => new Uint8Array(bytes).fill(7));
  expect(secretHash('mst', token)).not.toBeNull();
  for (const headers of [
    { authorization: `bearer ${token}` },
    { authorization: token },
    { authorization: `Basic ${token}` },
    { authorization: `Bearer ${token}` },
    { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' },
  ]) {
    const answer = await world.ask('GET', '/v1/whoami', { headers });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toContain('Bearer');
  }
});
