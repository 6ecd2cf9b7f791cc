// Whole commands in process: the forms of errors, the exit codes, and what people see.
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { page, problem, testBench } from './testing/bench.ts';
import {
  ended,
  failed,
  jobDetail,
  jobId,
  jobView,
  nodeView,
  now,
  runIdOf,
  task,
} from './testing/sample-views.ts';

const bench = testBench();

test('without arguments the help is the answer', async () => {
  const { code, stdout, stderr } = await bench.user.run([]);
  expect(code).toBe(0);
  expect(stdout).toContain('submit a job and follow it to its end');
  expect(stderr).toBe('');
});

test('help fits a terminal of 80 columns: paragraphs are broken there, and nowhere else', async () => {
  for (const command of [[], ['clusters', 'add'], ['clusters', 'drain'], ['clusters', 'lost'], ['move']]) {
    const { stdout } = await bench.user.run([...command, '--help'], { tty: true, columns: 80 });
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  }
  const { stdout } = await bench.user.run(['clusters', 'drain', '--help'], { tty: true, columns: 80 });
  expect(stdout).toContain('what runs\nthere goes on. With --move it goes on elsewhere: each run');
});

test.each([
  [['sumbit'], 2, `unknown command 'sumbit'; did you mean "submit"? see: muster --help`],
  [
    ['run', '--time', '1h', '--', 'true'],
    2,
    `unknown option '--time'; did you mean "--time-limit"? see: muster run --help`,
  ],
  [['ps', '--wacth'], 2, `unknown option '--wacth'; did you mean "--watch"? see: muster ps --help`],
  [
    ['tokens', 'revoke', 'mst_abc'],
    2,
    'that is the text of a token, and was not sent; give its id, tok_..., as "muster tokens" lists it',
  ],
  [['tokens', 'revok', 'x'], 2, `unknown command 'revok'; did you mean "revoke"? see: muster tokens --help`],
  [
    ['ps', '-o', 'xml'],
    2,
    `option '-o, --output <form>' argument 'xml' is invalid. Allowed choices are table, wide, json, yaml; see: muster ps --help`,
  ],
  [['show'], 2, `missing required argument 'job'; see: muster show --help`],
  [['submit'], 2, `required option '-f, --file <file>' not specified; see: muster submit --help`],
  [
    ['ps'],
    2,
    'no server is configured; start one here with "muster up", or log in to one with "muster login URL"',
  ],
  [['help', 'exit-code'], 2, 'there is no help for "exit-code"; did you mean "exit-codes"?'],
  [['help', 'cooking'], 2, 'there is no help for "cooking"; "muster help" lists what there is'],
])('%j ends with %i and one line', async (args, code, line) => {
  expect(await bench.user.run(args)).toEqual({ code, stdout: '', stderr: `muster: ${line}\n` });
});

test('the exit codes are a table anybody can read', async () => {
  const { stdout } = await bench.user.run(['help', 'exit-codes']);
  for (const code of ['0', '1', '2', '3', '130', '141'])
    expect(stdout).toMatch(new RegExp(`^ +${code}  `, 'm'));
});

test('a server that is not there ends with 3 and says what to do', async () => {
  bench.logIn();
  await bench.server.stop();
  const { code, stderr } = await bench.user.run(['ps']);
  expect(code).toBe(3);
  expect(stderr).toMatch(
    /^muster: cannot reach http:\/\/127\.0\.0\.1:\d+: nothing listens there; start a server with "muster up".*\n$/,
  );
});

test('a refusal ends with 1, in one line, without a stack unless it is asked for', async () => {
  bench.logIn();
  bench.server.on('GET /v1/whoami', problem('unauthenticated', 401, 'the token is not valid'));
  expect(await bench.user.run(['whoami'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'muster: the server does not accept the token: it is mistyped, expired, revoked or of another server; run "muster login URL" with one that is valid\n',
  });
  expect((await bench.user.run(['whoami'], { env: { MUSTER_DEBUG: '1' } })).stderr).toContain('MusterError');
});

test('an empty system says what to do next', async () => {
  bench.logIn();
  bench.server.on('GET /v1/jobs', page([])).on('GET /v1/nodes', page([]));
  expect((await bench.user.run(['ps'])).stdout).toContain('muster run --gpus 1');
  expect((await bench.user.run(['ps', '--name', 'x'])).stdout).toBe('No job fits.\n');
  expect((await bench.user.run(['nodes'])).stdout).toContain('muster nodes token');
});

test('ps shows what has not ended and what ended within the hour', async () => {
  bench.logIn();
  const old = jobView({ ...ended(), id: jobId('c'), endedAt: new Date(now - 7_200_000).toISOString() });
  bench.server.on('GET /v1/jobs', ({ query }) =>
    query.get('state') === 'ended'
      ? page([jobView({ ...failed(3), id: jobId('b') }), old])
      : page([jobView()]),
  );
  const { stdout } = await bench.user.run(['ps'], { nowMs: now });
  expect(stdout).toBe(
    [
      'JOB                     NAME   STATE    SIZE   TIME  PROJECT  BY   SUBMITTED  REASON',
      `${jobId('b')}  train  failed   1     1m20s  default  ada  1m40s ago  exited with code 3 (rank 0)`,
      `${jobId('a')}  train  running  1     1m30s  default  ada  1m40s ago`,
      '',
    ].join('\n'),
  );
});

test('ps in a narrow terminal says which job can never start, and where the reasons are', async () => {
  bench.logIn();
  const verdict = { kind: 'impossible', reasons: [], nearest: [] } as const;
  const reason = 'impossible: no node can ever hold a task of group main';
  bench.server.on('GET /v1/jobs', ({ query }) =>
    page(query.get('state') === 'ended' ? [] : [jobView({ state: 'queued', verdict, reason })]),
  );
  const { stdout } = await bench.user.run(['ps'], { tty: true, columns: 60, nowMs: now });
  expect(stdout).toContain('impossible');
  expect(stdout).toContain('no room for reasons; see: muster why JOB, or -o wide');
});

test('what the server refuses of a token is told by its flag', async () => {
  bench.logIn();
  const errors = [{ path: '/expiresIn', message: 'must be a duration' }];
  bench.server.on('POST /v1/enrolments', problem('invalid-field', 400, '/expiresIn: must be', errors));
  expect(await bench.user.run(['nodes', 'token', '--expires-in', 'x'])).toMatchObject({
    code: 2,
    stderr: 'muster: --expires-in: must be a duration\n',
  });
});

test('json is what the API said, and the flag may stand before or after the command', async () => {
  bench.logIn();
  bench.server.on('GET /v1/nodes/gpu-1', { json: nodeView() });
  expect(JSON.parse((await bench.user.run(['nodes', 'gpu-1', '-o', 'json'])).stdout)).toEqual(nodeView());
  expect(JSON.parse((await bench.user.run(['-o', 'json', 'nodes', 'gpu-1'])).stdout)).toEqual(nodeView());
  expect((await bench.user.run(['nodes', 'gpu-1', '-o', 'yaml'])).stdout).toContain('name: gpu-1\n');
});

test('a table fits the terminal and is coloured there alone', async () => {
  bench.logIn();
  bench.server.on(
    'GET /v1/nodes',
    page([
      nodeView({
        drain: {
          by: 'ada',
          reason: 'a fan that makes a noise like a small plane',
          since: '',
          quarantine: false,
        },
      }),
    ]),
  );
  const { stdout } = await bench.user.run(['nodes'], { tty: true, columns: 70, nowMs: now });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours are what is looked for
  const plain = stdout.replace(/\x1b\[\d+m/g, '');
  expect(plain).not.toBe(stdout);
  for (const line of plain.split('\n')) expect(line.length).toBeLessThanOrEqual(70);
  const coloured = (await bench.user.run(['nodes', '--no-color'], { tty: true, columns: 70, nowMs: now }))
    .stdout;
  expect(coloured).toBe(plain);
});

test('a quarantined node says so, and why, and how to end it', async () => {
  bench.logIn();
  const reason = 'its agent sent 3 bad messages; the last (bad-counter): message 9 after 2';
  const strikes = {
    count: 3,
    code: 'bad-counter' as const,
    detail: 'message 9 after 2',
    last: '2026-08-01T11:59:00.000Z',
    until: '2026-08-02T11:59:00.000Z',
    spared: false,
  };
  const node = nodeView({ drain: { by: 'muster', reason, since: '', quarantine: true }, strikes });
  bench.server.on('GET /v1/nodes', page([node]));
  bench.server.on('GET /v1/nodes/gpu-1', { json: node });
  const list = (await bench.user.run(['nodes'], { nowMs: now })).stdout;
  expect(list).toMatch(/gpu-1 +quarantined/);
  expect(list).toContain(reason);
  expect(list).toContain('0 of 1 nodes take work');
  const shown = (await bench.user.run(['nodes', 'gpu-1'], { nowMs: now })).stdout;
  expect(shown).toMatch(/State +quarantined/);
  expect(shown).toMatch(/Strikes +3, the last .*: message 9 after 2 \(bad-counter\)/);
  expect(shown).toContain('muster undrain gpu-1');
});

test('show tells where every task runs and what it came to', async () => {
  bench.logIn();
  const run = {
    id: runIdOf(jobId('a')),
    job: jobId('a'),
    attempt: 1,
    state: 'running' as const,
    epoch: 1,
    plannedAt: '',
    startedAt: task.startedAt,
    endedAt: null,
    unknownSince: null,
    result: null,
    checkpoint: null,
    halt: null,
    tasks: [task],
  };
  bench.server.on(`GET /v1/jobs/${jobId('a')}`, { json: jobDetail({ runs: [run], run: run.id }) });
  const { stdout } = await bench.user.run(['show', jobId('a')], { nowMs: now });
  expect(stdout).toContain('Attempt 1  running  1m30s');
  expect(stdout).toContain('     0  gpu-1  0,1          4   16GiB  running  1m30s');
  expect(stdout).toContain('Command     python train.py');
});

test('a unique start of an id or a name is enough, and several are listed', async () => {
  bench.logIn();
  const [first, second] = [
    jobView({ id: jobId('ab'), name: 'one' }),
    jobView({ id: jobId('ac'), name: 'two' }),
  ];
  bench.server.on('GET /v1/jobs', ({ query }) =>
    page([first, second].filter(({ name }) => (query.get('name') ?? name) === name)),
  );
  bench.server.on(`GET /v1/jobs/${first.id}/why`, {
    json: {
      job: first.id,
      state: 'running',
      sequence: 1,
      verdict: null,
      text: 'runs',
      explanation: null,
      preemptions: [],
      victims: [],
    },
  });
  for (const word of [first.id.slice(0, -7), first.id.slice(4, -7), 'one']) {
    const { code, stdout } = await bench.user.run(['why', word]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${first.id} is running; runs\n` });
  }
  expect((await bench.user.run(['why', 'job_01k9zzzzza'])).stderr).toBe(
    `muster: "job_01k9zzzzza" fits several jobs: ${first.id} (one, running), ${second.id} (two, running); give more of the id\n`,
  );
  expect((await bench.user.run(['why', 'three'])).stderr).toContain('there is no job "three"');
});

test('why tells what would start a job now, as edits and commands, and who is ahead by which rule', async () => {
  bench.logIn();
  const waiting = jobView({ id: jobId('a'), name: 'gang' });
  bench.server.on('GET /v1/jobs', page([waiting]));
  const because = { rule: 'share', theirs: 'red', theirShare: 100_000, yours: 'blue', yourShare: 250_000 };
  bench.server.on(`GET /v1/jobs/${waiting.id}/why`, {
    json: {
      job: waiting.id,
      state: 'queued',
      sequence: 1,
      verdict: null,
      text: 'waits',
      explanation: {
        room: null,
        changes: [
          { kind: 'tasks', group: 'main', from: 16, to: 12, victims: 0 },
          { kind: 'tier', from: 'standard', to: 'critical', victims: 2 },
          { kind: 'ceiling', project: 'blue', user: null, key: 'gpu', from: 8000, to: 12_000, victims: 0 },
        ],
        ends: { count: 3, runs: [{ job: jobId('c'), project: 'red', run: 'run_1', endsAt: null }] },
        ahead: { count: 7, jobs: [{ job: jobId('b'), project: 'red', because }] },
        complete: false,
      },
      preemptions: [{ at: '2026-08-01T11:59:00.000Z', by: null }],
    },
  });
  const { stdout } = await bench.user.run(['why', 'gang'], { nowMs: now });
  expect(
    stdout.replace(/, \d.*, for/, ', for').replace(/- \S+( \S+)?, for/, '- AT, for'),
  ).toBe(`${waiting.id} is queued; waits

Any one of these would start it now:
  - 12 tasks in group main instead of 16   (tasks: 12)
  - tier critical instead of standard, by stopping 2 runs   (tier: critical)
  - the ceiling of project blue raised to 12 gpu; it is 8 gpu   (quotas of blue: ceiling.gpu: 12)
  - the end of ${jobId('c')}   (muster cancel ${jobId('c')})
  - the end of any of at least 2 more jobs

Not everything was tried: an answer takes at most 40000 steps for changes and 20000 for the ends of the 1024 runs that end first, and there may be more that would help.

7 jobs are ahead of it in the order:
  - ${jobId('b')} (red): red has 10 % of the fleet by its share, blue 25 %
  - and 6 more

Stopped before for other jobs:
  - AT, for a job of another project
`);
});

test('wait ends with the code of the first given job that did not succeed', async () => {
  bench.logIn();
  bench.server.on(`GET /v1/jobs/${jobId('a')}`, { json: jobDetail(ended()) });
  bench.server.on(`GET /v1/jobs/${jobId('b')}`, { json: jobDetail({ ...failed(42), id: jobId('b') }) });
  expect((await bench.user.run(['wait', jobId('a')])).code).toBe(0);
  expect((await bench.user.run(['wait', jobId('a'), jobId('b')])).code).toBe(42);
});

test('login verifies the token from stdin and keeps it privately; two profiles stand side by side', async () => {
  const who = {
    token: 'tok_1',
    name: 'ada',
    principal: 'ada',
    role: 'member',
    project: 'research',
    expiresAt: null,
  };
  bench.server.on('GET /v1/whoami', ({ headers }) =>
    headers.authorization === 'Bearer good'
      ? { json: who }
      : problem('unauthenticated', 401, 'the token is not valid'),
  );
  expect((await bench.user.run(['login', bench.server.url], { stdin: 'bad\n' })).code).toBe(1);
  expect((await bench.user.run(['profiles'])).stdout).toContain('There is none yet');
  const { stdout } = await bench.user.run(['login', bench.server.url, '--profile', 'prod'], {
    stdin: 'good\n',
  });
  expect(stdout).toBe(`Logged in to ${bench.server.url} as ada (member of research).\n`);
  expect(statSync(bench.user.config).mode & 0o777).toBe(0o600);
  await bench.user.run(['login', bench.server.url, '--profile', 'second'], { stdin: 'good\n' });
  expect((await bench.user.run(['profiles', 'list'])).stdout).toContain('*  second');
  await bench.user.run(['profiles', 'use', 'prod']);
  expect(readFileSync(bench.user.config, 'utf8')).toContain('current: prod');
});

test('without a terminal nothing is asked, coloured or drawn', async () => {
  expect(await bench.user.run(['login', bench.server.url])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'muster: stdin has no token in it\n',
  });
  expect(bench.server.requests).toEqual([]);
  bench.logIn();
  bench.server.on('GET /v1/jobs', page([jobView()]));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escapes are what must not be there
  expect((await bench.user.run(['ps'], { nowMs: now })).stdout).toMatch(/^[^\x1b\r]+$/);
});

test('an unreadable file and a config others can read are told in one line with 2', async () => {
  bench.logIn();
  expect(await bench.user.run(['submit', '-f', join(bench.user.home, 'none.yaml')])).toMatchObject({
    code: 2,
    stderr: `muster: cannot read ${join(bench.user.home, 'none.yaml')}: there is no such file\n`,
  });
  chmodSync(bench.user.config, 0o644);
  expect((await bench.user.run(['ps'])).stderr).toBe(
    `muster: ${bench.user.config} holds tokens and other users can read it; run: chmod 600 ${bench.user.config}\n`,
  );
});

test('names and reasons of others cannot touch the terminal', async () => {
  bench.logIn();
  const evil = jobView({
    state: 'queued',
    startedAt: null,
    reason: 'waits: \x1b]0;pwned\x07no \u202eroom',
    submittedBy: 'eve\x1b[2J',
  });
  bench.server.on('GET /v1/jobs', ({ query }) => page(query.get('state') === 'ended' ? [] : [evil]));
  const { stdout } = await bench.user.run(['ps'], { tty: true, columns: 140, nowMs: now });
  expect(stdout).not.toMatch(/pwned|\u202e|\[2J/);
  expect(stdout).toContain('no room');
});

test('the version of the program is told without a server', async () => {
  expect((await bench.user.run(['version'])).stdout).toBe(
    'client  1.2.3  commit abc  schema 4\nserver  not reached\n',
  );
  expect((await bench.user.run(['--version'])).stdout).toBe('1.2.3\n');
});

test('completion knows commands, flags, choices and what the server has', async () => {
  bench.logIn();
  bench.server.on('GET /v1/jobs', page([jobView()])).on('GET /v1/nodes', page([nodeView()]));
  const words = async (...typed: string[]): Promise<string[]> =>
    (await bench.user.run(['__complete', '--', ...typed])).stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t')[0] ?? '');
  expect(await words('su')).toEqual(['submit']);
  expect(await words('ps', '--st')).toEqual(['--state']);
  expect(await words('ps', '-o', '')).toEqual(['table', 'wide', 'json', 'yaml']);
  expect(await words('logs', 'job_')).toEqual([jobId('a')]);
  expect(await words('nodes', '')).toEqual(['trust', 'lost', 'remove', 'token', 'gpu-1']);
  expect(await words('profiles', 'use', '')).toEqual(['default']);
  expect(await words('run', '--', 'py')).toEqual([]);
  for (const shell of ['bash', 'zsh', 'fish'])
    expect((await bench.user.run(['completion', shell])).stdout).toContain('muster __complete');
});
