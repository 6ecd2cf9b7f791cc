// Policy files: what is wrong is told with its place, whether it is found here or by the server.
import { defaultPolicy, policyDocument } from '@muster/model';
import { expect, test } from 'vitest';
import { problem, testBench } from '../testing/bench.ts';

const bench = testBench();
const now = {
  version: 3,
  createdAt: '2026-01-01T00:00:00.000Z',
  createdBy: 'ada',
  policy: policyDocument(defaultPolicy),
};
const typo = 'quotas:\n  - project: research\n    guarantee: { gpu: 8 }\ndefaultTeir: spot\n';
const told = [
  'muster: stdin:3:5: /quotas/0/guarantee: unknown field "guarantee"; did you mean "guaranteed"?',
  'muster: stdin:4:1: unknown field "defaultTeir"; did you mean "defaultTier"?',
  '',
].join('\n');

test.each([
  [['whatif', 'policy', '-f', '-']],
  [['policy', 'diff', '-f', '-']],
  [['policy', 'apply', '-f', '-']],
  [['replay', '--policy', '-']],
])('%j tells a typo with its line', async (args) => {
  bench.logIn();
  const { code, stderr } = await bench.user.run(args, { stdin: typo });
  expect([code, stderr]).toEqual([1, told]);
  expect(bench.server.requests).toEqual([]);
});

test('what only the server knows is told at its line too', async () => {
  bench.logIn();
  bench.server.on('GET /v1/policy', { json: now });
  const errors = [
    { path: '/quotas/1/project', code: 'invalid-field', message: 'there is no project "x"', value: '"x"' },
  ];
  bench.server.on('POST /v1/whatif', problem('invalid-field', 422, 'not valid', errors));
  const stdin = 'quotas:\n  - project: research\n  - project: x\n';
  for (const args of [
    ['policy', 'apply', '-f', '-'],
    ['policy', 'diff', '-f', '-'],
    ['whatif', 'policy', '-f', '-'],
  ])
    expect((await bench.user.run(args, { stdin })).stderr).toBe(
      'muster: stdin:3:14: /quotas/1/project: there is no project "x"\n',
    );
});

test('whoever may not ask what a policy would do is told the differences, and an outage is told to all', async () => {
  bench.logIn();
  bench.server.on('GET /v1/policy', { json: now });
  bench.server.on('POST /v1/whatif', problem('forbidden', 403, 'only an admin of everything may ask'));
  const diff = () => bench.user.run(['policy', 'diff', '-f', '-'], { stdin: 'defaultTier: spot\n' });
  expect(await diff()).toEqual({ code: 0, stdout: expect.stringContaining('spot'), stderr: '' });
  bench.server.on('POST /v1/whatif', problem('internal', 500, 'something broke'));
  expect(await diff()).toMatchObject({ code: 1, stdout: '' });
});

test.each([
  ['', 'stdin:1:1: there is nothing in it; "muster policy get" prints the one in force'],
  ['- a\n', 'stdin:1:1: a policy is a mapping of fields, such as "defaultTier: standard"'],
  ['tiers: [\n', expect.stringMatching(/^stdin:2:1: /)],
  ['share: {}\n---\nshare: {}\n', 'stdin has 2 documents; a policy is one'],
])('%j is refused', async (stdin, message) => {
  bench.logIn();
  const { stderr } = await bench.user.run(['policy', 'diff', '-f', '-'], { stdin });
  expect(stderr.replace(/^muster: |\n$/g, '')).toEqual(message);
});

test('apply shows whom it would preempt, and changes nothing without --yes', async () => {
  bench.logIn();
  const none = { count: 0, items: [] };
  const preempted = {
    job: 'job_1',
    run: 'run_1',
    name: 'train',
    project: 'blue',
    by: 'job_2',
    right: 'reclaim',
    lostMs: 3_600_000,
    lostMicro: 8_000_000,
  };
  bench.server.on('GET /v1/policy', { json: now });
  bench.server.on('POST /v1/whatif', {
    json: {
      sequence: 7,
      at: now.createdAt,
      cycles: 2,
      settled: true,
      starts: none,
      startsNot: none,
      moves: none,
      stops: none,
      preempts: { count: 1, items: [preempted] },
      spares: none,
      verdicts: none,
      cost: { lostMicro: 8_000_000, sparedMicro: 0, hourMicro: 0 },
    },
  });
  bench.server.on('PUT /v1/policy', { json: { ...now, version: 4 } });
  const stdin = 'defaultTier: spot\n';
  const asked = await bench.user.run(['policy', 'apply', '-f', '-'], { stdin });
  expect(asked.code).toBe(1);
  for (const text of [
    'version 3 is in force; 1 difference',
    '1 job is preempted',
    'train',
    'reclaim',
    'lost work worth 8',
    '1 job would be stopped; nothing was changed. Say --yes to go on',
  ])
    expect(asked.stderr).toContain(text);
  expect(bench.server.requests.some(({ method }) => method === 'PUT')).toBe(false);
  const done = await bench.user.run(['policy', 'apply', '-f', '-', '--yes'], { stdin });
  expect([done.code, done.stdout]).toEqual([0, 'version 4 is in force\n']);
});
