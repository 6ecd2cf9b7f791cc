// The variables of a task, read off a sample: a gang of two groups on two nodes.
import {
  type JobId,
  layoutRun,
  maxNodeListBytes,
  memberId,
  type NodeId,
  parseSpec,
  runId,
} from '@muster/model';
import { code, page, table } from './markdown.ts';

const meanings: Readonly<Record<string, string>> = {
  MUSTER_JOB_ID: 'the job',
  MUSTER_JOB_NAME: 'its name',
  MUSTER_PROJECT: 'the project that pays',
  MUSTER_RUN_ID: 'this attempt, everywhere the same word for it',
  MUSTER_ATTEMPT: 'counts from 1; a checkpoint writer should refuse to overwrite what a later attempt wrote',
  MUSTER_GROUP: 'the group of this task',
  MUSTER_GROUP_RANK: 'position in the group, from 0',
  MUSTER_GROUP_TASKS: 'tasks in the group',
  MUSTER_RANK: 'position in the whole gang: groups in the order of the spec',
  MUSTER_WORLD_SIZE: 'tasks in the whole gang',
  MUSTER_LOCAL_RANK: 'position among the tasks on this node',
  MUSTER_LOCAL_WORLD_SIZE: 'tasks on this node',
  MUSTER_NODE_ID: 'the node',
  MUSTER_NODE_NAME: 'its name',
  MUSTER_NODE_RANK: 'position among the nodes of the run; the node of rank 0 is 0',
  MUSTER_NODE_COUNT: 'nodes of the run',
  MUSTER_NODES: 'their names, in that order',
  MUSTER_MASTER_ADDR: 'address of the node of rank 0',
  MUSTER_MASTER_PORT: 'a port there that the plan keeps free for this run',
  MUSTER_DEVICES: 'indices of the devices this task holds on its node',
  MUSTER_DEVICE_MILLI: "thousandths of each of them: 1000, or the task's part of one device",
};

/** Only members of arrays have them. */
const ofArrays: Readonly<Record<string, string>> = {
  MUSTER_ARRAY_ID: 'the array; `MUSTER_JOB_ID` is the member',
  MUSTER_ARRAY_INDEX: 'which member, from 0',
  MUSTER_ARRAY_COUNT: 'how many there are',
  SLURM_ARRAY_JOB_ID: 'the same for scripts written for Slurm',
  SLURM_ARRAY_TASK_ID: '',
  SLURM_ARRAY_TASK_COUNT: '',
  SLURM_ARRAY_TASK_MIN: '',
  SLURM_ARRAY_TASK_MAX: '',
  SLURM_ARRAY_TASK_STEP: '',
};

/** Made in packages/agent/src/task-spec.ts. */
const fromAgent = [
  ['`MUSTER_SCRATCH`', 'a directory of this task alone, and its working directory unless the job names one'],
  ['`MUSTER_TASK_KEY`', 'run and rank in one word'],
  [
    '`MUSTER_STATUS_FILE`',
    'replace this file to tell that work is saved: see [checkpoints](../guide/checkpoints.md)',
  ],
  [
    '`MUSTER_RUN_TOKEN`',
    'authenticates `POST /v1/runs/self/checkpoint`, and tells a store of checkpoints whose it is (`GET /v1/runs/self`); good for this run only',
  ],
  [
    '`MUSTER_SERVER_URL`',
    'where that API is, as the agent reaches it; in Slurm and Kubernetes as the configuration of the cluster says (`serverUrl`)',
  ],
  ['`CUDA_VISIBLE_DEVICES`, `NVIDIA_VISIBLE_DEVICES`', 'the GPUs of this task; empty for a task without'],
  ['`PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `TZ`', 'as the local user of the task needs them'],
] as const;

const families = [
  { title: "Muster's own", prefix: /^MUSTER_/, text: 'Reserved: a job cannot set them.' },
  {
    title: 'torchrun and torch.distributed',
    prefix: /^(RANK|LOCAL_|GROUP_|ROLE_|WORLD_|MASTER_|TORCHELASTIC_|PET_)/,
    text: 'Aliases: a variable of the same name in the job wins. `PET_*` are read by `torchrun` itself, which calls each task a node.',
  },
  { title: 'JAX', prefix: /^JAX_/, text: 'Aliases, for `jax.distributed.initialize`.' },
  {
    title: 'Slurm',
    prefix: /^SLURM_/,
    text: 'For scripts written for Slurm. Reserved. `SLURM_JOB_ID` is a number derived from the id of the job, because scripts calculate with it.',
  },
];

function sample(index: number | null = null): Record<string, string>[] {
  const parsed = parseSpec(
    {
      name: 'train',
      groups: [
        {
          name: 'trainer',
          tasks: 2,
          command: ['python', 'train.py'],
          resources: { accelerators: { count: 8 } },
        },
        { name: 'loader', tasks: 1, command: ['python', 'load.py'] },
      ],
    },
    { project: 'research/vision', tier: 'standard', stopAfterMs: () => null },
  );
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const array = 'job_01kb3q8p20h5v2n8xw' as JobId;
  const job = index === null ? array : memberId(array, index);
  const spec = { ...parsed.spec, ...(index !== null && { array: { count: 1000, parallel: null } }) };
  const devices = [0, 1, 2, 3, 4, 5, 6, 7];
  const [a, b] = ['node_01kb3q8p20aaaaaaaa' as NodeId, 'node_01kb3q8p20bbbbbbbb' as NodeId];
  const tasks = [
    { rank: 0, group: 0, node: a, cpuMilli: 64_000, memoryMib: 524_288, devices, deviceMilli: 1000 },
    { rank: 1, group: 0, node: b, cpuMilli: 64_000, memoryMib: 524_288, devices, deviceMilli: 1000 },
    { rank: 2, group: 1, node: a, cpuMilli: 1000, memoryMib: 8192, devices: [], deviceMilli: 1000 },
  ];
  const nodes = new Map([
    [a as string, { name: 'gpu-1', address: '10.0.0.1' }],
    [b as string, { name: 'gpu-2', address: '10.0.0.2' }],
  ]);
  const layout = { job, run: runId(job, 1), attempt: 1, spec, tasks, nodes, port: 30_000 };
  return tasks.map((task) => layoutRun(layout)(task));
}

function arraySection(): string {
  const [env = {}] = sample(17);
  const [plain = {}] = sample();
  const names = Object.keys(env).filter((name) => !(name in plain));
  if (names.join() !== Object.keys(ofArrays).join())
    throw new Error(
      `scripts/docs/environment.ts explains other variables of arrays than ${names.join(', ')}`,
    );
  const rows = names.map((name) => [code(name), ofArrays[name] ?? '', code(env[name] ?? '')]);
  return `## Members of arrays\n\n${table(['variable', 'meaning', 'member 17 of 1000'], rows)}`;
}

export function environmentPage(): string {
  const envs = sample();
  const names = Object.keys(envs[0] ?? {});
  const shown = (name: string) =>
    envs.map((env) => (env[name] === undefined ? 'not set' : env[name] === '' ? '(empty)' : code(env[name])));
  const unnamed = names.filter((name) => /^MUSTER_/.test(name) && !(name in meanings));
  if (unnamed.length > 0)
    throw new Error(`scripts/docs/environment.ts does not explain ${unnamed.join(', ')}`);
  const homeless = names.filter((name) => !families.some(({ prefix }) => prefix.test(name)));
  if (homeless.length > 0)
    throw new Error(`scripts/docs/environment.ts has no family for ${homeless.join(', ')}`);
  return page(
    'Environment of a task',
    [
      'What a gang of two groups (2 trainers with 8 devices each, 1 loader) sees on two nodes.',
      "Order of strength: Muster's and Slurm's names, then the job's own variables, then the aliases.",
      `Lists of nodes are left out when they are longer than ${maxNodeListBytes / 1024} KiB.`,
    ].join(' '),
    ...families.map(({ title, prefix, text }) => {
      const mine = names.filter((name) => prefix.test(name));
      const own = title.startsWith('Muster');
      const rows = mine.map((name) => [code(name), ...(own ? [meanings[name] ?? ''] : []), ...shown(name)]);
      const head = ['variable', ...(own ? ['meaning'] : []), 'rank 0', 'rank 1', 'rank 2'];
      return `## ${title}\n\n${text}\n\n${table(head, rows)}`;
    }),
    arraySection(),
    `## From the agent\n\nWhat only the node knows. Everything else of the agent's own environment stays away.\n\n${table(['variable', 'meaning'], fromAgent)}`,
  );
}
