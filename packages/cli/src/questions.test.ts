import type { JobId, LedgerView, ReplayView, RunId, ScoreRow, ScoreView, WhatIfView } from '@muster/model';
import { expect, test } from 'vitest';
import { testBench } from './testing/bench.ts';
import { jobId } from './testing/sample-views.ts';
import { localTime } from './text/time.ts';

const bench = testBench();
const none = { count: 0, items: [] };
const nothing: WhatIfView = {
  sequence: 12,
  at: '2026-01-01T00:00:00.000Z',
  cycles: 1,
  settled: true,
  starts: none,
  startsNot: none,
  moves: none,
  stops: none,
  preempts: none,
  spares: none,
  verdicts: none,
  cost: { lostMicro: 0, sparedMicro: 0, hourMicro: 0 },
};
const [one, two] = ['job_1', 'job_2'] as JobId[];
const ours = { project: 'ours', name: 'train' };

test('a what-if that changes nothing says so', async () => {
  bench.logIn();
  bench.server.on('POST /v1/whatif', { json: nothing });
  const { code, stdout } = await bench.user.run(['whatif', 'drain', 'n1', 'n2']);
  expect(stdout).toBe('At event 12, with this change:\n  nothing else is decided than without it\n');
  expect(code).toBe(0);
  expect(JSON.parse(bench.server.requests[0]?.body ?? '')).toEqual({ drain: ['n1', 'n2'] });
});

test('a what-if tells who is stopped, preempted, started and kept waiting, and counts the rest', async () => {
  bench.logIn();
  const answer: WhatIfView = {
    ...nothing,
    settled: false,
    cycles: 100,
    stops: {
      count: 1,
      items: [
        {
          ...ours,
          job: one!,
          run: 'run_1' as RunId,
          requeued: true,
          after: null,
          afterText: 'waits: until 2020-06-15T14:03:09.000Z after 1 failure',
          lostMs: 5_400_000,
          lostMicro: 12_000_000,
        },
      ],
    },
    preempts: {
      count: 1,
      items: [
        {
          ...ours,
          job: two!,
          run: 'run_2' as RunId,
          by: null,
          right: 'reclaim',
          lostMs: 60_000,
          lostMicro: 133_333,
        },
      ],
    },
    starts: { count: 3, items: [{ ...ours, job: one!, nodes: ['a', 'b'], hourMicro: 16_000_000 }] },
    cost: { lostMicro: 12_133_333, sparedMicro: 0, hourMicro: -4_000_000 },
    startsNot: { count: 2, items: [] },
    verdicts: {
      count: 1,
      items: [
        {
          ...ours,
          job: two!,
          jobs: 5,
          before: null,
          after: null,
          beforeText: null,
          afterText: 'waits: a reason; planned to start at 2020-06-15T14:03:09.000Z',
        },
      ],
    },
  };
  bench.server.on('POST /v1/whatif', { json: answer });
  const { stdout } = await bench.user.run([
    'whatif',
    'quota',
    'ours',
    'gpu=16',
    'memory=2TiB',
    '--weight',
    '2',
  ]);
  expect(JSON.parse(bench.server.requests[0]?.body ?? '')).toEqual({
    quota: { project: 'ours', guaranteed: { gpu: 16, memory: '2TiB' }, weight: 2 },
  });
  for (const text of [
    '1 job is stopped by it',
    'waits again',
    `train (job_1)\n      waits: until ${localTime('2020-06-15T14:03:09.000Z', Date.now())} after 1 failure\n`,
    '1h30m     12',
    'lost work worth 12.133',
    '4 an hour less for what runs',
    '1 job is preempted',
    'another project',
    '3 jobs start; 2 of them not shown',
    'a, b',
    '2 jobs no longer start',
    'train and 4 like it (job_2, project ours)',
    'was: not waiting',
    `now: waits: a reason; planned to start at ${localTime('2020-06-15T14:03:09.000Z', Date.now())}\n`,
    'only the first 100 cycles',
  ])
    expect(stdout).toContain(text);
  const json = await bench.user.run(['whatif', 'lose-cluster', 'west', '-o', 'json']);
  expect(JSON.parse(json.stdout)).toEqual(answer);
});

test('a what-if tells the reason of a stopped job once', async () => {
  bench.logIn();
  const after = { after: null, afterText: 'waits: a reason' };
  const stopped = { ...ours, job: one!, run: 'run_1' as RunId, requeued: true, lostMs: 0, lostMicro: 0 };
  const verdict = { ...ours, job: one!, jobs: 1, before: null, beforeText: null, ...after };
  bench.server.on('POST /v1/whatif', {
    json: {
      ...nothing,
      stops: { count: 1, items: [{ ...stopped, ...after }] },
      verdicts: { count: 1, items: [verdict] },
    },
  });
  const { stdout } = await bench.user.run(['whatif', 'lose-node', 'n1']);
  expect(stdout.split('a reason')).toHaveLength(2);
  expect(stdout).not.toContain('Reasons to wait');
});

const report: ReplayView = {
  snapshot: 5,
  engineVersion: '2',
  recordedVersions: ['2'],
  from: 7,
  to: 90,
  decisions: 30,
  same: 30,
  leadIn: 2,
  divergence: null,
  cut: false,
};

function reply(value: ReplayView): void {
  bench.logIn();
  bench.server.on('POST /v1/replay', () => (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('event: progress\ndata: {"decisions":1,"sequence":8,"toSequence":90}\n\n');
    response.end(`event: report\ndata: ${JSON.stringify(value)}\n\n`);
  });
}

test('a replay that comes out alike ends with 0', async () => {
  reply(report);
  const { code, stdout } = await bench.user.run(['replay']);
  expect([code, stdout]).toEqual([
    0,
    '30 decisions, made at events 7 to 90: all come out as they were recorded.\nStarted from the snapshot at event 5.\n',
  ]);
  expect(JSON.parse(bench.server.requests[0]?.body ?? '')).toEqual({ sinceMs: 3_600_000 });
});

test('a replay that does not ends with 1 and shows the first difference and another version', async () => {
  const divergence = {
    decision: 4,
    sequence: 40,
    at: '2026-08-01T11:59:00.000Z',
    recordedVersion: '1',
    recordedHash: 'a',
    hash: 'b',
    words: ['train (job_1) started on a, and would start on b'],
    recorded: ['start run_1 on a [0]'],
    replayed: ['start run_1 on b [0]'],
    recordedVerdictsKnown: false,
  };
  reply({ ...report, same: 29, recordedVersions: ['1'], divergence });
  const { code, stdout } = await bench.user.run(['replay', '--from', '3', '--to', '50']);
  expect(code).toBe(1);
  for (const text of [
    '29 come out as they were recorded, 1 does not',
    'made by engine version 1; this server has 2',
    'train (job_1) started on a, and would start on b',
    'The first is decision 4, made at event 40',
    '  - start run_1 on a [0]',
    '  + start run_1 on b [0]',
  ])
    expect(stdout).toContain(text);
  expect(JSON.parse(bench.server.requests[0]?.body ?? '')).toEqual({ from: 3, to: 50 });
});

test.each([
  [['replay', '--since', 'soon'], '--since must be a time such as 30m or 2h, not "soon"'],
  [['replay', '--count'], '--count needs --policy or --policy-version'],
  [['replay', '--from', '1', '--since', '1h'], 'give --from or --since, not both'],
  [['whatif', 'quota', 'ours'], 'say what would change: gpu=16, --ceiling gpu=32 or --weight 2'],
  [['whatif', 'quota', 'ours', 'gpu'], '"gpu" is not an amount; write it as gpu=16'],
  [['whatif', 'add-nodes', 'many', '--like', 'n1'], 'count must be a whole number from 1 to 1000'],
])('%j ends with 2 and one line', async (args, line) => {
  bench.logIn();
  expect(await bench.user.run(args)).toEqual({ code: 2, stdout: '', stderr: `muster: ${line}\n` });
});

const place: ScoreRow = {
  group: 'main',
  alternative: 0,
  cluster: 'main',
  pool: 'new',
  capacity: 'spot',
  region: null,
  instanceType: null,
  models: ['H100'],
  trustMilli: 1000,
  how: 'now',
  waitMs: 0,
  victims: 0,
  price: 8,
  speed: 0,
  preference: 0.1,
  trust: 0,
  fragmentation: 0,
  waiting: 0,
  preemption: 0,
  transfer: 0,
  total: 16.2,
  nodes: 2,
  tasksFit: 3,
  chosen: 1,
};

test('a score shows every term, marks what is chosen, and says how the others would start', async () => {
  bench.logIn();
  const score: ScoreView = {
    sequence: 3,
    at: '2026-01-01T00:00:00.000Z',
    placed: null,
    workMs: 7_200_000,
    rows: [
      place,
      { ...place, pool: 'old', how: 'preempts', victims: 2, preemption: 1.5, chosen: 0 },
      { ...place, pool: 'full', how: 'waits', waitMs: 5_400_000, waiting: 12, chosen: 0 },
    ],
  };
  bench.server.on(`GET /v1/jobs/${jobId('a')}/score`, { json: score });
  const { stdout } = await bench.user.run(['score', jobId('a')]);
  const lines = stdout.split('\n').map((line) => line.split(/ {2,}/).join('|'));
  expect(lines[0]).toBe("What 2h of one task's work costs; (h) is for an hour of it:");
  expect(lines[1]).toContain(
    'PRICE(h)|SPEED(h)|PREFER(h)|TRUST(h)|FRAGMENT(h)|WAITING|PREEMPTION|TRANSFER|TOTAL',
  );
  expect(lines[2]).toMatch(/^\*.*new.*now.*16\.2.*3 on 2$/);
  expect(lines[3]).toMatch(/old.*stops 2.*1\.5/);
  expect(lines[4]).toMatch(/full.*in 1h30m.*12/);
});

test('a score tells region, instance type and transfer where they matter', async () => {
  bench.logIn();
  const rows = [{ ...place, region: 'east', instanceType: 'p5', transfer: 2.5 }];
  const score: ScoreView = {
    sequence: 3,
    at: '2026-01-01T00:00:00.000Z',
    placed: null,
    workMs: 7_200_000,
    rows,
  };
  bench.server.on(`GET /v1/jobs/${jobId('a')}/score`, { json: score });
  const { stdout } = await bench.user.run(['score', jobId('a')]);
  expect(stdout).toMatch(/REGION +INSTANCE/);
  expect(stdout).toMatch(/east +p5.* 2\.5 /);
});

test('a score of a job that runs says so, and where, and not that it starts nowhere', async () => {
  bench.logIn();
  const placed = 'running since 2026-01-01T00:00:00.000Z, attempt 1 on west-n1';
  const rows = [{ ...place, how: 'unknown' as const, chosen: 0 }];
  const score = { sequence: 3, at: '2026-01-01T00:00:00.000Z', workMs: 7_200_000, rows };
  bench.server.on(`GET /v1/jobs/${jobId('a')}/score`, { json: { ...score, placed } });
  const { stdout } = await bench.user.run(['score', jobId('a')]);
  expect(stdout).toContain(`It is ${placed}. Below is what it would cost to start now`);
  expect(stdout).not.toContain('does not start anywhere');
  bench.server.on(`GET /v1/jobs/${jobId('a')}/score`, { json: { ...score, placed: null } });
  expect((await bench.user.run(['score', jobId('a')])).stdout).toContain('It does not start anywhere now');
});

test('a score is asked of a job or of a file', async () => {
  bench.logIn();
  const { code, stderr } = await bench.user.run(['score']);
  expect([code, stderr]).toEqual([2, 'muster: name a job, or give a file with -f; one of the two\n']);
});

test('a quota shows use as borrowed only where somebody is guaranteed any of it', async () => {
  bench.logIn();
  const line = { project: 'ours', written: null, guaranteed: null, ceiling: null, lent: 0, past: 0 };
  const ledger: LedgerView = {
    sequence: 3,
    at: '2026-01-01T00:00:00.000Z',
    policyVersion: 2,
    guaranteedKeys: ['gpu'],
    healthy: { cpu: 64_000, gpu: 8000 },
    projects: [{ project: 'ours', weightMilli: 1000, share: 250_000, waiting: 0 }],
    lines: [
      { ...line, key: 'cpu', use: 16_000, borrowed: 16_000 },
      { ...line, key: 'gpu', use: 2000, borrowed: 2000 },
    ],
    loans: [],
    users: [],
  };
  bench.server.on('GET /v1/quota', { json: ledger });
  const { stdout } = await bench.user.run(['quota']);
  const cells = stdout.split('\n').map((text) => text.trim().split(/ {2,}/));
  const at = cells[0]!.indexOf('BORROWED');
  expect(cells.slice(1, 3).map((row) => [row[1], row[4], row[at]])).toEqual([
    ['cpu', '16', '-'],
    ['gpu', '2', '2'],
  ]);
});
