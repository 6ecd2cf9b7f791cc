import { describe, expect, test } from 'vitest';
import { type JobId, memberId, type NodeId, runId } from './ids.ts';
import type { JobSpec } from './job-spec.ts';
import { parseSpec } from './parse-spec.ts';
import type { TaskPlacement } from './plan.ts';
import { layoutRun, maxNodeListBytes, type RunLayout, runNodes } from './task-env.ts';

const job = 'job_00000000000000002z' as JobId;
const a = 'node_a' as NodeId;
const b = 'node_b' as NodeId;

function specOf(input: object): JobSpec {
  const parsed = parseSpec(input, { project: 'research/vision', tier: 'standard', stopAfterMs: () => null });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.spec;
}

const spec = specOf({
  name: 'train',
  env: { NCCL_DEBUG: 'INFO', MASTER_PORT: '1' },
  groups: [
    { name: 'trainer', tasks: 3, command: ['python', 'train.py'] },
    { name: 'loader', tasks: 1, command: ['load'], env: { RANK: 'mine' } },
  ],
});

const task = (rank: number, group: number, node: NodeId, devices: number[]): TaskPlacement => ({
  rank,
  group,
  node,
  cpuMilli: 1000,
  memoryMib: 1024,
  devices,
  deviceMilli: 1000,
});

// Two groups over two nodes: a has ranks 0, 1 and the loader 3; b has rank 2.
const tasks = [task(0, 0, a, [0, 1]), task(1, 0, a, [2, 3]), task(2, 0, b, [0, 1]), task(3, 1, a, [])];
const layout: RunLayout = {
  job,
  run: runId(job, 2),
  attempt: 2,
  spec,
  tasks,
  nodes: new Map([
    [a, { name: 'gpu-a', address: '10.0.0.1' }],
    [b, { name: 'gpu-b', address: '10.0.0.2' }],
  ]),
  port: 30_001,
};
const envs = tasks.map((each) => layoutRun(layout)(each));
const column = (name: string) => envs.map((env) => env[name]);

describe('a gang of two groups on two nodes', () => {
  test.each([
    ['RANK', ['0', '1', '2', 'mine']],
    ['LOCAL_RANK', ['0', '1', '0', '2']],
    ['GROUP_RANK', ['0', '0', '1', '0']],
    ['ROLE_RANK', ['0', '1', '2', '0']],
    ['WORLD_SIZE', ['4', '4', '4', '4']],
    ['LOCAL_WORLD_SIZE', ['3', '3', '1', '3']],
    ['ROLE_WORLD_SIZE', ['3', '3', '3', '1']],
    ['MASTER_ADDR', ['10.0.0.1', '10.0.0.1', '10.0.0.1', '10.0.0.1']],
    ['MASTER_PORT', ['1', '1', '1', '1']],
    ['PET_NNODES', ['4', '4', '4', '4']],
    ['PET_NODE_RANK', ['0', '1', '2', '3']],
    ['PET_NPROC_PER_NODE', ['2', '2', '2', '1']],
    ['TORCHELASTIC_RESTART_COUNT', ['1', '1', '1', '1']],
    ['JAX_COORDINATOR_ADDRESS', Array(4).fill('10.0.0.1:30001')],
    ['JAX_NUM_PROCESSES', ['4', '4', '4', '4']],
    ['JAX_PROCESS_ID', ['0', '1', '2', '3']],
    ['SLURM_PROCID', ['0', '1', '2', '3']],
    ['SLURM_LOCALID', ['0', '1', '0', '2']],
    ['SLURM_NODEID', ['0', '0', '1', '0']],
    ['SLURM_NTASKS', ['4', '4', '4', '4']],
    ['SLURM_NTASKS_PER_NODE', ['3', '3', '1', '3']],
    ['SLURM_NNODES', ['2', '2', '2', '2']],
    ['SLURM_JOB_NODELIST', Array(4).fill('gpu-a,gpu-b')],
    ['SLURM_GPUS_ON_NODE', ['4', '4', '2', '4']],
    ['SLURM_JOB_GPUS', ['0,1', '2,3', '0,1', '']],
    ['SLURM_RESTART_COUNT', ['1', '1', '1', '1']],
    ['MUSTER_RANK', ['0', '1', '2', '3']],
    ['MUSTER_GROUP', ['trainer', 'trainer', 'trainer', 'loader']],
    ['MUSTER_GROUP_RANK', ['0', '1', '2', '0']],
    ['MUSTER_GROUP_TASKS', ['3', '3', '3', '1']],
    ['MUSTER_NODE_NAME', ['gpu-a', 'gpu-a', 'gpu-b', 'gpu-a']],
    ['MUSTER_MASTER_PORT', Array(4).fill('30001')],
    ['MUSTER_DEVICES', ['0,1', '2,3', '0,1', '']],
    ['MUSTER_PROJECT', Array(4).fill('research/vision')],
    ['MUSTER_JOB_ID', Array(4).fill(job)],
    ['MUSTER_RUN_ID', Array(4).fill(runId(job, 2))],
    ['MUSTER_ATTEMPT', ['2', '2', '2', '2']],
    ['NCCL_DEBUG', ['INFO', 'INFO', 'INFO', 'INFO']],
  ])('%s', (name, values) => {
    expect(column(name)).toEqual(values);
  });

  test('orders its nodes by the lowest rank on each', () => {
    expect(runNodes(tasks)).toEqual([a, b]);
    expect(runNodes([...tasks].reverse().map((each, rank) => ({ ...each, rank })))).toEqual([a, b]);
  });
});

test("the user's variables win over aliases and never over what Muster and Slurm's names say", () => {
  const sneaky = {
    ...spec,
    groups: spec.groups.map((group) => ({
      ...group,
      env: { RANK: 'x', MUSTER_RANK: 'x', SLURM_PROCID: 'x' },
    })),
  };
  const env = layoutRun({ ...layout, spec: sneaky })(tasks[1]!);
  expect([env.RANK, env.MUSTER_RANK, env.SLURM_PROCID]).toEqual(['x', '1', '1']);
});

test("Slurm's job id is a number, because scripts calculate with it", () => {
  expect(column('SLURM_JOB_ID')).toEqual(Array(4).fill('0095'));
  const other = { ...layout, job: 'job_000000000zzzzzzzzz' as JobId };
  expect(layoutRun(other)(tasks[0]!).SLURM_JOB_ID).toBe(String(2 ** 45 - 1));
});

test('a member of an array knows its index under our name and Slurm’s; any other job has no such name', () => {
  const array = 'job_000000000000000095' as JobId;
  const member = {
    ...layout,
    job: memberId(array, 17),
    spec: { ...spec, array: { count: 100, parallel: 5 } },
  };
  const [env, base] = [layoutRun(member)(tasks[0]!), layoutRun({ ...layout, job: array })(tasks[0]!)];
  expect(env).toMatchObject({
    MUSTER_JOB_ID: `${array}[17]`,
    MUSTER_ARRAY_ID: array,
    MUSTER_ARRAY_INDEX: '17',
    MUSTER_ARRAY_COUNT: '100',
    SLURM_ARRAY_JOB_ID: base.SLURM_JOB_ID,
    SLURM_JOB_ID: String(Number(base.SLURM_JOB_ID) + 17).padStart(4, '0'),
    SLURM_ARRAY_TASK_ID: '17',
    SLURM_ARRAY_TASK_COUNT: '100',
    SLURM_ARRAY_TASK_MIN: '0',
    SLURM_ARRAY_TASK_MAX: '99',
    SLURM_ARRAY_TASK_STEP: '1',
  });
  expect(Object.keys(base).filter((name) => name.includes('ARRAY'))).toEqual([]);
});

test('the same layout gives the same environment, task by task or laid out once', () => {
  const envOf = layoutRun(layout);
  expect(tasks.map(envOf)).toEqual(envs);
  expect(tasks.map((each) => layoutRun({ ...layout })(each))).toEqual(envs);
});

describe('a large gang', () => {
  const large = (nodeCount: number): RunLayout => {
    const ids = Array.from({ length: nodeCount }, (_, i) => `node_${i}` as NodeId);
    return {
      ...layout,
      tasks: ids.map((node, rank) => task(rank, 0, node, [0])),
      nodes: new Map(
        ids.map((id, i) => [
          id as string,
          { name: `gpu-${String(i).padStart(6, '0')}`, address: `10.0.0.${i}` },
        ]),
      ),
    };
  };

  test('names its nodes while the list is short enough for every task to carry it', () => {
    const env = layoutRun(large(1000))(large(1000).tasks[0]!);
    expect(env.MUSTER_NODES?.split(',')).toHaveLength(1000);
    expect(env.MUSTER_NODES).toBe(env.SLURM_JOB_NODELIST);
  });

  test('leaves the list out beyond that, and still says how many there are', () => {
    const big = large(4096);
    const envOf = layoutRun(big);
    const sizes = big.tasks.map((each) => JSON.stringify(envOf(each)).length);
    expect(Math.max(...sizes)).toBeLessThan(maxNodeListBytes);
    expect(envOf(big.tasks[4095]!)).toMatchObject({
      RANK: '4095',
      SLURM_NNODES: '4096',
      MUSTER_NODE_COUNT: '4096',
    });
    expect(envOf(big.tasks[0]!)).not.toHaveProperty('MUSTER_NODES');
  });
});
