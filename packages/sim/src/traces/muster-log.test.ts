import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readTrace } from './read-trace.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-log-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const job = (n: number) => `job_${String(n).padStart(18, '0')}`;

function groupOf(tasks: number, milli: number | null) {
  const accelerators = milli === null ? [] : [{ kind: 'gpu', model: null, milli }];
  return { name: 'main', tasks, cpuMilli: null, memoryMib: null, accelerators };
}

function submitted(n: number, submittedMs: number, groups: readonly unknown[], rest: object = {}) {
  const facts = {
    job: job(n),
    name: 'train',
    project: 'lab/vision',
    user: 'ada',
    durationMs: 3_600_000,
    submittedMs,
  };
  return { kind: 'job.submitted', ...facts, demand: { groups }, ...rest };
}

const ran = (name: string, startedMs: number, endedMs: number) => [
  { kind: 'run.running', job: name, startedMs },
  { kind: 'run.ended', job: name, endedMs },
];
const over = (name: string) => ({ kind: 'job.ended', job: name });

function log(...bodies: readonly { readonly kind: string }[]): string {
  const path = join(folder, 'events.jsonl');
  const lines = bodies.map((body, i) =>
    JSON.stringify({ sequence: i + 1, at: '2026-01-01T00:00:00Z', kind: body.kind, body }),
  );
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

test('a job that ended is a row with its devices, its limit, and the time of its last run', async () => {
  const { trace, report, format } = await readTrace(
    log(
      submitted(1, 1_000_000, [groupOf(4, 8000), groupOf(1, 2000)]),
      submitted(2, 1_005_000, [groupOf(1, 500)], { durationMs: null }),
      ...ran(job(1), 1_010_000, 1_020_000),
      ...ran(job(1), 1_030_000, 1_100_000),
      ...ran(job(2), 1_040_000, 1_041_000),
      over(job(2)),
      over(job(1)),
    ),
  );
  expect(format.name).toBe('muster');
  expect([...trace.submitMs]).toEqual([0, 5000]);
  expect([...trace.runMs]).toEqual([70_000, 1000]);
  expect([...trace.size]).toEqual([34, 1]);
  expect([...trace.milli]).toEqual([1000, 500]);
  expect([...trace.askedMs]).toEqual([3_600_000, 0]);
  expect(trace.names).toEqual({ users: ['ada'], projects: ['lab/vision'], programs: ['train'] });
  expect(report).toMatchObject({ jobs: 2, badCount: 0, excluded: [] });
});

test('every member of an array is a job, and what cannot be replayed is told why', async () => {
  const array = { count: 3, parallel: null };
  const { trace, report } = await readTrace(
    log(
      submitted(1, 0, [groupOf(1, 1000)], { array }),
      ...ran(`${job(1)}[0]`, 10, 20),
      over(`${job(1)}[0]`),
      ...ran(`${job(1)}[1]`, 10, 40),
      over(`${job(1)}[1]`),
      over(job(1)),
      submitted(2, 0, [groupOf(1, null)]),
      ...ran(job(2), 5, 9),
      over(job(2)),
      submitted(3, 0, [groupOf(1, 1000)]),
      over(job(3)),
      submitted(4, 0, [groupOf(1, 1000)]),
      over(job(9)),
    ),
  );
  expect([...trace.runMs]).toEqual([10, 30]);
  expect(report.excluded.map(({ reason }) => reason).sort()).toEqual([
    'it asks for no device',
    'it ended without running',
    'it had not ended when the log was written',
    'it was submitted before the log begins',
  ]);
});

test('a line that is no event is named', async () => {
  const path = log(submitted(1, 0, [groupOf(1, 1000)]), ...ran(job(1), 5, 9), over(job(1)));
  writeFileSync(path, 'half a line\n', { flag: 'a' });
  const { report } = await readTrace(path);
  expect(report.bad).toEqual([{ line: 5, why: 'it is not an event of the log as JSON' }]);
});
