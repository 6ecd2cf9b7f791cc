// run and submit against a fake server: what is sent, what is printed, and what Ctrl-C does.
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { problem, testBench } from './testing/bench.ts';
import { failed, jobDetail, jobId, jobView } from './testing/sample-views.ts';

const bench = testBench();

const sse = (event: string, data: unknown): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

function stream(...messages: string[]) {
  return () => (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(messages.join(''));
  };
}

test('run submits, prints the output and ends with the code of the job', async () => {
  bench.logIn();
  bench.server.on('POST /v1/jobs', { status: 201, json: { id: jobId('a'), repeated: false } });
  bench.server.on(`GET /v1/jobs/${jobId('a')}`, { json: jobDetail(failed(7)) });
  bench.server.on(
    `GET /v1/jobs/${jobId('a')}/logs`,
    stream(
      sse('output', { rank: 0, offset: 0, data: btoa('hello\x1b]0;x\x07\n') }),
      sse('end', { exit: null }),
    ),
  );
  const { code, stdout, stderr } = await bench.user.run([
    'run',
    '--gpus',
    '2',
    '--',
    'python',
    'train.py',
    '--lr',
    '1',
  ]);
  expect(code).toBe(7);
  // Not a terminal: the bytes as they are.
  expect(stdout).toBe('hello\x1b]0;x\x07\n');
  expect(stderr).toContain(`-- ${jobId('a')} submitted`);
  expect(stderr).toContain('failed after 1m20s: exited with code 7 (rank 0)');
  expect(JSON.parse(bench.server.to('POST /v1/jobs')[0]?.body ?? '')).toEqual({
    name: 'python',
    command: ['python', 'train.py', '--lr', '1'],
    workdir: '/work',
    resources: { accelerators: { count: 2 } },
  });
});

test.each([
  [['submit', '-f', 'a.yaml', '-f', 'b.yaml'], '--file is given twice'],
  [['run', '--name', 'a', '--name', 'b', '--', 'true'], '--name is given twice'],
  [['run', '--env', 'A=1', '--env', 'B=1', '--env', 'A=2', '--', 'true'], '--env A is given twice'],
  [['run', '--label', 'a=1', '--label', 'a=1', '--', 'true'], '--label a is given twice'],
])('%j is refused and not half done', async (argv, text) => {
  bench.logIn();
  const { code, stderr } = await bench.user.run(argv);
  expect(code).toBe(2);
  expect(stderr).toContain(text);
});

test('run shows the output of a gang that failed before its last rank had started', async () => {
  bench.logIn();
  bench.server.on('POST /v1/jobs', { status: 201, json: { id: jobId('a'), repeated: false } });
  const runs = [{ id: 'run_x', attempt: 1, tasks: [{ rank: 0, startedAt: '2026-11-15T10:00:00Z' }] }];
  bench.server.on(`GET /v1/jobs/${jobId('a')}`, {
    json: { ...jobDetail({ ...failed(1), startedAt: null }), runs },
  });
  bench.server.on(
    `GET /v1/jobs/${jobId('a')}/logs`,
    stream(sse('output', { rank: 0, offset: 0, data: btoa('why\n') }), sse('end', { exit: null })),
  );
  const { code, stdout } = await bench.user.run(['run', '--', 'false']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: 'why\n' });
});

test('submit without -f says how to give the file', async () => {
  const { code, stderr } = await bench.user.run(['submit', 'job.yaml']);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'muster: the file needs its flag; write: muster submit -f job.yaml\n',
  });
});

test('run --detach prints the id alone on stdout', async () => {
  bench.logIn();
  bench.server.on('POST /v1/jobs', { status: 201, json: { id: jobId('a'), repeated: false } });
  expect(await bench.user.run(['run', '-d', 'true'])).toEqual({
    code: 0,
    stdout: `${jobId('a')}\n`,
    stderr: '',
  });
});

test('what the server refuses is told by the flag that said it', async () => {
  bench.logIn();
  const errors = [
    { path: '/tier', code: 'invalid-field', message: 'there is no tier "gold"', value: 'gold' },
  ];
  bench.server.on('POST /v1/jobs', problem('unknown-tier', 422, 'there is no tier "gold"', errors));
  const { code, stderr } = await bench.user.run(['run', '--tier', 'gold', 'true']);
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'muster: --tier: there is no tier "gold"\n' });
});

test('Ctrl-C while submitting prints the key with which to find out', async () => {
  bench.logIn();
  bench.server.on('POST /v1/jobs', () => {
    bench.user.interrupt();
    return () => {};
  });
  const { code, stderr } = await bench.user.run(['run', '--', 'true']);
  expect(code).toBe(130);
  const key = bench.server.to('POST /v1/jobs')[0]?.headers['idempotency-key'];
  expect(key).toMatch(/^[0-9a-f-]{36}$/);
  expect(stderr).toBe(
    `muster: interrupted while submitting, so the job may or may not have been taken; idempotency key ${key}: run the same command with --key ${key} to find out, which never makes a second job\n`,
  );
});

test('Ctrl-C while submitting a file prints the key too, of one job or of several', async () => {
  bench.logIn();
  const never = () => {
    bench.user.interrupt();
    return () => {};
  };
  bench.server.on('POST /v1/jobs', ({ query }) =>
    query.has('dryRun') ? { json: { valid: true } } : never(),
  );
  bench.server.on('POST /v1/jobs/batch', never);
  for (const stdin of ['command: [a]\n', 'command: [a]\n---\ncommand: [b]\n']) {
    const { code, stdout, stderr } = await bench.user.run(['submit', '-f', '-', '--key', 'mine'], { stdin });
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toMatch(/^muster: interrupted while submitting, .* with --key mine to find out[^\n]*\n$/);
  }
});

describe('a key that cannot be is told as the flag it is, and nothing is sent', () => {
  const rule = 'an idempotency key is 1 to 200 visible ASCII characters';
  const two = 'command: [a]\n---\ncommand: [b]\n';
  const long = 'k'.repeat(199);
  test.each([
    [['run', '--key', '', '--', 'true'], '', `--key "" cannot be: ${rule}`],
    [['run', '--key', 'two words', '--dry-run', '--', 'true'], '', `--key "two words" cannot be: ${rule}`],
    [['submit', '-f', '-', '--key', ''], 'command: [a]\n', `--key "" cannot be: ${rule}`],
    [
      ['submit', '-f', '-', '--key', long],
      two,
      `--key "${long}" cannot be: ${rule}, of 2 documents with -1 to -2 behind it`,
    ],
  ])('%j', async (args, stdin, line) => {
    bench.logIn();
    expect(await bench.user.run(args, { stdin })).toEqual({
      code: 2,
      stdout: '',
      stderr: `muster: ${line}\n`,
    });
    expect(bench.server.requests).toEqual([]);
  });
});

describe('an answer that is lost ends with 3 and the key with which to find out', () => {
  const two = { stdin: 'command: [a]\n---\ncommand: [b]\n' };
  const told =
    /^muster: [^\n]*it is not known whether [^\n]* run the same command with --key mine to find out[^\n]*\n$/;

  test('of one job', { timeout: 20_000 }, async () => {
    bench.logIn();
    bench.server.on('POST /v1/jobs', () => (response) => void response.destroy());
    const { code, stderr } = await bench.user.run(['run', '-d', '--key', 'mine', '--', 'true']);
    expect(code).toBe(3);
    expect(stderr).toMatch(told);
    const keys = bench.server.to('POST /v1/jobs').map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys)).toEqual(new Set(['mine']));
  });

  test('of several', { timeout: 20_000 }, async () => {
    bench.logIn();
    bench.server.on('POST /v1/jobs', { json: { valid: true } });
    bench.server.on('POST /v1/jobs/batch', () => (response) => void response.destroy());
    const { code, stderr } = await bench.user.run(['submit', '-f', '-', '--key', 'mine'], two);
    expect(code).toBe(3);
    expect(stderr).toMatch(told);
  });

  test('when it is the database that did not answer the server', async () => {
    bench.logIn();
    const { json } = problem('outcome-unknown', 503, 'the database did not say whether this took effect');
    bench.server.on('POST /v1/jobs', { json: { valid: true } });
    bench.server.on('POST /v1/jobs/batch', {
      json: {
        items: [
          { ok: true, id: jobId('a'), repeated: false },
          { ok: false, problem: json },
        ],
      },
    });
    const { code, stdout, stderr } = await bench.user.run(['submit', '-f', '-', '--key', 'mine'], two);
    expect({ code, stdout }).toEqual({ code: 3, stdout: `${jobId('a')}\n` });
    expect(stderr.split('\n').slice(-2).join('\n')).toMatch(told);
  });
});

test('a script with the line ends of Windows is told, and the command goes on', async () => {
  bench.logIn();
  bench.server.on('POST /v1/jobs', { status: 201, json: { id: jobId('a'), repeated: false } });
  const write = (name: string, text: string): string => {
    writeFileSync(join(bench.user.home, name), text);
    return name;
  };
  const windows = write('windows.sh', '#!/bin/sh\r\n#SBATCH --gpus=8\r\ntrue\r\n');
  const plain = write('plain.sh', '#!/bin/sh\ntrue\n');
  const run = async (...command: string[]) =>
    (await bench.user.run(['run', '-d', '--workdir', bench.user.home, '--', ...command])).stderr;
  for (const command of [[`./${windows}`], ['bash', '-e', windows], ['bash', '-euo', 'pipefail', windows]])
    expect(await run(...command)).toMatch(
      /^muster: warning: the lines of (\.\/)?windows\.sh end with CRLF, .*\n$/,
    );
  for (const command of [
    [`./${plain}`],
    ['sh', plain],
    ['sh', 'none.sh'],
    ['cat', windows],
    ['sh', '-c', 'true'],
  ])
    expect(await run(...command)).toBe('');
  // In the command itself it is certain, and refused.
  expect(await run('sh', '-c', 'cd /data\r\nls\r\n')).toBe(
    'muster: the command: line 1 ends with CRLF, and a shell takes the CR for a part of the command; end lines with LF alone\n',
  );
});

test('Ctrl-C while following lets the job go on; a second one cancels it', async () => {
  bench.logIn();
  let cancelled = false;
  bench.server.on('POST /v1/jobs', { status: 201, json: { id: jobId('a'), repeated: false } });
  bench.server.on(`POST /v1/jobs/${jobId('a')}/cancel`, () => {
    cancelled = true;
    return { json: jobView({ state: 'stopping' }) };
  });
  let looks = 0;
  bench.server.on(`GET /v1/jobs/${jobId('a')}`, () => {
    // The first look finds it waiting; both Ctrl-C come soon after.
    looks += 1;
    if (looks === 1) for (const afterMs of [30, 80]) setTimeout(() => bench.user.interrupt(), afterMs);
    return { json: jobDetail(cancelled ? failed(143) : { state: 'queued', startedAt: null }) };
  });
  const { code, stderr } = await bench.user.run(['run', '--', 'true']);
  expect(code).toBe(130);
  expect(cancelled).toBe(true);
  expect(stderr).toContain('goes on; Ctrl-C again within 5 s cancels it');
  expect(stderr).toContain(`-- cancelling ${jobId('a')}`);
});

test('submit tells mistakes with their place and sends nothing', async () => {
  bench.logIn();
  const text = 'command: [a]\nresources: { gpu: 1 }\n';
  const { code, stdout, stderr } = await bench.user.run(['submit', '-f', '-'], { stdin: text });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^muster: stdin:2:14: \/resources\/gpu: unknown field "gpu"/);
  expect(bench.server.requests).toEqual([]);
});

test('one bad job of several, or one the server does not know a project of, and none is sent', async () => {
  bench.logIn();
  const good = 'command: [a]\n---\n';
  const bad = await bench.user.run(['submit', '-f', '-'], { stdin: `${good}command: [b]\ntasks: 0\n` });
  expect(bad.stderr).toBe('muster: stdin:4:8: /tasks: must be a whole number from 1 to 100000, not 0\n');
  expect(bench.server.requests).toEqual([]);
  const errors = [
    { path: '/project', code: 'invalid-field', message: 'there is no project "x"', value: '"x"' },
  ];
  bench.server.on('POST /v1/jobs', ({ body }) =>
    body.includes('"project"')
      ? problem('unknown-project', 422, 'there is no project "x"', errors)
      : { json: { valid: true } },
  );
  const unknown = await bench.user.run(['submit', '-f', '-'], { stdin: `${good}command: [b]\nproject: x\n` });
  expect(unknown).toEqual({
    code: 1,
    stdout: '',
    stderr: 'muster: stdin:4:10: /project: there is no project "x"\n',
  });
  expect(bench.server.requests.filter(({ query }) => query.get('dryRun') !== 'true')).toEqual([]);
});

test('submit maps a refusal of the bench.server to its place in the file', async () => {
  bench.logIn();
  const errors = [
    { path: '/project', code: 'invalid-field', message: 'there is no project "x"', value: 'x' },
  ];
  bench.server.on('POST /v1/jobs', problem('unknown-project', 422, 'there is no project "x"', errors));
  const { stderr } = await bench.user.run(['submit', '-f', '-'], { stdin: 'command: [a]\nproject: x\n' });
  expect(stderr).toBe('muster: stdin:2:10: /project: there is no project "x"\n');
});

test('several documents go in one batch, after each kind was tried, with keys of their own', async () => {
  bench.logIn();
  bench.server.on('POST /v1/jobs', { json: { valid: true } });
  bench.server.on('POST /v1/jobs/batch', {
    json: {
      items: [
        { ok: true, id: 'job_1', repeated: false },
        { ok: true, id: 'job_2', repeated: false },
      ],
    },
  });
  const { code, stdout } = await bench.user.run(['submit', '-f', '-', '--key', 'k'], {
    stdin: 'command: [a]\n---\ncommand: [b]\n',
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'job_1\njob_2\n' });
  expect(bench.server.to('POST /v1/jobs').map(({ query }) => query.get('dryRun'))).toEqual(['true']);
  expect(JSON.parse(bench.server.to('POST /v1/jobs/batch')[0]?.body ?? '').jobs).toEqual([
    { key: 'k-1', spec: { command: ['a'] } },
    { key: 'k-2', spec: { command: ['b'] } },
  ]);
});
