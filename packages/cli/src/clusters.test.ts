import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterTestView, ClusterView } from '@muster/model';
import { expect, test } from 'vitest';
import { page, problem, testBench } from './testing/bench.ts';

const bench = testBench();

const alpha: ClusterView = {
  name: 'alpha',
  kind: 'slurm',
  config: {
    kind: 'slurm',
    pool: 'default',
    lostAfter: '15m',
    fencedCheckpoints: false,
    capacity: 'owned',
    region: 'north',
    directory: '/shared',
    projects: {},
    devices: {},
    ports: { first: 20_000, count: 1000 },
  },
  serverUrl: 'https://muster.example',
  state: 'degraded',
  stateSince: '2020-01-01T00:00:00.000Z',
  reason: 'squeue: Unable to contact slurm controller',
  answeredAt: '2020-01-01T00:00:00.000Z',
  drain: null,
  nodes: { total: 4, ready: 0, open: 0 },
  devices: { total: 16, used: 4 },
  runs: 2,
  unproven: 2,
  createdAt: '2020-01-01T00:00:00.000Z',
  createdBy: 'ada',
};
const plain: ClusterView = {
  ...alpha,
  name: 'main',
  kind: 'agent',
  config: null,
  serverUrl: null,
  state: 'connected',
  stateSince: null,
  reason: null,
  answeredAt: null,
  drain: { by: 'ada', reason: 'power', since: '2020-01-01T00:00:00.000Z' },
  unproven: 0,
};
const found: ClusterTestView = {
  kind: 'slurm',
  answered: true,
  error: null,
  settled: false,
  nodes: [
    {
      name: 'n1',
      closed: null,
      cpuMilli: 8000,
      memoryMib: 4096,
      devices: { H100: 4 },
      labels: { rack: 'a' },
    },
    { name: 'n2', closed: 'Slurm says down', cpuMilli: 8000, memoryMib: 4096, devices: {}, labels: {} },
  ],
  runs: 3,
  lacks: ['it runs no container images'],
};
const given = ['--kind', 'slurm', '--directory', '/shared'];
const sent = (i: number) => {
  const { method, path, body } = bench.server.requests[i]!;
  return { method, path, body: body ? JSON.parse(body) : null };
};

test('lists clusters with state, nodes and why they are not well', async () => {
  bench.logIn();
  bench.server.on('GET /v1/clusters', page([alpha, plain]));
  const { stdout } = await bench.user.run(['clusters']);
  expect(stdout).toMatch(/alpha +slurm +degraded +0\/4 +4\/16 +2 +owned +north .*Unable to contact/);
  expect(stdout).toMatch(/main +agent +draining .*drained by ada: power/);
});

test('an empty list says how a cluster is connected', async () => {
  bench.logIn();
  bench.server.on('GET /v1/clusters', page([]));
  expect((await bench.user.run(['clusters', 'list'])).stdout).toContain('muster clusters add NAME');
});

test('shows what proof is missing of a cluster that does not answer', async () => {
  bench.logIn();
  bench.server.on('GET /v1/clusters/alpha', { json: alpha });
  const item = {
    pool: 'default',
    capacity: 'spot',
    region: 'north',
    instanceType: 'p5',
    nodes: 4,
    coreHour: 0.02,
  };
  const h100 = { device: { kind: 'gpu', model: 'H100' }, devices: 16, deviceHour: 1.25 };
  bench.server.on('GET /v1/clusters/alpha/prices', { json: { items: [{ ...item, ...h100 }] } });
  const { stdout } = await bench.user.run(['clusters', 'show', 'alpha']);
  expect(stdout).toContain('2 runs may still run there');
  expect(stdout).toContain('the cluster must answer, or you say that it is gone: muster clusters lost alpha');
  expect(stdout).toMatch(/Directory +\/shared/);
  expect(stdout).toMatch(/Server +https:\/\/muster\.example/);
  expect(stdout).not.toContain('Projects');
  expect(stdout).toMatch(/Lost after +15m\n/);
  expect(stdout).toMatch(/Ports +first 20000, count 1000\n/);
  expect(stdout).not.toContain('checkpoint.fenced');
  expect(stdout).toMatch(/spot +north +p5 +4 +16 H100 +1\.25 +0\.02/);
  const fenced = { ...alpha, config: { ...alpha.config, fencedCheckpoints: true } };
  bench.server.on('GET /v1/clusters/alpha', { json: fenced });
  expect((await bench.user.run(['clusters', 'show', 'alpha'])).stdout).toContain(
    '(checkpoint.fenced) start elsewhere after 15m without an answer',
  );
});

test('a cluster that is drained is so since then, not since it answered first', async () => {
  bench.logIn();
  const since = new Date(Date.now() - 90_000).toISOString();
  const drained = {
    ...alpha,
    state: 'connected',
    reason: null,
    drain: { by: 'ada', reason: 'power', since },
  };
  bench.server.on('GET /v1/clusters/alpha', { json: drained });
  bench.server.on('GET /v1/clusters/alpha/prices', { json: { items: [] } });
  const { stdout } = await bench.user.run(['clusters', 'show', 'alpha']);
  expect(stdout).toMatch(/State +draining for (1m|2m)/);
});

test('looks at a cluster before it is added', async () => {
  bench.logIn();
  bench.server.on('POST /v1/clusters/test', { json: found });
  bench.server.on('PUT /v1/clusters/alpha', { json: alpha });
  const { code, stdout } = await bench.user.run(['clusters', 'add', 'alpha', ...given, '--region', 'north']);
  expect([code, stdout]).toEqual([0, 'cluster alpha is connected; 4 nodes have joined\n']);
  expect(sent(0).body).toEqual({ kind: 'slurm', directory: '/shared', region: 'north' });
  expect(sent(1)).toMatchObject({ method: 'PUT', body: sent(0).body });
});

test('waits for the nodes it has seen, so that the next command finds them', async () => {
  bench.logIn();
  const bare = { ...alpha, nodes: { total: 0, ready: 0, open: 0 } };
  bench.server.on('POST /v1/clusters/test', { json: found });
  bench.server.on('PUT /v1/clusters/alpha', { json: bare });
  let looks = 0;
  bench.server.on('GET /v1/clusters/alpha', () => ({ json: looks++ === 0 ? bare : alpha }));
  const { stdout } = await bench.user.run(['clusters', 'add', 'alpha', ...given]);
  expect([stdout, looks]).toEqual(['cluster alpha is connected; 4 nodes have joined\n', 2]);
});

test('adds nothing that does not answer, unless told to', async () => {
  bench.logIn();
  bench.server.on('POST /v1/clusters/test', { json: { ...found, answered: false, error: 'no slurm.conf' } });
  bench.server.on('PUT /v1/clusters/alpha', { json: alpha });
  const refused = await bench.user.run(['clusters', 'add', 'alpha', ...given]);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'muster: no slurm.conf; nothing was added (--untested adds it all the same)\n',
  ]);
  expect((await bench.user.run(['clusters', 'add', 'alpha', ...given, '--untested'])).code).toBe(0);
});

test('says by flag or by place in the file what the server refuses', async () => {
  bench.logIn();
  const wrong = [
    { path: '/directory', code: 'invalid-field', message: 'must be an absolute path', value: 'x' },
  ];
  bench.server.on('POST /v1/clusters/test', problem('invalid-field', 422, 'no', wrong));
  const flags = await bench.user.run(['clusters', 'add', 'alpha', '--kind', 'slurm', '--directory', 'x']);
  expect([flags.code, flags.stderr]).toEqual([2, 'muster: --directory: must be an absolute path\n']);
  const file = join(bench.user.home, 'alpha.yaml');
  writeFileSync(file, 'kind: slurm\ndirectory: x\n');
  const { stderr } = await bench.user.run(['clusters', 'add', 'alpha', '-f', file]);
  expect(stderr).toBe(`muster: ${file}:2:12: /directory: must be an absolute path\n`);
});

test.each([
  ['kubeconfig', '--kubeconfig'],
  ['context', '--context'],
  ['namespace', '--namespace'],
  ['image', '--image'],
  ['pool', '--pool'],
  ['lostAfter', '--lost-after'],
  ['serverUrl', '--server-url'],
  ['fencedCheckpoints', '--fenced-checkpoints'],
])('what the server refuses of %s is told by its flag', async (field, flag) => {
  bench.logIn();
  const wrong = [{ path: `/${field}`, code: 'invalid-field', message: 'is wrong', value: 'x' }];
  bench.server.on('POST /v1/clusters/test', problem('invalid-field', 422, 'no', wrong));
  const words = field === 'fencedCheckpoints' ? [flag] : [flag, 'x'];
  const { stderr } = await bench.user.run(['clusters', 'add', 'west', '--kind', 'kubernetes', ...words]);
  expect(stderr).toBe(`muster: ${flag}: is wrong\n`);
});

test('refuses a command line that says two things or nothing', async () => {
  bench.logIn();
  const stderr = async (...args: string[]) => (await bench.user.run(['clusters', ...args])).stderr;
  expect(await stderr('add', 'alpha')).toContain('say what kind of cluster it is');
  expect(await stderr('add', 'alpha', '-f', 'x', '--kind', 'slurm')).toContain(
    '--kind can stand in the file',
  );
  expect(await stderr('test', 'alpha', '--kind', 'slurm')).toContain('not both');
});

test('a test tells nodes, devices, what takes no work and what cannot be done', async () => {
  bench.logIn();
  bench.server.on('POST /v1/clusters/alpha/test', { json: found });
  const { code, stdout } = await bench.user.run(['clusters', 'test', 'alpha']);
  expect(stdout).toMatch(/n1 +8 +4GiB +4 H100 +rack=a +yes/);
  expect(stdout).toMatch(/n2 .*Slurm says down/);
  expect(stdout).toContain('1 of 2 nodes take work, and it holds 3 runs of Muster');
  expect(stdout).toContain('its controller was started a moment ago');
  expect(stdout).toContain('- it runs no container images');
  expect(code).toBe(0);
});

test('a test that gets no answer fails, and says why', async () => {
  bench.logIn();
  bench.server.on('POST /v1/clusters/test', { json: { ...found, answered: false, error: 'no slurm.conf' } });
  expect(await bench.user.run(['clusters', 'test', ...given])).toMatchObject({
    code: 1,
    stdout: 'no answer: no slurm.conf\n',
  });
});

test('drains, undrains and removes', async () => {
  bench.logIn();
  for (const act of [
    'POST /v1/clusters/alpha/drain',
    'POST /v1/clusters/alpha/undrain',
    'DELETE /v1/clusters/alpha',
  ])
    bench.server.on(act, { json: alpha });
  const say = async (...args: string[]) => (await bench.user.run(['clusters', ...args])).stdout;
  expect(await say('drain', 'alpha', '--reason', 'power')).toContain('takes no new work');
  expect(sent(0).body).toEqual({ reason: 'power' });
  expect(await say('undrain', 'alpha')).toBe('alpha takes new work again\n');
  expect(await say('remove', 'alpha')).toBe('alpha is removed, and its nodes with it\n');
});

test('a drain with --move tells of each run what becomes of it, and fails when one stays', async () => {
  bench.logIn();
  bench.server.on('POST /v1/clusters/alpha/drain', { json: alpha });
  const items = [
    { job: 'job_1', moves: true, detail: null },
    { job: 'job_2', moves: true, detail: 'waits: no room' },
    { job: 'job_3', moves: false, detail: 'job_3 could never start when moved' },
  ];
  bench.server.on('POST /v1/clusters/alpha/move', { json: { items } });
  const command = ['clusters', 'drain', 'alpha', '--reason', 'power', '--move', '--to', 'west'];
  const { stdout, code } = await bench.user.run(command);
  expect(stdout).toContain(
    'job_1 is being moved\njob_2 is being moved: waits: no room\njob_3 stays: it could never',
  );
  expect(code).toBe(1);
  expect(sent(1)).toMatchObject({ path: '/v1/clusters/alpha/move', body: { reason: 'power', to: 'west' } });
  const odd = await bench.user.run(['clusters', 'drain', 'alpha', '--reason', 'x', '--to', 'west']);
  expect(odd).toMatchObject({ code: 2, stderr: expect.stringContaining('goes with --move') });
});

test('the word that a cluster is gone is only taken when one is sure', async () => {
  bench.logIn();
  const view = { cluster: 'alpha', nodes: 4, jobs: ['job_1', 'job_2'], done: false };
  bench.server.on('POST /v1/clusters/alpha/declare-lost', { json: view });
  const asked = await bench.user.run(['clusters', 'lost', 'alpha']);
  expect(bench.server.requests[0]!.query.get('dryRun')).toBe('true');
  expect(asked.stdout).toContain(
    '4 nodes of alpha would count as gone, and the runs of 2 jobs there as ended',
  );
  expect(asked.stdout).toContain('muster clusters lost alpha --yes');
  expect(asked.code).toBe(1);
  bench.server.on('POST /v1/clusters/alpha/declare-lost', { json: { ...view, done: true } });
  const done = await bench.user.run(['clusters', 'lost', 'alpha', '--yes']);
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('2 jobs may start elsewhere') });
  expect(bench.server.requests[1]!.query.has('dryRun')).toBe(false);
});

test('flags change what they name, and the rest of the configuration stays', async () => {
  bench.logIn();
  bench.server.on('GET /v1/clusters/alpha', { json: alpha });
  bench.server.on('POST /v1/clusters/test', { json: found });
  bench.server.on('PUT /v1/clusters/alpha/config', { json: alpha });
  const { code, stdout } = await bench.user.run([
    'clusters',
    'set',
    'alpha',
    '--region',
    'south',
    '--lost-after',
    '5m',
  ]);
  expect([code, stdout]).toEqual([0, 'cluster alpha is changed; what runs there goes on\n']);
  const config = { ...alpha.config, region: 'south', lostAfter: '5m' };
  expect(sent(1)).toMatchObject({ method: 'POST', body: config });
  expect(sent(2)).toMatchObject({ method: 'PUT', body: config });
});

test('that checkpoints refuse older attempts is a flag, and is taken back by another', async () => {
  bench.logIn();
  bench.server.on('GET /v1/clusters/alpha', { json: alpha });
  bench.server.on('POST /v1/clusters/test', { json: found });
  bench.server.on('PUT /v1/clusters/alpha', { json: alpha });
  bench.server.on('PUT /v1/clusters/alpha/config', { json: alpha });
  await bench.user.run(['clusters', 'add', 'alpha', ...given, '--fenced-checkpoints']);
  expect(sent(1).body).toEqual({ kind: 'slurm', directory: '/shared', fencedCheckpoints: true });
  await bench.user.run(['clusters', 'set', 'alpha', '--fenced-checkpoints']);
  expect(sent(4).body).toEqual({ ...alpha.config, fencedCheckpoints: true });
  await bench.user.run(['clusters', 'set', 'alpha', '--no-fenced-checkpoints']);
  expect(sent(7).body).toEqual({ ...alpha.config, fencedCheckpoints: false });
  // What is not said stays.
  await bench.user.run(['clusters', 'set', 'alpha', '--region', 'south']);
  expect(sent(10).body).toEqual({ ...alpha.config, region: 'south' });
  const both = await bench.user.run(['clusters', 'set', 'alpha', '-f', 'x', '--fenced-checkpoints']);
  expect(both.stderr).toContain('--fenced-checkpoints can stand in the file');
});

test('a configuration with which a cluster does not answer is not set unless one insists, and neither is nothing', async () => {
  bench.logIn();
  bench.server.on('GET /v1/clusters/alpha', { json: alpha });
  bench.server.on('GET /v1/clusters/main', { json: plain });
  bench.server.on('POST /v1/clusters/test', { json: { ...found, answered: false, error: 'no such file' } });
  bench.server.on('PUT /v1/clusters/alpha/config', { json: alpha });
  const refused = await bench.user.run(['clusters', 'set', 'alpha', '--directory', '/none']);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'muster: no such file; nothing was changed (--untested changes it all the same)\n',
  ]);
  expect(
    (await bench.user.run(['clusters', 'set', 'alpha', '--directory', '/none', '--untested'])).code,
  ).toBe(0);
  expect((await bench.user.run(['clusters', 'set', 'alpha'])).stderr).toContain('say what is to change');
  expect((await bench.user.run(['clusters', 'set', 'main', '--region', 'x'])).stderr).toContain(
    'exists by its agents',
  );
});
