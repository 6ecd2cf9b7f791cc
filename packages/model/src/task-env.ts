// The environment of a task: Muster's own names and the aliases people's scripts already read (torchrun, Slurm, JAX).
// Pure, so that the server builds the same start command whoever builds it. The user's own variables win over the
// aliases; names reserved to Muster and Slurm cannot be set by users at all (spec.ts).
import type { JobId, RunId } from './ids.ts';
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

export function taskEnv(layout: RunLayout, task: TaskPlacement): Record<string, string> {
  const { spec, tasks, nodes } = layout;
  const group = spec.groups[task.group];
  const nodeOrder = runNodes(tasks);
  const nodeRank = nodeOrder.indexOf(task.node);
  const here = tasks.filter((other) => other.node === task.node);
  const inGroup = tasks.filter((other) => other.group === task.group);
  const localRank = here.findIndex((other) => other.rank === task.rank);
  const groupRank = inGroup.findIndex((other) => other.rank === task.rank);
  const nodeName = (id: string): string => nodes.get(id)?.name ?? id;
  const masterAddr = nodes.get(nodeOrder[0] ?? '')?.address ?? '127.0.0.1';
  const text = (values: Record<string, string | number>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));
  const aliases = text({
    RANK: task.rank,
    LOCAL_RANK: localRank,
    GROUP_RANK: nodeRank,
    ROLE_RANK: groupRank,
    WORLD_SIZE: tasks.length,
    LOCAL_WORLD_SIZE: here.length,
    ROLE_WORLD_SIZE: inGroup.length,
    MASTER_ADDR: masterAddr,
    MASTER_PORT: layout.port,
    TORCHELASTIC_RESTART_COUNT: layout.attempt - 1,
    TORCHELASTIC_RUN_ID: layout.run,
    PET_NNODES: nodeOrder.length,
    PET_NODE_RANK: nodeRank,
    PET_NPROC_PER_NODE: Math.max(1, task.devices.length),
    PET_MASTER_ADDR: masterAddr,
    PET_MASTER_PORT: layout.port,
    JAX_COORDINATOR_ADDRESS: `${masterAddr}:${layout.port}`,
    JAX_COORDINATOR_PORT: layout.port,
    JAX_NUM_PROCESSES: tasks.length,
    JAX_PROCESS_ID: task.rank,
  });
  const reserved = text({
    SLURM_JOB_ID: layout.job,
    SLURM_JOB_NAME: spec.name,
    SLURM_JOB_NODELIST: nodeOrder.map(nodeName).join(','),
    SLURM_JOB_NUM_NODES: nodeOrder.length,
    SLURM_NNODES: nodeOrder.length,
    SLURM_NODEID: nodeRank,
    SLURM_PROCID: task.rank,
    SLURM_LOCALID: localRank,
    SLURM_NTASKS: tasks.length,
    SLURM_NTASKS_PER_NODE: here.length,
    SLURM_GPUS_ON_NODE: here.reduce((sum, other) => sum + other.devices.length, 0),
    SLURM_JOB_GPUS: task.devices.join(','),
    SLURM_RESTART_COUNT: layout.attempt - 1,
    SLURM_LAUNCH_NODE_IPADDR: masterAddr,
    MUSTER_JOB_ID: layout.job,
    MUSTER_JOB_NAME: spec.name,
    MUSTER_PROJECT: spec.project,
    MUSTER_RUN_ID: layout.run,
    MUSTER_ATTEMPT: layout.attempt,
    MUSTER_GROUP: group?.name ?? '',
    MUSTER_GROUP_RANK: groupRank,
    MUSTER_GROUP_TASKS: inGroup.length,
    MUSTER_RANK: task.rank,
    MUSTER_WORLD_SIZE: tasks.length,
    MUSTER_LOCAL_RANK: localRank,
    MUSTER_LOCAL_WORLD_SIZE: here.length,
    MUSTER_NODE_ID: task.node,
    MUSTER_NODE_NAME: nodeName(task.node),
    MUSTER_NODE_RANK: nodeRank,
    MUSTER_NODES: nodeOrder.map(nodeName).join(','),
    MUSTER_MASTER_ADDR: masterAddr,
    MUSTER_MASTER_PORT: layout.port,
    MUSTER_DEVICES: task.devices.join(','),
  });
  return { ...aliases, ...group?.env, ...reserved };
}
