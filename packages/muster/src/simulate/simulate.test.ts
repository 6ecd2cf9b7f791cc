import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type OutStream, runCli } from '@muster/cli';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serverCommands } from '../server-commands.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-simulate-'));
  writeFileSync(join(folder, 'small.swf'), small);
  writeFileSync(join(folder, 'small-gzipped'), gzipSync(small));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The example of EASY by hand: ten processors, the last job may not pass. One row too many has no run time. */
const small = `; MaxProcs: 10
1 0 -1 10 6 -1 -1 6 10 -1 1 1 1 1 -1 -1 -1 -1
2 1 -1 5 8 -1 -1 8 5 -1 1 2 1 1 -1 -1 -1 -1
3 2 -1 9 2 -1 -1 2 9 -1 1 1 1 1 -1 -1 -1 -1
4 3 -1 7 2 -1 -1 2 7 -1 1 2 1 1 -1 -1 -1 -1
5 4 -1 7 2 -1 -1 2 7 -1 1 1 1 1 -1 -1 -1 -1
6 5 -1 0 2 -1 -1 2 7 -1 1 1 1 1 -1 -1 -1 -1
`;

async function simulate(...args: string[]) {
  let [out, err] = ['', ''];
  const stream = (write: (text: string) => void): OutStream => ({
    write: (data) => {
      write(String(data));
      return true;
    },
  });
  const code = await runCli(
    ['simulate', ...args],
    {
      stdin: (async function* () {})(),
      stdout: stream((text) => {
        out += text;
      }),
      stderr: stream((text) => {
        err += text;
      }),
      env: {},
      cwd: folder,
      nowMs: () => 0,
      onInterrupt: () => () => {},
    },
    { version: { version: '0', commit: '', schema: null }, extra: serverCommands },
  );
  return { code, out, err };
}

test('the figures of a file are those worked out by hand, as one JSON object', async () => {
  const { code, out } = await simulate('--trace', 'small.swf', '--policy', 'fifo,easy', '-o', 'json');
  expect(code).toBe(0);
  const { policies, trace, fleet } = JSON.parse(out);
  expect(fleet.devices).toBe(10);
  expect(trace).toMatchObject({ format: 'swf', jobs: 5, rows: 6 });
  // FIFO starts at 0, 10, 10, 15, 15: waits 0, 9, 8, 12, 11. EASY at 0, 10, 2, 3, 11: waits 0, 9, 0, 0, 7.
  expect(policies).toMatchObject([
    { policy: 'fifo', durations: null, jobs: 5, avgWaitS: 8, maxWaitS: 12, makespanS: 22 },
    { policy: 'easy', durations: 'asked', jobs: 5, avgWaitS: 3.2, maxWaitS: 9, p99WaitS: 9, avgJctS: 10.8 },
  ]);
  expect(policies[1].boundedSlowdown).toBeCloseTo((1 + 1.4 + 1 + 1 + 1.4) / 5, 10);
  expect(policies[1].utilisation).toBeCloseTo((60 + 40 + 18 + 14 + 14) / 180, 10);
});

test('a table for people, with what became of the rows', async () => {
  const { code, out, err } = await simulate(
    '--trace',
    'small-gzipped',
    '--policy',
    'easy,muster',
    '--durations',
    'asked,exact',
  );
  expect(code).toBe(0);
  expect(err).toBe('small-gzipped: 1 row is excluded because it ran for 0 s (first: line 7)\n');
  const lines = out.split('\n');
  expect(lines[0]).toContain('5 jobs of 2 users');
  expect(lines.slice(2, 6).map((line) => line.split(/\s+/).slice(0, 3))).toEqual([
    ['easy', 'asked', '3'],
    ['easy', 'exact', '3'],
    ['muster', 'asked', '3'],
    ['muster', 'exact', '3'],
  ]);
});

test('without a trace the sample is played, and the report is one page that loads nothing', async () => {
  const { code, err } = await simulate('--policy', 'fifo-skip,ssf', '--report', 'page.html');
  expect(code).toBe(0);
  expect(err).toContain('page.html');
  const page = readFileSync(join(folder, 'page.html'), 'utf8');
  expect(page).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
  expect(page.match(/<svg /g)!.length).toBeGreaterThanOrEqual(8);
  expect(page).not.toMatch(/(src|href)=|url\(|@import|<script/);
  expect(page).not.toMatch(/NaN|Infinity|undefined/);
});

test('a fleet of a file, with a price', async () => {
  writeFileSync(
    join(folder, 'fleet.yaml'),
    'pools:\n  - { name: a, nodes: 2, devices: 8, model: H100 }\npricePerDeviceHour: 3600\n',
  );
  const { out } = await simulate(
    '--trace',
    'small.swf',
    '--fleet',
    'fleet.yaml',
    '--policy',
    'fifo',
    '-o',
    'json',
  );
  const { fleet, policies } = JSON.parse(out);
  expect(fleet.devices).toBe(16);
  expect(policies[0].cost).toBeCloseTo(60 + 40 + 18 + 14 + 14, 6);
});

test('the policy of a file stands beside the others', async () => {
  writeFileSync(join(folder, 'strict.yaml'), 'backfill: { mode: strict }\n');
  const { out, code } = await simulate(
    '--trace',
    'small.swf',
    '--policy',
    'muster',
    '--policy-file',
    join(folder, 'strict.yaml'),
    '-o',
    'json',
  );
  expect(code).toBe(0);
  // Nobody may pass any more: the waits of FIFO.
  expect(JSON.parse(out).policies).toMatchObject([
    { policy: 'muster', avgWaitS: 3.2 },
    { policy: 'muster-file', avgWaitS: 8 },
  ]);
});

test('policies and formats are listed', async () => {
  const { out } = await simulate('--list');
  expect(out).toContain('easy*');
  expect(out).toContain('Standard Workload Format');
});

describe('what is wrong is told with what to do, and ends with 2', () => {
  test.each([
    [['--policy', 'eesy'], '--policy: there is no "eesy"; did you mean "easy"?'],
    [['--durations', 'askd'], '--durations: there is no "askd"; did you mean "asked"?'],
    [['--policy', ','], '--policy wants at least one name'],
    [['--trace', 'none.swf'], 'there is no file'],
    [['--trace', 'small.swf', '--format', 'filly'], 'there is no format "filly"; did you mean philly?'],
    [
      ['--trace', 'small.swf', '--format', 'philly'],
      'this is not philly but looks like swf; say --format swf',
    ],
    [['--trace', 'small.swf', '--nodes', 'x'], '--nodes wants a whole number from 1 to 1000000, got "x"'],
    [['--nodes', '0'], '--nodes wants a whole number from 1 to 1000000, got "0"'],
    [['--fleet', 'small.swf'], 'small.swf: it is no list of nodes, and as YAML it cannot be read'],
    [['--fleet', 'f.yaml', '--nodes', '3'], 'leave out --nodes'],
    [['--restart', '60'], '--restart: "60" is not a duration'],
    [['--polcy', 'easy'], 'did you mean "--policy"?'],
  ])('%j', async (args, message) => {
    const { code, err, out } = await simulate(...args);
    expect(err).toContain(message);
    expect(out).toBe('');
    expect(code).toBe(2);
  });

  test('a fleet file with an unknown key', async () => {
    writeFileSync(join(folder, 'f.yaml'), 'pools:\n  - { nodes: 2, device: 8 }\n');
    const { err, code } = await simulate('--fleet', 'f.yaml');
    expect(err).toContain('f.yaml: pools[0]: unknown key "device"; did you mean "devices"?');
    expect(code).toBe(2);
  });

  test('a trace that does not say its machine', async () => {
    writeFileSync(
      join(folder, 'p.csv'),
      'timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,a\n',
    );
    const { err, code } = await simulate('--trace', 'p.csv');
    expect(err).toContain('say --nodes N (of 8 devices each) or --fleet FILE');
    expect(code).toBe(2);
  });
});
