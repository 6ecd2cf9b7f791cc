import type { RunId, StartCommand, TaskStart } from '@muster/model';
import { expect, test } from 'vitest';
import { type RunPart, submissionOf } from './submission.ts';

const run = 'run_000000000000000001_1' as RunId;

function task(rank: number, more: Partial<TaskStart> = {}): TaskStart {
  const size = { devices: [0, 1], cpuMilli: 1500, memoryMib: 512 };
  return { rank, command: ['train', '$(x)'], env: { RANK: `${rank}` }, workdir: '/data', ...size, ...more };
}

function part(node: string, tasks: readonly TaskStart[], more: Partial<StartCommand> = {}): RunPart {
  const who = { run, job: 'job', project: 'team', user: 'ann', nodes: 2 };
  const limits = { timeLimitMs: 90_000, stopAfterMs: null, outputLimitMib: 1, image: null };
  const stop = { signal: 'TERM', graceMs: 500 } as const;
  return { node, gres: 'gpu:a100:1,gpu:h100:4', command: { ...who, ...limits, stop, tasks, ...more } };
}

test('a gang on two nodes is one job with a step a task', () => {
  const parts = [part('n1', [task(0), task(1)]), part('n2', [task(2), task(3)])];
  const made = submissionOf(parts, 'ours', { account: 'physics', qos: 'high' });
  if (!made.ok) throw new Error(made.detail);
  expect(made.options).toEqual(
    expect.arrayContaining([
      `--job-name=${run}`,
      `--comment=${run} ours`,
      '--nodes=2',
      '--nodelist=n1,n2',
      '--ntasks=2',
      '--ntasks-per-node=1',
      '--cpus-per-task=4',
      '--mem=1024M',
      '--gres=gpu:a100:2,gpu:h100:2',
      '--time=2',
      '--no-requeue',
      '--account=physics',
      '--qos=high',
    ]),
  );
  expect(made.files.steps.split('\n')).toEqual([
    '0 n1 2 512M gpu:a100:1,gpu:h100:1 -',
    '1 n1 2 512M gpu:a100:1,gpu:h100:1 -',
    '2 n2 2 512M gpu:a100:1,gpu:h100:1 -',
    '3 n2 2 512M gpu:a100:1,gpu:h100:1 -',
    '',
  ]);
  expect(made.files.words.get(3)).toEqual(['/data', '', 'RANK=3', 'train', '$(x)']);
});

test('no limit, no devices and no account are no options', () => {
  const made = submissionOf([part('n1', [task(0, { devices: [] })], { timeLimitMs: null })], 'ours', {});
  if (!made.ok) throw new Error(made.detail);
  expect(made.options.filter((option) => /^--(time|gres|account|qos|partition)/.test(option))).toEqual([]);
  expect(made.files.steps).toBe('0 n1 2 512M none -\n');
});

test('nothing of what a user wrote is an option', () => {
  const evil = { command: ['--wrap', '#SBATCH --uid=0'], env: { X: '--wrap=id' }, workdir: '--chdir=/root' };
  const made = submissionOf([part('n1', [task(0, evil)], { user: '--uid=0', job: '--hold' })], 'ours', {});
  if (!made.ok) throw new Error(made.detail);
  expect(made.options.join(' ')).not.toMatch(/uid|wrap|hold|root/);
});

test('where the run does not hold the same of every node it is one job of several components, each with the key', () => {
  const parts = [
    part('n1', [task(0), task(1, { devices: [2], cpuMilli: 9000 })]),
    part('n2', [task(2)]),
    part('n3', [task(3)]),
  ];
  const made = submissionOf(parts, 'ours', { qos: 'high' });
  if (!made.ok) throw new Error(made.detail);
  const components = made.options.join(' ').split(' : ');
  const facts = /--job-name=(\S+) .*--nodelist=(\S+) .*--cpus-per-task=(\S+) .*--gres=(\S+) .*--qos=high/;
  expect(components.map((text) => facts.exec(text)?.slice(1))).toEqual([
    [run, 'n1', '11', 'gpu:a100:1,gpu:h100:2'],
    [run, 'n2,n3', '2', 'gpu:a100:1,gpu:h100:1'],
  ]);
  expect(made.files.steps.split('\n')).toEqual([
    '0 n1 2 512M gpu:a100:1,gpu:h100:1 0',
    '1 n1 9 512M gpu:h100:1 0',
    '2 n2 2 512M gpu:a100:1,gpu:h100:1 1',
    '3 n3 2 512M gpu:a100:1,gpu:h100:1 1',
    '',
  ]);
});

test('a job has a directory of its own for checkpoints, where the cluster has one for all', () => {
  const made = submissionOf([part('n1', [task(0)])], 'ours', {}, '/checkpoints');
  if (!made.ok) throw new Error(made.detail);
  expect(made.files.words.get(0)?.slice(0, 4)).toEqual([
    '/data',
    '/checkpoints/job_000000000000000001',
    'RANK=0',
    'MUSTER_CHECKPOINT_DIR=/checkpoints/job_000000000000000001',
  ]);
});

test('what cannot be started is refused', () => {
  for (const parts of [[part('n1', [])], [part('n1', [task(0, { command: ['A=b'] })])]])
    expect(submissionOf(parts, 'ours', {})).toMatchObject({ ok: false });
});
