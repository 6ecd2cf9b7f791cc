import { afterAll, beforeAll, expect, test } from 'vitest';
import { aJob, openWorld, type World } from './testing/world.ts';

let local: World;
let proxied: World;

beforeAll(async () => {
  local = await openWorld();
  proxied = await openWorld({ behindTlsProxy: true });
});
afterAll(async () => {
  await local.close();
  await proxied.close();
});

const wanted = [
  'muster_jobs',
  'muster_nodes',
  'muster_devices',
  'muster_devices_used',
  'muster_outbox_open',
  'muster_leader',
  'muster_epoch',
  'muster_cycles_total',
  'muster_placements_total',
  'muster_cycle_duration_seconds',
  'muster_http_request_duration_seconds',
  'muster_agents_connected',
  'muster_engine_sequence',
  'process_cpu_seconds_total',
];

async function scrape(): Promise<string> {
  const answer = await local.ask('GET', '/metrics');
  expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  return answer.body;
}

test('every metric has our prefix or is of the process, base units, and _total exactly on counters', async () => {
  const text = await scrape();
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => ({
    name: name as string,
    type,
  }));
  const own = types.filter(({ name }) => name.startsWith('muster_'));
  for (const name of wanted) expect(types.map((metric) => metric.name)).toContain(name);
  for (const { name } of types) expect(name).toMatch(/^(muster|process|nodejs)_[a-z0-9_]+$/);
  for (const { name, type } of own) {
    expect(name.endsWith('_total'), name).toBe(type === 'counter');
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb|gb|mib|percent)(_|$)/);
    if (type === 'histogram') expect(name).toMatch(/_(seconds|bytes)$/);
  }
});

test('labels stay few: routes are patterns, never ids', async () => {
  const token = await local.token('admin', null);
  for (let i = 0; i < 3; i++) {
    const { id } = (await local.ask('POST', '/v1/jobs', { token, body: aJob })).json();
    await local.ask('GET', `/v1/jobs/${id}`, { token });
    await local.ask('GET', `/v1/nope/${id}`, { token });
  }
  const text = await scrape();
  expect(text).toContain('route="/v1/jobs/:id",method="GET",status="200"');
  expect(text).not.toContain('job_');
  expect(text).toMatch(/^muster_jobs\{state="queued"\} 3$/m);
  expect(text).toMatch(/^muster_jobs\{state="running"\} 0$/m);
  expect(text).toMatch(/^muster_cycles_total 11$/m);
});

test('readiness is public, its reasons and the metrics are not, unless only this machine can ask', async () => {
  expect((await local.ask('GET', '/readyz')).json()).toMatchObject({ ready: true, reasons: [] });
  expect((await proxied.ask('GET', '/readyz')).json()).toEqual({ ready: true });
  expect((await proxied.ask('GET', '/metrics')).statusCode).toBe(401);
  const token = await proxied.token('viewer', 'default');
  expect((await proxied.ask('GET', '/readyz', { token })).json()).toMatchObject({ ready: true, epoch: 7 });
  expect((await proxied.ask('GET', '/metrics', { token })).statusCode).toBe(200);
  expect((await proxied.ask('GET', '/readyz', { token: `${token}x` })).statusCode).toBe(401);
});

test('an engine that is behind, a loop that goes on failing or a database that does not answer is not ready, and says so', async () => {
  const token = await local.token('admin', null);
  await local.ask('POST', '/v1/jobs', { token, body: aJob });
  local.control.lag = 1;
  const behind = await local.ask('GET', '/readyz');
  local.control.lag = 0;
  expect(behind.statusCode).toBe(503);
  expect(behind.json().reasons[0]).toMatch(/the engine is \d+ events behind the log/);
  local.control.troubles = ['dispatch: column run.tokens does not exist'];
  const troubled = await local.ask('GET', '/readyz');
  local.control.troubles = [];
  expect(troubled.statusCode).toBe(503);
  expect(troubled.json().reasons).toEqual(['dispatch: column run.tokens does not exist']);
  const head = local.store.head;
  local.store.head = async () => {
    throw new Error('gone');
  };
  const away = await local.ask('GET', '/readyz');
  local.store.head = head;
  expect(away.json()).toMatchObject({ ready: false, reasons: ['the database does not answer'] });
  expect((await local.ask('GET', '/healthz')).statusCode).toBe(200);
});
