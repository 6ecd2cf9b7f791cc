import { defaultPolicy, policyDocument } from '@muster/model';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aJob, openWorld, type World } from './testing/world.ts';

let world: World;
let operator: string;
let tenant: string;

beforeAll(async () => {
  world = await openWorld();
  for (const project of ['a', 'a/b', 'c']) await world.project(project);
  operator = await world.token('admin', null);
  tenant = await world.token('admin', 'a/b');
});
afterAll(() => world.close());

const get = async (url: string, token = operator) => world.ask('GET', url, { token });
const put = (body: unknown, etag: string | undefined) =>
  world.ask('PUT', '/v1/policy', {
    token: operator,
    body,
    ...(etag ? { headers: { 'if-match': etag } } : {}),
  });
const etagNow = async (): Promise<string> => (await get('/v1/policy')).headers.etag as string;

describe('the policy', () => {
  test('is read as people write it, changed on top of the version seen, and taken back as a new version', async () => {
    const first = await get('/v1/policy');
    expect(first.json()).toMatchObject({
      version: 1,
      createdBy: 'muster',
      policy: policyDocument(defaultPolicy),
    });
    const quotas = [
      { project: 'a', guaranteed: { gpu: 8 } },
      { project: 'c', ceiling: { gpu: '25%' } },
    ];
    const second = await put({ quotas }, '"1"');
    expect(second.json()).toMatchObject({
      version: 2,
      policy: { quotas: [{ project: 'a' }, { project: 'c' }] },
    });
    expect(second.headers.etag).toBe('"2"');
    const stale = await put({}, '"1"');
    expect([stale.statusCode, stale.json().code]).toEqual([409, 'version-mismatch']);
    const back = await world.ask('POST', '/v1/policy/rollback', {
      token: operator,
      body: { version: 1 },
      headers: { 'if-match': '"2"' },
    });
    expect(back.json()).toMatchObject({ version: 3, policy: { quotas: [] } });
    const versions = await get('/v1/policy/versions?limit=2');
    expect(versions.json().items.map(({ version }: { version: number }) => version)).toEqual([3, 2]);
    expect((await get('/v1/policy/versions/2')).json().policy.quotas).toHaveLength(2);
    expect((await get('/v1/policy/versions/9')).statusCode).toBe(404);
  });

  test('is refused with every path that is wrong, and with the nearest project', async () => {
    const answer = await put({ quotas: [{ project: 'a/c' }], tier: [] }, await etagNow());
    expect(answer.json().errors).toMatchObject([{ path: '/tier' }]);
    const unknown = await put({ quotas: [{ project: 'a/c' }] }, await etagNow());
    expect(unknown.json().errors).toMatchObject([
      { path: '/quotas/0/project', message: 'there is no project "a/c"; did you mean "a/b"?' },
    ]);
  });

  test('is refused for a resource that is a slip, and not for hardware that is to come', async () => {
    const quotas = [
      { project: 'a', guaranteed: { gpus: 8, 'GPU/H100': 4 } },
      { project: 'c', ceiling: { 'gpu/B999': 8 } },
    ];
    const answer = await put({ quotas }, await etagNow());
    expect(answer.json().errors.map(({ path, message }: Record<string, string>) => [path, message])).toEqual([
      ['/quotas/0/guaranteed/GPU~1H100', expect.stringContaining('must be')],
    ]);
    const slips = await put({ quotas: [{ ...quotas[0], guaranteed: { gpus: 8 } }] }, await etagNow());
    expect(slips.json().errors).toMatchObject([
      { path: '/quotas/0/guaranteed/gpus', message: 'no node has "gpus"; did you mean "gpu"?' },
    ]);
    expect((await put({ quotas: [quotas[1]] }, await etagNow())).statusCode).toBe(200);
  });

  test('needs to be told which version it was made from', async () => {
    expect((await put({}, undefined)).json().detail).toContain('If-Match');
  });

  test('shows a tenant the quotas of its own projects and of those above, and no others', async () => {
    const quotas = ['a', 'a/b', 'c'].map((project) => ({ project, weight: 2 }));
    await put({ quotas }, await etagNow());
    const { policy } = (await get('/v1/policy', tenant)).json();
    expect(policy.quotas.map(({ project }: { project: string }) => project)).toEqual(['a', 'a/b']);
    const ledger = (await get('/v1/quota', tenant)).json();
    expect(ledger.projects.map(({ project }: { project: string }) => project)).toEqual(['a/b']);
  });

  test('tells a tenant which resources anybody is guaranteed, and not whom', async () => {
    const keys = async () => (await get('/v1/quota', tenant)).json().guaranteedKeys;
    await put({ quotas: [{ project: 'c', ceiling: { gpu: 8 }, guaranteed: { cpu: 0 } }] }, await etagNow());
    expect(await keys()).toEqual([]);
    await put({ quotas: [{ project: 'c', guaranteed: { gpu: 8 } }] }, await etagNow());
    expect(await keys()).toEqual(['gpu']);
  });
});

test('usage is of the period asked for, and only of what one sees', async () => {
  await world.ask('POST', '/v1/jobs', { token: operator, body: { ...aJob, project: 'c' } });
  expect((await get('/v1/usage?since=7d', tenant)).json()).toMatchObject({ lines: [] });
  for (const path of ['/v1/usage?project=nobody', '/v1/quota?project=nobody'])
    expect((await get(path)).json()).toMatchObject({
      status: 404,
      detail: expect.stringContaining('nobody'),
    });
  expect((await get('/v1/quota?project=c')).statusCode).toBe(200);
  expect((await get('/v1/usage?since=soon')).statusCode).toBe(400);
  expect((await get('/v1/usage?since=2020-01-01T00:00:00Z&until=2019-01-01T00:00:00Z')).statusCode).toBe(400);
});
