import type { ClusterPricesView, ClusterView } from '@muster/model';
import { anInventory, joinNode } from '@muster/store/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openWorld, type World } from './testing/world.ts';

let world: World;
let token: string;
beforeAll(async () => {
  world = await openWorld();
  token = await world.token('admin', null, { name: 'ada' });
});
afterAll(() => world.close());

const config = { kind: 'slurm', directory: '/shared' };
const put = (name: string, body: unknown) => world.ask('PUT', `/v1/clusters/${name}`, { token, body });
const get = async (name: string) =>
  (await world.ask('GET', `/v1/clusters/${name}`, { token })).json() as ClusterView;

test('a cluster is added with its defaults; the same again changes nothing, another is refused', async () => {
  const added = await put('alpha', config);
  expect(added.statusCode).toBe(201);
  expect(added.json()).toMatchObject({
    name: 'alpha',
    kind: 'slurm',
    state: 'new',
    createdBy: 'ada',
    config: { ...config, pool: 'default', capacity: 'owned', ports: { first: 20_000, count: 1000 } },
  });
  expect((await put('alpha', config)).statusCode).toBe(200);
  const other = await put('alpha', { ...config, partition: 'gpu' });
  expect([other.statusCode, other.json().code]).toEqual([409, 'already-exists']);
});

test('a configuration is set anew; what may not change says which field and why', async () => {
  const set = (body: object) => world.ask('PUT', '/v1/clusters/alpha/config', { token, body });
  const changed = await set({ ...config, region: 'south', lostAfter: '5m' });
  expect([changed.statusCode, changed.json().config]).toMatchObject([
    200,
    { region: 'south', lostAfter: '5m', pool: 'default' },
  ]);
  expect(await get('alpha')).toMatchObject({ config: { region: 'south' }, createdBy: 'ada' });
  const other = await set({ kind: 'kubernetes', kubeconfig: '/k' });
  expect([other.statusCode, other.json().detail]).toEqual([
    409,
    'cluster alpha is of the kind slurm, which never changes; remove it and add it again; nothing was changed',
  ]);
  expect((await set({ ...config, directory: 'x' })).json().errors[0].path).toBe('/directory');
  expect((await world.ask('PUT', '/v1/clusters/none/config', { token, body: config })).statusCode).toBe(404);
  await set(config);
});

test('refuses a second cluster in the place of another, because each would stop what the other runs', async () => {
  const same = await put('twin', { ...config, directory: '//shared/./', partition: 'gpu' });
  expect([same.statusCode, same.json().code]).toEqual([409, 'conflict']);
  expect(same.json().detail).toContain('another cluster keeps its runs in directory /shared already');
  const pods = { kind: 'kubernetes', kubeconfig: '/etc/west', context: 'west' };
  expect((await put('west', pods)).statusCode).toBe(201);
  expect((await put('west-2', { ...pods, image: 'x' })).json().detail).toContain(
    'namespace muster of context west in /etc/west already',
  );
  for (const other of [{ namespace: 'two' }, { context: 'east' }])
    expect((await put(`west-${Object.values(other)}`, { ...pods, ...other })).statusCode).toBe(201);
  const over = { ...config, ssh: { host: 'login' } };
  expect((await put('over-ssh', over)).statusCode).toBe(201);
  const moved = await world.ask('PUT', '/v1/clusters/west-two/config', { token, body: pods });
  expect([moved.statusCode, moved.json().detail]).toEqual([
    409,
    expect.stringContaining('a namespace of its own'),
  ]);
  for (const name of ['west', 'west-two', 'west-east', 'over-ssh'])
    await world.ask('DELETE', `/v1/clusters/${name}`, { token });
});

test.each([
  ['an unknown field', { ...config, partitoin: 'x' }, '/partitoin'],
  ['a relative path', { ...config, directory: 'shared' }, '/directory'],
  ['a partition with a space', { ...config, partition: 'a b' }, '/partition'],
  ['an option in a word', { ...config, account: '--uid=0' }, '/account'],
  ['no such kind', { kind: 'pbs' }, '/kind'],
  ['a project that is none', { ...config, projects: { 'A B': {} } }, '/projects/A B'],
  ['ports beyond the last', { ...config, ports: { first: 65_000, count: 1000 } }, '/ports'],
  ['a server with a path', { ...config, serverUrl: 'https://muster.example/api' }, '/serverUrl'],
  ['a server by no web address', { ...config, serverUrl: 'ftp://muster.example' }, '/serverUrl'],
  ['a duration that is none', { ...config, lostAfter: '5 minutes' }, '/lostAfter'],
  ['a cluster lost at once', { ...config, lostAfter: '1s' }, '/lostAfter'],
  ['a capacity nobody knows', { ...config, capacity: 'free' }, '/capacity'],
])('refuses %s with its place', async (_, body, path) => {
  const answer = await put('beta', body);
  expect([answer.statusCode, answer.json().errors?.[0]?.path]).toEqual([422, path]);
});

test('refuses a name that is none, and one whose nodes have agents', async () => {
  expect((await put('No_Name', config)).statusCode).toBe(422);
  const enrolment = { id: 'e', hash: 'h', cluster: 'gamma', pool: 'p', by: 'ada', uses: 1 };
  await world.store.createEnrolment({ ...enrolment, expiresMs: Date.now() + 60_000 });
  await world.store.enrol({ hash: 'h', node: 'node_1' as never, name: 'n1', publicKey: 'k' });
  expect((await put('gamma', config)).json().detail).toContain('nodes with agents are in cluster "gamma"');
  expect(await get('gamma')).toMatchObject({ kind: 'agent', config: null, nodes: { total: 1, ready: 0 } });
  const drained = await world.ask('POST', '/v1/clusters/gamma/drain', { token, body: { reason: 'x' } });
  expect([drained.statusCode, drained.json().detail]).toEqual([
    409,
    expect.stringContaining('exists by its agents'),
  ]);
  expect((await world.ask('POST', '/v1/clusters/gamma/test', { token })).statusCode).toBe(409);
});

test('a gang stays in one cluster, whatever else it wants; other jobs are left alone', async () => {
  const submit = (body: object) =>
    world.ask('POST', '/v1/jobs', { token, body: { command: ['true'], ...body } });
  const topologyOf = async (body: object) =>
    (await world.store.job((await submit(body)).json().id))?.spec.topology;
  const cluster = { level: 'cluster', mode: 'required' };
  expect(await topologyOf({ tasks: 2 })).toEqual(cluster);
  expect(await topologyOf({ tasks: 1 })).toBeNull();
  const preferred = { level: 'rack', mode: 'preferred' };
  expect(await topologyOf({ tasks: 2, topology: preferred })).toEqual(cluster);
  const refused = await submit({ tasks: 2, topology: { level: 'zone', mode: 'spread' } });
  expect([refused.statusCode, refused.json().errors[0].path]).toEqual([422, '/topology/level']);
});

test('no machine enrols in a cluster for which a driver speaks', async () => {
  const answer = await world.ask('POST', '/v1/enrolments', { token, body: { cluster: 'alpha' } });
  expect([answer.statusCode, answer.json().errors[0].path]).toEqual([422, '/cluster']);
});

test('drains and undrains, lists, and removes; each is audited', async () => {
  await world.ask('POST', '/v1/clusters/alpha/drain', { token, body: { reason: 'power' } });
  expect((await get('alpha')).drain).toMatchObject({ by: 'ada', reason: 'power' });
  await world.ask('POST', '/v1/clusters/alpha/undrain', { token });
  expect((await get('alpha')).drain).toBeNull();
  const list = (await world.ask('GET', '/v1/clusters?limit=1', { token })).json();
  expect(list).toMatchObject({ items: [{ name: 'alpha' }], next: expect.any(String) });
  expect((await world.ask('DELETE', '/v1/clusters/alpha', { token })).statusCode).toBe(200);
  expect((await world.ask('GET', '/v1/clusters/alpha', { token })).statusCode).toBe(404);
  const acts = async () => {
    const rows = await world.store.auditSince(0, 100);
    return rows
      .filter(({ target, outcome }) => target === 'alpha' && outcome === 'ok')
      .map(({ action }) => action);
  };
  // Entries are written in batches a moment later.
  await expect
    .poll(acts, { timeout: 5000 })
    .toEqual(expect.arrayContaining(['addCluster', 'drainCluster', 'undrainCluster', 'removeCluster']));
});

test("an hour's price is told for each kind of node, by capacity, region and instance type", async () => {
  const { body } = await world.ask('GET', '/v1/policy', { token });
  const { policy, version } = JSON.parse(body);
  const rows = [
    { instanceType: 'p5', capacity: 'spot', region: 'east', device: 1.25 },
    { instanceType: 'p5', device: 4 },
    { instanceType: 'm7', core: 0.05 },
  ];
  const changed = await world.ask('PUT', '/v1/policy', {
    token,
    headers: { 'if-match': `"${version}"` },
    body: { ...policy, prices: { ...policy.prices, rows } },
  });
  expect(changed.statusCode, changed.body).toBe(200);
  const bare = anInventory();
  const [gpu] = bare.devices;
  const join = (name: string, labels: Record<string, string>, gpus: number) =>
    joinNode(world.store, {
      name,
      cluster: 'cloud',
      inventory: {
        ...bare,
        labels,
        devices: Array.from({ length: gpus }, (_, index) => ({ ...gpu!, index })),
      },
    });
  await join('c1', { 'instance-type': 'p5', capacity: 'spot', region: 'east' }, 8);
  await join('c2', { 'instance-type': 'p5', capacity: 'spot', region: 'east' }, 8);
  await join('c3', { 'instance-type': 'p5', capacity: 'on-demand', region: 'west' }, 8);
  await join('c4', { 'instance-type': 'm7' }, 0);
  const { items } = (
    await world.ask('GET', '/v1/clusters/cloud/prices', { token })
  ).json<ClusterPricesView>();
  const { kind, model } = gpu!;
  const plain = { pool: items[0]?.pool, device: { kind, model }, coreHour: 0.01 };
  expect(items).toEqual([
    {
      ...plain,
      capacity: 'spot',
      region: 'east',
      instanceType: 'p5',
      nodes: 2,
      devices: 16,
      deviceHour: 1.25,
    },
    {
      ...plain,
      capacity: 'on-demand',
      region: 'west',
      instanceType: 'p5',
      nodes: 1,
      devices: 8,
      deviceHour: 4,
    },
    {
      ...plain,
      capacity: null,
      region: null,
      instanceType: 'm7',
      device: null,
      nodes: 1,
      devices: 0,
      deviceHour: null,
      coreHour: 0.05,
    },
  ]);
  expect((await world.ask('GET', '/v1/clusters/none/prices', { token })).statusCode).toBe(404);
});
