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
  const limits = { timeLimitMs: 90_000, stopAfterMs: null, outputLimitMib: 1 };
  const stop = { signal: 'TERM', graceMs: 500 } as const;
  return { node, gres: 'gpu:a100:1,gpu:h100:4', command: { ...who, ...limits, stop, tasks, ...more } };
}

test('a gang on two nodes is one job with a step a task', () => {
  const parts = [part('n1', [task(0), task(1)]), part('n2', [task(2), task(3)])];
  const made = submissionOf(parts, { account: 'physics', qos: 'high' });
  if (!made.ok) throw new Error(made.detail);
  expect(made.options).toEqual(
    expect.arrayContaining([
      `--job-name=${run}`,
      `--comment=${run}`,
      '--nodes=2',
      '--nodelist=n1,n2',
      '--ntasks=4',
      '--ntasks-per-node=2',
      '--cpus-per-task=2',
      '--mem=1024M',
      '--gres=gpu:a100:2,gpu:h100:2',
      '--time=2',
      '--no-requeue',
      '--account=physics',
      '--qos=high',
    ]),
  );
  expect(made.files.steps.split('\n')).toEqual([
    '0 n1 2 512M gpu:a100:1,gpu:h100:1',
    '1 n1 2 512M gpu:a100:1,gpu:h100:1',
    '2 n2 2 512M gpu:a100:1,gpu:h100:1',
    '3 n2 2 512M gpu:a100:1,gpu:h100:1',
    '',
  ]);
  expect(made.files.words.get(3)).toEqual(['/data', 'RANK=3', 'train', '$(x)']);
});

test('no limit, no devices and no account are no options', () => {
  const made = submissionOf([part('n1', [task(0, { devices: [] })], { timeLimitMs: null })], {});
  if (!made.ok) throw new Error(made.detail);
  expect(made.options.filter((option) => /^--(time|gres|account|qos|partition)/.test(option))).toEqual([]);
  expect(made.files.steps).toBe('0 n1 2 512M none\n');
});

test('nothing of what a user wrote is an option', () => {
  const evil = { command: ['--wrap', '#SBATCH --uid=0'], env: { X: '--wrap=id' }, workdir: '--chdir=/root' };
  const made = submissionOf([part('n1', [task(0, evil)], { user: '--uid=0', job: '--hold' })], {});
  if (!made.ok) throw new Error(made.detail);
  expect(made.options.join(' ')).not.toMatch(/uid|wrap|hold|root/);
});

test('what one Slurm job cannot say is refused', () => {
  const uneven = [part('n1', [task(0), task(1)]), part('n2', [task(2)])];
  const unlike = [part('n1', [task(0)]), part('n2', [task(1, { cpuMilli: 9000 })])];
  for (const parts of [uneven, unlike, [part('n1', [])], [part('n1', [task(0, { command: ['A=b'] })])]])
    expect(submissionOf(parts, {})).toMatchObject({ ok: false });
});
