import type { ArrayView, JobId } from '@muster/model';
import { expect, test } from 'vitest';
import { page, testBench } from './testing/bench.ts';
import { ended, failed, jobDetail, jobId, jobView, now } from './testing/sample-views.ts';

const bench = testBench();
const id = jobId('a');
const at = (members: string, tail = ''): string => `/v1/jobs/${encodeURIComponent(`${id}${members}`)}${tail}`;
const array: ArrayView = {
  count: 1000,
  parallel: 20,
  waiting: 688,
  running: 12,
  succeeded: 297,
  failed: 2,
  cancelled: 1,
  notStarted: [
    [312, 500],
    [502, 999],
  ],
};

test.each([
  [{ devices: 2 }, '1000 of 1x2'],
  [{ devices: 0, tasks: 1 }, '1000 members'],
  [{ devices: 0, tasks: 4 }, '1000 of 4 tasks'],
])('ps shows an array as one line with its counts and the size of its members: %j', async (size, shown) => {
  bench.logIn();
  bench.server.on('GET /v1/jobs', ({ query }) =>
    query.get('state') === 'ended' ? page([]) : page([jobView({ array, ...size })]),
  );
  const { stdout } = await bench.user.run(['ps'], { nowMs: now });
  expect(stdout.split('\n')[1]).toContain(`running 12, done 300 of 1000  ${shown}`);
});

test('show has the counts, the ranges and the first failures', async () => {
  bench.logIn();
  bench.server.on(`GET /v1/jobs/${id}`, { json: jobDetail({ array }) });
  bench.server.on(
    `GET /v1/jobs/${id}/members`,
    page([jobView({ ...failed(3), id: `${id}[7]` as JobId, index: 7 })]),
  );
  const { stdout } = await bench.user.run(['show', id], { nowMs: now });
  expect(stdout).toContain(
    'Members     1000, at most 20 at once: 688 waiting, 12 running, 297 succeeded, 2 failed, 1 cancelled',
  );
  expect(stdout).toContain('Not started 312-500, 502-999');
  expect(stdout).toContain('Failed [7]  exited with code 3 (rank 0)');
  expect(stdout).toContain(`1 more; see: muster members ${id} --outcome failed`);
});

test('a member is named by its index, behind an id or a name', async () => {
  bench.logIn();
  bench.server.on('GET /v1/jobs', page([jobView({ array })]));
  bench.server.on(`GET ${at('[17]')}`, { json: jobDetail({ id: `${id}[17]` as JobId, index: 17 }) });
  bench.server.on(`POST ${at('[3-10]', '/cancel')}`, { json: jobView({ array }) });
  expect((await bench.user.run(['show', 'train[17]'], { nowMs: now })).stdout).toContain(`${id}[17]`);
  const cancelled = await bench.user.run(['cancel', `${id}[3-10]`]);
  expect([cancelled.code, cancelled.stdout]).toEqual([0, `${id} is running\n`]);
  for (const word of ['train[', 'train[x]', 'train[3-]', 'train[]']) {
    const { code, stderr } = await bench.user.run(['show', word]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('write JOB[17]')]);
  }
});

test('members are listed page by page', async () => {
  bench.logIn();
  const member = (index: number) => jobView({ ...ended(), id: `${id}[${index}]` as JobId, index });
  bench.server.on(`GET /v1/jobs/${id}/members`, ({ query }) =>
    query.get('cursor') === null
      ? { json: { items: [member(0)], next: 'more' } }
      : { json: { items: [member(4)], next: null } },
  );
  const { stdout } = await bench.user.run(['members', id, '--outcome', 'succeeded'], { nowMs: now });
  expect(stdout).toContain(`${id}[0]  succeeded`);
  expect(stdout).toContain(`${id}[4]  succeeded`);
  expect(bench.server.to(`GET /v1/jobs/${id}/members`)[0]?.query.get('outcome')).toBe('succeeded');
  const wrong = await bench.user.run(['members', id, '--outcome', 'faild']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('did you mean "failed"?')]);
});

test('logs of an array ask for a member', async () => {
  bench.logIn();
  bench.server.on(`GET /v1/jobs/${id}`, { json: jobDetail({ array }) });
  const { code, stderr } = await bench.user.run(['logs', id]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`name one, such as ${id}[0]`)]);
});

test('run --array submits one, follows its counts, and says where the output is', async () => {
  bench.logIn();
  bench.server.on('POST /v1/jobs', { status: 201, json: { id, repeated: false } });
  bench.server.on(`GET /v1/jobs/${id}`, { json: jobDetail({ ...failed(1), array }) });
  const { code, stderr } = await bench.user.run(['run', '--array', '100%10', '--', 'true']);
  expect(code).toBe(1);
  expect(stderr).toContain(`-- each member has its own output: muster logs '${id}[0]'\n`);
  expect(JSON.parse(bench.server.to('POST /v1/jobs')[0]?.body ?? '')).toMatchObject({
    array: { count: 100, parallel: 10 },
  });
  expect(bench.server.to(`GET /v1/jobs/${id}/logs`)).toEqual([]);
  for (const [text, says] of [
    ['x', 'write how many members'],
    ['10%', 'write how many members'],
    ['0', '--array'],
  ]) {
    const wrong = await bench.user.run(['run', '--array', text!, '--', 'true']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(says!)]);
  }
});
