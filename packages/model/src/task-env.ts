// The environment of a task: Muster's own names and the aliases people's scripts already read (torchrun, Slurm, JAX).
// Pure, so that the server builds the same start command whoever builds it. The user's own variables win over the
// aliases; names reserved to Muster and Slurm cannot be set by users at all (spec.ts).
import { type JobId, parseMemberId, type RunId, submittedJob } from './ids.ts';
import type { JobSpec } from './job-spec.ts';
import type { TaskPlacement } from './plan.ts';

export interface RunLayout {
  readonly job: JobId;
  readonly run: RunId;
  readonly attempt: number;
  readonly spec: JobSpec;
  /** All tasks of the run, in rank order. */
  readonly tasks: readonly TaskPlacement[];
  /** Node names and addresses by node id. */
  readonly nodes: ReadonlyMap<string, { readonly name: string; readonly address: string }>;
  readonly port: number;
}

/** Node order of a run: by the lowest rank on each. Rank 0's node is the first. */
export function runNodes(tasks: readonly TaskPlacement[]): string[] {
  return [...new Set(tasks.map((task) => task.node as string))];
}

/**
 * A list of node names goes into every task's environment, so a long one costs its square; and Linux refuses a variable
 * above 128 KiB. Longer lists are left out.
 */
export const maxNodeListBytes = 16 * 1024;

/** Works out once what the tasks of a run share; the answer gives each task's environment in constant time. */
export function layoutRun(layout: RunLayout): (task: TaskPlacement) => Record<string, string> {
  const { spec, tasks, nodes } = layout;
  const nodeOrder = runNodes(tasks);
  const onNode = places(tasks, (task) => task.node as string);
  const inGroup = places(tasks, (task) => task.group);
  const nodeRanks = new Map(nodeOrder.map((node, i) => [node, i]));
  const devicesOn = new Map<string, number>();
  for (const { node, devices } of tasks) devicesOn.set(node, (devicesOn.get(node) ?? 0) + devices.length);
  const nodeName = (id: string): string => nodes.get(id)?.name ?? id;
  const masterAddr = nodes.get(nodeOrder[0] ?? '')?.address ?? '127.0.0.1';
  const worldSize = String(tasks.length);
  const port = String(layout.port);
  const restarts = String(layout.attempt - 1);
  const nodeList = nodeOrder.map(nodeName).join(',');
  const hasNodeList = nodeList.length <= maxNodeListBytes;
  const sharedAliases = {
    WORLD_SIZE: worldSize,
    MASTER_ADDR: masterAddr,
    MASTER_PORT: port,
    TORCHELASTIC_RESTART_COUNT: restarts,
    TORCHELASTIC_RUN_ID: layout.run,
    // torchrun calls each of its launchers a node, and every task starts one.
    PET_NNODES: worldSize,
    PET_MASTER_ADDR: masterAddr,
    PET_MASTER_PORT: port,
    JAX_COORDINATOR_ADDRESS: `${masterAddr}:${port}`,
    JAX_COORDINATOR_PORT: port,
    JAX_NUM_PROCESSES: worldSize,
  };
  const sharedReserved = {
    SLURM_JOB_ID: slurmJobId(layout.job),
    SLURM_JOB_NAME: spec.name,
    ...(hasNodeList ? { SLURM_JOB_NODELIST: nodeList, MUSTER_NODES: nodeList } : {}),
    SLURM_JOB_NUM_NODES: String(nodeOrder.length),
    SLURM_NNODES: String(nodeOrder.length),
    SLURM_NTASKS: worldSize,
    SLURM_RESTART_COUNT: restarts,
    SLURM_LAUNCH_NODE_IPADDR: masterAddr,
    MUSTER_JOB_ID: layout.job,
    MUSTER_JOB_NAME: spec.name,
    MUSTER_PROJECT: spec.project,
    MUSTER_RUN_ID: layout.run,
    MUSTER_ATTEMPT: String(layout.attempt),
    MUSTER_WORLD_SIZE: worldSize,
    MUSTER_NODE_COUNT: String(nodeOrder.length),
    MUSTER_MASTER_ADDR: masterAddr,
    MUSTER_MASTER_PORT: port,
    ...arrayVariables(layout),
  };
  return (task) => {
    const group = spec.groups[task.group];
    const rank = String(task.rank);
    const nodeRank = String(nodeRanks.get(task.node) ?? -1);
    const localRank = String(onNode.index.get(task.rank) ?? -1);
    const localSize = String(onNode.size.get(task.node) ?? 0);
    const groupRank = String(inGroup.index.get(task.rank) ?? -1);
    const groupSize = String(inGroup.size.get(task.group) ?? 0);
    const devices = task.devices.join(',');
    return {
      ...sharedAliases,
      RANK: rank,
      LOCAL_RANK: localRank,
      GROUP_RANK: nodeRank,
      ROLE_RANK: groupRank,
      LOCAL_WORLD_SIZE: localSize,
      ROLE_WORLD_SIZE: groupSize,
      PET_NODE_RANK: rank,
      PET_NPROC_PER_NODE: String(Math.max(1, task.devices.length)),
      JAX_PROCESS_ID: rank,
      ...group?.env,
      ...sharedReserved,
      SLURM_NODEID: nodeRank,
      SLURM_PROCID: rank,
      SLURM_LOCALID: localRank,
      SLURM_NTASKS_PER_NODE: localSize,
      SLURM_GPUS_ON_NODE: String(devicesOn.get(task.node) ?? 0),
      SLURM_JOB_GPUS: devices,
      MUSTER_GROUP: group?.name ?? '',
      MUSTER_GROUP_RANK: groupRank,
      MUSTER_GROUP_TASKS: groupSize,
      MUSTER_RANK: rank,
      MUSTER_LOCAL_RANK: localRank,
      MUSTER_LOCAL_WORLD_SIZE: localSize,
      MUSTER_NODE_ID: task.node,
      MUSTER_NODE_NAME: nodeName(task.node),
      MUSTER_NODE_RANK: nodeRank,
      MUSTER_DEVICES: devices,
      ...(task.devices.length > 0 ? { MUSTER_DEVICE_MILLI: String(task.deviceMilli) } : {}),
    };
  };
}

/** Slurm's tasks of an array have ids of their own and share the array's; so do ours. */
function arrayVariables({ job, spec: { array } }: RunLayout): Record<string, string> {
  const member = parseMemberId(job);
  if (!member || !array) return {};
  const [index, count, last] = [member.index, array.count, array.count - 1].map(String);
  return {
    MUSTER_ARRAY_ID: member.array,
    MUSTER_ARRAY_INDEX: index!,
    MUSTER_ARRAY_COUNT: count!,
    SLURM_ARRAY_JOB_ID: slurmJobId(member.array),
    SLURM_ARRAY_TASK_ID: index!,
    SLURM_ARRAY_TASK_COUNT: count!,
    SLURM_ARRAY_TASK_MIN: '0',
    SLURM_ARRAY_TASK_MAX: last!,
    SLURM_ARRAY_TASK_STEP: '1',
  };
}

/** Where each rank stands among the tasks with the same key, and how many such tasks there are. */
function places<Key>(tasks: readonly TaskPlacement[], keyOf: (task: TaskPlacement) => Key) {
  const index = new Map<number, number>();
  const size = new Map<Key, number>();
  for (const task of tasks) {
    const key = keyOf(task);
    const before = size.get(key) ?? 0;
    index.set(task.rank, before);
    size.set(key, before + 1);
  }
  return { index, size };
}

const base32 = '0123456789abcdefghjkmnpqrstvwxyz';

/** Scripts calculate with Slurm's job id (Lightning makes a port of its last four digits), so ours is a number here. */
function slurmJobId(job: JobId): string {
  let value = 0;
  for (const char of submittedJob(job).slice(-9)) value = value * 32 + Math.max(0, base32.indexOf(char));
  return String(value + (parseMemberId(job)?.index ?? 0)).padStart(4, '0');
}
