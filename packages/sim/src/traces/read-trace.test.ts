import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readTrace } from './read-trace.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-traces-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const swfText = `; Computer: Test
; UnixStartTime: 843480031
; MaxProcs: 100
  2 100 5 30 4 -1 -1 8 60 -1 1 7 3 -1 1 -1 -1 -1
  1 50 5 20 4 -1 -1 -1 -1 -1 1 7 3 -1 1 -1 -1 -1
  3 120 5 0 4 -1 -1 4 60 -1 0 7 3 -1 1 -1 -1 -1
  4 130 5 10 0 -1 -1 -1 60 -1 0 7 3 -1 1 -1 -1 -1
`;

describe('Standard Workload Format', () => {
  test('jobs stand in order of arrival, with the size asked for, counted from the first submit', async () => {
    const { trace } = await readTrace(file('a.swf', swfText));
    expect([...trace.submitMs]).toEqual([0, 50_000]);
    expect([...trace.size]).toEqual([4, 8]);
    expect([...trace.runMs]).toEqual([20_000, 30_000]);
    expect([...trace.askedMs]).toEqual([0, 60_000]);
    expect([...trace.line]).toEqual([5, 4]);
    expect(trace.machineDevices).toBe(100);
    expect(trace.originMs).toBe(843_480_081_000);
    expect(trace.names).toEqual({
      users: ['user-7'],
      projects: ['group-3'],
      programs: ['program-unknown@1'],
    });
  });

  test('what is excluded is counted, with the reason and the first line of it', async () => {
    const { report } = await readTrace(file('a.swf', swfText));
    expect(report).toMatchObject({ rows: 4, jobs: 2, badCount: 0 });
    expect(report.excluded).toEqual([
      { reason: 'it ran for 0 s', count: 1, firstLine: 6 },
      { reason: 'its size is not known', count: 1, firstLine: 7 },
    ]);
    expect(report.notes).toEqual(['Where the size asked for is not told, the size that was used counts.']);
  });

  test('bad rows are named by line, and the others are read', async () => {
    const { report, trace } = await readTrace(
      file('bad.swf', `${swfText}5 140 5 ten 4 -1 -1 8 60 -1 1 7 3 -1 1 -1 -1 -1\n6 1 2\n`),
    );
    expect(trace.count).toBe(2);
    expect(report.bad).toEqual([
      { line: 8, why: 'field 4 is "ten", not a number' },
      { line: 9, why: 'it has 3 fields, and the format has 18' },
    ]);
  });
});

const phillyText = `timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-10-09 07:01:50,10.5,16,168,6214e9
2017-10-09 07:01:51,0,1,0,6214e9
2017-13-09 07:01:51,5,1,5,6214e9
`;

test('Philly: virtual clusters are projects, and times are seconds', async () => {
  const { trace, report, format } = await readTrace(file('p.csv', phillyText));
  expect(format.name).toBe('philly');
  expect([...trace.submitMs]).toEqual([0, 5000]);
  expect([...trace.runMs]).toEqual([10_500, 66_000]);
  expect([...trace.size]).toEqual([16, 1]);
  expect(trace.names.projects).toEqual(['6214e9', '11cb48']);
  expect(trace.originMs).toBe(Date.UTC(2017, 9, 9, 7, 1, 50));
  expect(report.excluded).toEqual([{ reason: 'it ran for 0 s', count: 1, firstLine: 4 }]);
  expect(report.bad).toEqual([{ line: 5, why: 'its timestamp is "2017-13-09 07:01:51", not a time' }]);
});

test('openb: a run is from scheduling to deletion, and parts of a GPU are kept', async () => {
  const { trace, report } = await readTrace(
    file(
      'o.csv',
      `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
a,1,1,1,460,,LS,Running,10,100,20
b,1,1,2,1000,V100M16|V100M32,BE,Running,11,100,20
c,1,1,0,0,,BE,Running,11,100,20
d,1,1,1,1000,,BE,Pending,11,100,
e,1,1,x,1000,,BE,Pending,11,100,
`,
    ),
  );
  expect([...trace.runMs]).toEqual([80_000, 80_000]);
  expect([...trace.milli]).toEqual([460, 1000]);
  expect(report.excluded.map(({ reason }) => reason)).toEqual([
    'it asks for no GPU',
    'it was never scheduled',
  ]);
  expect(report.bad).toEqual([{ line: 6, why: 'num_gpu is "x", not a number' }]);
});

describe('any file', () => {
  test('is unpacked by its content, whatever its name says', async () => {
    const { trace } = await readTrace(file('plain-name.csv', gzipSync(phillyText)));
    expect(trace.count).toBe(2);
    expect((await readTrace(file('wrong-name.gz', phillyText))).trace.count).toBe(2);
  });

  test('with Windows line ends and no newline at its end is the same', async () => {
    const { trace } = await readTrace(file('crlf.csv', phillyText.trimEnd().replaceAll('\n', '\r\n')));
    expect(trace.count).toBe(2);
  });

  test.each([
    [
      'of another format',
      'x.csv',
      phillyText,
      'swf',
      'x.csv: this is not swf but looks like philly; say --format philly',
    ],
    ['of no format', 'x.txt', 'hello\nworld\n', undefined, 'x.txt: its first lines are of no known format'],
    ['with nothing in it', 'x.txt', '', 'swf', 'x.txt: it is empty'],
    ['with rows of another kind', 'x.txt', 'a b c\n', 'swf', 'x.txt: line 1: it has 3 fields'],
    [
      'without times',
      'm.csv',
      'name,cpu_milli,memory_mib,num_gpu,gpu_milli\n',
      'openb',
      'has no creation_time',
    ],
    ['without a needed column', 'p.csv', 'timestamp,duration\n', 'philly', 'num_gpus is not there'],
    ['whose format nobody knows', 'x.csv', phillyText, 'phily', 'there is no format "phily"'],
  ])('%s is refused with what to do', async (_what, name, text, format, message) => {
    await expect(readTrace(file(name, text), { format })).rejects.toThrow(message);
  });

  test('that is cut, a folder or not there is refused by name', async () => {
    const cut = file('cut.gz', gzipSync(phillyText.repeat(100)).subarray(0, 80));
    await expect(readTrace(cut)).rejects.toThrow('is cut or broken');
    await expect(readTrace(folder)).rejects.toThrow('is a folder, not a file');
    await expect(readTrace(join(folder, 'none.swf'))).rejects.toThrow('there is no file');
  });
});
