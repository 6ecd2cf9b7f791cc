// The worlds of the engine's benchmark: fleets of 8-GPU nodes in racks and blocks, a policy with everything on, and demands.
import {
  type AcceleratorDemand,
  defaultPolicy,
  type JobDemand,
  type NodeFacts,
  type NodeId,
  type Policy,
  plainQuota,
  type Quota,
  type TopologyDemand,
} from '@muster/model';
import { FedEngine } from './fed-engine.ts';

export const gpusOnNode = 8;
const coresOnNode = 96;
const nodesInRack = 16;
const racksInBlock = 32;

/** When the worlds stand; what fills them started long before, so that no shield keeps a victim. */
export const nowMs = 1_000_000_000;
const longAgoMs = nowMs - 12 * 3_600_000;

export function fleetOf(count: number, gpus = gpusOnNode, cores = coresOnNode): NodeFacts[] {
  return Array.from({ length: count }, (_, i) => nodeOf(i, gpus, cores));
}

function nodeOf(i: number, gpus: number, cores: number): NodeFacts {
  const name = `n${String(i).padStart(6, '0')}`;
  const rack = Math.floor(i / nodesInRack);
  return {
    node: `node_${name}` as NodeId,
    name,
    cluster: 'main',
    pool: 'gpu',
    generation: 1,
    state: 'ready',
    drain: null,
    inventory: {
      cpuMilli: cores * 1000,
      memoryMib: cores * 8192,
      devices: Array.from({ length: gpus }, (__, index) => ({
        index,
        kind: 'gpu',
        model: 'H100',
        memoryMib: 81_920,
        uuid: `${name}-${index}`,
      })),
      labels: { rack: `r${rack}`, block: `b${Math.floor(rack / racksInBlock)}` },
      capabilities: ['fractions'],
      address: name,
      ports: { first: 20_000, count: 1000 },
    },
  };
}

/** The rack a node is in, by its id. */
export function rackOf(node: NodeId): number {
  return Math.floor(Number(node.slice('node_n'.length)) / nodesInRack);
}

export const projectCount = 1000;
const projectsInGroup = 20;

/** Projects two levels deep. */
export function projectName(i: number): string {
  return `g${Math.floor(i / projectsInGroup)}/p${i}`;
}

/** Everything on: a guarantee, a ceiling and a weight for each project, tiers, backfill, topology, power by rack. */
export function fullPolicy(nodes: number, quotas: readonly Quota[] = everyProject(nodes)): Policy {
  const power = {
    name: 'power',
    level: 'rack',
    unit: 'W',
    capacity: { default: nodesInRack * gpusOnNode * 1000 },
    perDevice: { gpu: 700 },
    perTask: 0,
  };
  return { ...defaultPolicy, quotas, topology: { ...defaultPolicy.topology, resources: [power] } };
}

function everyProject(nodes: number): Quota[] {
  const gpuMilli = nodes * gpusOnNode * 1000;
  const groups = projectCount / projectsInGroup;
  return [
    ...Array.from({ length: groups }, (_, i) => ({
      ...plainQuota(`g${i}`),
      guaranteed: { gpu: Math.floor(gpuMilli / groups) },
      ceiling: { gpu: { percentMilli: 100_000 } },
    })),
    ...Array.from({ length: projectCount }, (_, i) => ({
      ...plainQuota(projectName(i)),
      guaranteed: { gpu: Math.floor(gpuMilli / projectCount) },
      ceiling: { gpu: { percentMilli: 100_000 } },
      weightMilli: 1000 + (i % 3) * 500,
    })),
  ];
}

export function quota(project: string, gpus: number): Quota {
  return { ...plainQuota(project), guaranteed: { gpu: gpus * 1000 } };
}

export function gpuDemand(gpus: number, tasks = 1, topology: TopologyDemand | null = null): JobDemand {
  const gpu: AcceleratorDemand = {
    kind: 'gpu',
    model: null,
    milli: gpus * 1000,
    memoryMib: null,
    interconnect: null,
    generation: null,
    speedMilli: 1000,
  };
  return demandOf(tasks, gpus === 0 ? [] : [gpu], topology, null, null);
}

export const oneCore: JobDemand = demandOf(1, [], null, 1000, 1024);

function demandOf(
  tasks: number,
  accelerators: readonly AcceleratorDemand[],
  topology: TopologyDemand | null,
  cpuMilli: number | null,
  memoryMib: number | null,
): JobDemand {
  return {
    groups: [{ name: 'main', tasks, cpuMilli, memoryMib, accelerators, topology: null, near: null }],
    constraints: [],
    preferences: [],
    topology,
    capabilities: [],
    exclusive: false,
  };
}

/** Nothing runs and nothing waits. */
export function emptyWorld(nodes: number): FedEngine {
  return new FedEngine(fleetOf(nodes), fullPolicy(nodes), nowMs);
}

/** Every GPU is taken by runs that began long ago, `gpus` each; of all projects alike where none is named. */
export function filledWorld(
  nodes: number,
  policy: Policy,
  filler: { readonly project?: string; readonly tier?: string; readonly gpus: readonly number[] },
): FedEngine {
  const fed = new FedEngine(fleetOf(nodes), policy, longAgoMs);
  let left = nodes * gpusOnNode;
  for (let i = 0; left > 0; i++) {
    const { tier = 'standard' } = filler;
    const round = filler.project === undefined ? Math.floor(i / projectCount) : i;
    const gpus = Math.min(left, filler.gpus[round % filler.gpus.length]!);
    const project = filler.project ?? projectName(i % projectCount);
    fed.submit({ project, tier, demand: gpuDemand(gpus) });
    left -= gpus;
  }
  while (fed.started.size === 0 || fed.decide().units.length > 0) fed.commit(fed.decide());
  fed.nowMs = nowMs;
  return fed;
}

/** Jobs of 1, 2, 4 and 8 GPUs in all projects. */
export function queueJobs(fed: FedEngine, count: number): void {
  const demands = [1, 2, 4, 8].map((gpus) => gpuDemand(gpus));
  for (let i = 0; i < count; i++)
    fed.submit({ project: projectName(i % projectCount), demand: demands[(i >>> 3) & 3]! });
}
