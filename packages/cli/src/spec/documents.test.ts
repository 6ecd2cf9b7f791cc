// Job files: what is wrong is told with its place.
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { checkDocument } from './check.ts';
import {
  FileProblems,
  fileProblemText,
  maxFileBytes,
  maxJobs,
  parseDocuments,
  readSpecFile,
} from './documents.ts';

function problems(text: string): string[] {
  try {
    const documents = parseDocuments(text, 'job.yaml');
    return documents.flatMap(checkDocument).map((problem) => fileProblemText('job.yaml', problem));
  } catch (error) {
    if (error instanceof FileProblems) return [...error.lines];
    throw error;
  }
}

test('a good file has no problems', () => {
  expect(
    problems('command: [python, train.py]\nresources:\n  accelerators: { model: H100, count: 8 }\n'),
  ).toEqual([]);
  expect(problems('{\n\t"command": ["true"],\n\t"tasks": 4\n}')).toEqual([]);
});

test('an unknown field is told at its name, with the nearest one', () => {
  expect(problems('name: x\ncommand: [a]\nresource:\n  cpus: 1\n')).toEqual([
    'job.yaml:3:1: unknown field "resource"; did you mean "resources"?',
  ]);
  expect(problems('command: [a]\nresources:\n  cpu: 1\n')).toEqual([
    'job.yaml:3:3: /resources/cpu: unknown field "cpu"; did you mean "cpus"?',
  ]);
});

test('a wrong value is told at the value, with its path and what is allowed', () => {
  expect(problems('command: [a]\nresources:\n  memory: 64GB\n')).toEqual([
    'job.yaml:3:11: /resources/memory: "64GB" is ambiguous; write the unit in full, for example "64GiB"',
  ]);
  expect(problems('command: [a]\ngroups:\n  - name: a\n    tasks: 0\n')[0]).toMatch(
    /^job\.yaml:4:12: \/groups\/0\/tasks: /,
  );
});

test('all problems of all documents are told at once', () => {
  expect(problems('command: [a]\ntime: 1\n---\ncommand: [b]\npriority: 5000\n')).toEqual([
    expect.stringMatching(/^job\.yaml:2:1: unknown field "time"/),
    expect.stringMatching(/^job\.yaml:5:11: \/priority: /),
  ]);
});

test('a missing field is told at the nearest thing there is', () => {
  expect(problems('name: x\n')).toEqual([expect.stringMatching(/^job\.yaml:1:1: \/command: is required/)]);
});

test.each([
  ['command:\n\t- a\n', 'job.yaml:2:1: a tab is used to indent; YAML takes spaces only'],
  ['command: [a]\nname: x\nname: y\n', 'job.yaml:3:1: the key "name" is given twice'],
  ['command: [a\n', expect.stringMatching(/^job\.yaml:2:1: /)],
  ['- a\n- b\n', expect.stringMatching(/^job\.yaml:1:1: a job is a mapping of fields/)],
  ['', 'job.yaml:1:1: there is no job in it; write at least a command'],
  ['# nothing\n---\n', 'job.yaml:1:1: there is no job in it; write at least a command'],
])('%j is refused', (text, expected) => expect(problems(text)).toEqual([expected]));

test('aliases that expand without end are refused before they do', () => {
  const level = (name: string, of: string): string =>
    `${name}: &${name} [${Array(9).fill(`*${of}`).join(', ')}]\n`;
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${level('b', 'a')}${level('c', 'b')}${level('d', 'c')}${level('e', 'd')}`;
  expect(problems(bomb)).toEqual(['job.yaml:1:1: its aliases expand too far; at most 100 are followed']);
});

test('deep nesting and keys with meaning in JavaScript are refused', () => {
  expect(problems(`command: ${'['.repeat(3000)}${']'.repeat(3000)}\n`)).toEqual([
    expect.stringContaining('nested deeper'),
  ]);
  expect(problems('command: [a]\n__proto__: { polluted: true }\n')).toEqual([
    expect.stringContaining('__proto__'),
  ]);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('more jobs than a request takes are refused at the first that is too many', () => {
  const job = 'command: [a]\n---\n';
  expect(parseDocuments(job.repeat(maxJobs), 'jobs.yaml')).toHaveLength(maxJobs);
  // Far more than could be made into documents in the time there is.
  expect(() => parseDocuments(job.repeat(600_000), 'jobs.yaml')).toThrow(
    'jobs.yaml:20001: is job 10001; at most 10000 at once, so split the file',
  );
}, 60_000);

test('a file beyond the cap is refused while it is read', async () => {
  const huge = Readable.from(
    (function* () {
      for (let i = 0; i < 12; i++) yield Buffer.alloc(1024 * 1024, 97);
    })(),
  );
  expect(maxFileBytes).toBe(10 * 1024 * 1024);
  await expect(readSpecFile('-', huge)).rejects.toThrow('stdin is larger than 10 MiB');
});

test.each([
  ['/nowhere/job.yaml', 'cannot read /nowhere/job.yaml: there is no such file'],
  ['/tmp', 'cannot read /tmp: it is a folder'],
])('%s cannot be read', async (path, message) => {
  await expect(readSpecFile(path, Readable.from([]))).rejects.toThrow(message);
});

test('a file that is not text is refused', async () => {
  await expect(readSpecFile('-', Readable.from([Buffer.from([0xff, 0xfe, 0x00])]))).rejects.toThrow(
    'is not UTF-8 text',
  );
});
