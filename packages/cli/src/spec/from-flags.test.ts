import { expect, test } from 'vitest';
import { nameOf, parseGpus, specFromFlags } from './from-flags.ts';

const build = (flags: object, command = ['python', 'train.py']) =>
  specFromFlags(command, flags, '/work', { TOKEN: 's' });

test('flags become a job', () => {
  expect(
    build({
      gpus: 'H100:4',
      tasks: '2',
      cpus: '8',
      memory: '64GiB',
      env: ['A=b=c', 'TOKEN'],
      timeLimit: '2h',
      retry: '3',
      priority: '-5',
    }),
  ).toEqual({
    name: 'python',
    command: ['python', 'train.py'],
    workdir: '/work',
    tasks: 2,
    priority: -5,
    timeLimit: '2h',
    retry: { user: 3 },
    env: { A: 'b=c', TOKEN: 's' },
    resources: { cpus: 8, memory: '64GiB', accelerators: { model: 'H100', count: 4 } },
  });
});

test('the program is looked up as the shell here would, unless told otherwise', () => {
  const env = { PATH: '/venv/bin:/usr/bin' };
  expect(specFromFlags(['python'], {}, '/work', env).env).toEqual(env);
  expect(specFromFlags(['python'], { env: ['PATH=/bin'] }, '/work', env).env).toEqual({ PATH: '/bin' });
});

test.each([
  ['4', { count: 4 }],
  ['H100:4', { model: 'H100', count: 4 }],
  [
    'H200:2,H100:4',
    [
      { model: 'H200', count: 2 },
      { model: 'H100', count: 4 },
    ],
  ],
  ['8:interconnect=nvlink:generation=90', { count: 8, interconnect: 'nvlink', generation: 90 }],
  [
    'H200:2,H100:4:memory=80GiB:speed=0.6',
    [
      { model: 'H200', count: 2 },
      { model: 'H100', count: 4, memory: '80GiB', speed: 0.6 },
    ],
  ],
])('--gpus %s', (text, expected) => expect(parseGpus(text)).toEqual(expected));

test.each([
  [{ gpus: 'four' }, /^--gpus four is not understood/],
  [
    { gpus: '8:interconect=nvlink' },
    /^--gpus: "interconect" is no property of a device; did you mean "interconnect"\?/,
  ],
  [{ gpus: '8:generation=new' }, /^--gpus generation wants a number/],
  [{ gpus: '1.5' }, /^--gpus: .*whole number/],
  [{ memory: '64' }, /^--memory: "64" is ambiguous/],
  [{ timeLimit: '5' }, /^--time-limit: .*name the unit/],
  [{ tasks: '0' }, /^--tasks: /],
  [{ tasks: 'x' }, /^--tasks wants a number/],
  [{ env: ['MUSTER_RANK=1'] }, /^--env MUSTER_RANK: is reserved/],
  [{ env: ['NOPE'] }, /^--env wants NAME=VALUE/],
  [{ workdir: 'relative' }, /^--workdir: must be an absolute path/],
])('%j is told by its flag', (flags, message) => expect(() => build(flags)).toThrow(message));

test.each([
  ['/usr/bin/Train_2.py', 'train-2-py'],
  ['./-', 'job'],
  ['', 'job'],
])('%s gives the name %s', (program, name) => expect(nameOf(program)).toBe(name));
