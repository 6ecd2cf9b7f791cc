// API objects for tests, whole, with only what a test is about changed.
import type { JobDetail, JobId, JobView, NodeId, NodeView, RunId, TaskView } from '@muster/model';

export const now = Date.parse('2026-11-15T12:00:00Z');
export const secondsAgo = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

export const jobId = (tail: string): JobId => `job_01k9zzzzz${tail.padEnd(9, '0')}` as JobId;

export function jobView(change: Partial<JobView> = {}): JobView {
  return {
    id: jobId('a'),
    name: 'train',
    title: null,
    project: 'default',
    tier: 'standard',
    priority: 0,
    state: 'running',
    attempt: 1,
    tasks: 1,
    devices: 0,
    labels: {},
    submittedBy: 'ada',
    submittedAt: secondsAgo(100),
    startedAt: secondsAgo(90),
    endedAt: null,
    notBefore: null,
    plannedStart: null,
    estimate: null,
    result: null,
    exitCode: null,
    verdict: null,
    reason: null,
    move: null,
    run: null,
    array: null,
    index: null,
    version: 1,
    ...change,
  };
}

export const ended = (change: Partial<JobView> = {}): Partial<JobView> => ({
  state: 'ended',
  endedAt: secondsAgo(10),
  result: { outcome: 'succeeded' },
  exitCode: 0,
  ...change,
});

export const failed = (code: number): Partial<JobView> =>
  ended({
    exitCode: code,
    result: {
      outcome: 'failed',
      class: 'user',
      code,
      signal: null,
      reason: { code: 'exit', message: `exited with code ${code}` },
      rank: 0,
      node: null,
    },
  });

export function jobDetail(change: Partial<JobDetail> = {}): JobDetail {
  return {
    ...jobView(change),
    spec: {
      name: 'train',
      title: null,
      project: 'default',
      kind: 'batch',
      tier: 'standard',
      priority: 0,
      groups: [
        {
          name: 'main',
          command: ['python', 'train.py'],
          env: {},
          demand: {
            name: 'main',
            tasks: 1,
            cpuMilli: null,
            memoryMib: null,
            accelerators: [],
            topology: null,
            near: null,
          },
        },
      ],
      image: null,
      workdir: '/work',
      constraints: [],
      preferences: [],
      topology: null,
      exclusive: false,
      retry: { user: 0, outOfMemory: 0, infrastructure: 5 },
      timeLimitMs: null,
      deadline: null,
      stop: { signal: 'TERM', graceMs: 30_000 },
      checkpoint: null,
      stopAfterMs: 300_000,
      outputLimitMib: 64,
      labels: {},
    },
    runs: [],
    ...change,
  };
}

export const task: TaskView = {
  rank: 0,
  group: 'main',
  node: 'node_1' as NodeId,
  nodeName: 'gpu-1',
  devices: [0, 1],
  deviceMilli: 1000,
  cpuMilli: 4000,
  memoryMib: 16_384,
  state: 'running',
  startedAt: secondsAgo(90),
  endedAt: null,
  exit: null,
};

export const runIdOf = (job: JobId): RunId => `run_${job.slice(4)}_1` as RunId;

export function nodeView(change: Partial<NodeView> = {}): NodeView {
  return {
    id: 'node_1' as NodeId,
    name: 'gpu-1',
    cluster: 'default',
    pool: 'default',
    state: 'ready',
    stateSince: secondsAgo(1000),
    stateReason: null,
    drain: null,
    trust: 1,
    strikes: null,
    labels: {},
    address: '10.0.0.1',
    cpuMilli: 16_000,
    cpuMilliUsed: 4000,
    memoryMib: 65_536,
    memoryMibUsed: 16_384,
    devices: [0, 1].map((index) => ({
      index,
      kind: 'gpu',
      model: 'H100',
      memoryMib: 81_920,
      uuid: `u${index}`,
      used: index === 0,
    })),
    renewedAt: secondsAgo(3),
    agentVersion: '0.1.0',
    capabilities: ['fractions', 'signals', 'unlike-groups', 'uneven-nodes'],
    isolation: true,
    generation: 1,
    ...change,
  };
}
