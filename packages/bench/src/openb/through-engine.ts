// The product's placement: each pod is a job of the engine, submitted in arrival order and decided on before the next arrives, under
// the default policy. Nothing ends and nothing moves. What is committed comes back as events, as from the store.
import { type Engine, loadEngine } from '@muster/engine';
import {
  type AcceleratorDemand,
  defaultPolicy,
  type EventBody,
  type JobDemand,
  type JobId,
  type NodeFacts,
  type NodeId,
  type StartUnit,
} from '@muster/model';
import type { Pod, TraceNode } from './trace.ts';

/** Thousandths of GPUs in use when all have arrived. */
export function engineMilli(nodes: readonly TraceNode[], pods: readonly Pod[]): number {
  const engine = loadEngine({
    sequence: 0,
    policyVersion: 1,
    policy: defaultPolicy,
    nodes: nodes.map(factsOf),
    arrays: [],
    jobs: [],
    runs: [],
    usage: [],
  });
  const demands = new Map<Pod, JobDemand>();
  let used = 0;
  for (const [i, pod] of pods.entries()) {
    const demand = demands.get(pod) ?? demandOf(pod);
    demands.set(pod, demand);
    submit(engine, i, demand);
    for (const unit of engine.decide(startMs).units) if (unit.kind === 'start') used += start(engine, unit);
  }
  return used;
}

const startMs = 1_000_000;

function tell(engine: Engine, body: EventBody): void {
  engine.apply({ sequence: engine.sequence + 1, atMs: startMs, body });
}

function submit(engine: Engine, i: number, demand: JobDemand): void {
  tell(engine, {
    kind: 'job.submitted',
    job: `job_${String(i).padStart(18, '0')}` as JobId,
    version: 1,
    name: `pod-${i}`,
    project: 'openb',
    tier: defaultPolicy.defaultTier,
    priority: 0,
    user: 'bench',
    durationMs: null,
    deadlineMs: null,
    demand,
    submittedMs: startMs,
    by: 'bench',
    held: false,
  });
}

function start(engine: Engine, unit: StartUnit): number {
  const { kind: _, jobVersion: __, nodeGenerations: ___, ...facts } = unit;
  const { run, job, tasks } = facts;
  tell(engine, { kind: 'run.planned', version: 2, epoch: 1, plannedMs: startMs, ...facts });
  tell(engine, { kind: 'run.running', version: 3, run, job, startedMs: startMs });
  return tasks.reduce((sum, task) => sum + task.devices.length * task.deviceMilli, 0);
}

function factsOf(node: TraceNode): NodeFacts {
  return {
    node: `node_${node.name}` as NodeId,
    name: node.name,
    cluster: 'openb',
    pool: 'gpu',
    generation: 1,
    state: 'ready',
    drain: null,
    inventory: {
      cpuMilli: node.cpuMilli,
      memoryMib: node.memoryMib,
      devices: Array.from({ length: node.gpus }, (_, index) => ({
        index,
        kind: 'gpu',
        model: node.model,
        memoryMib: 16_384,
        uuid: `${node.name}-${index}`,
      })),
      labels: {},
      capabilities: ['fractions'],
      address: node.name,
      // Every pod takes a port for its rendezvous, and hundreds of small ones share a node.
      ports: { first: 20_000, count: 10_000 },
    },
  };
}

function demandOf(pod: Pod): JobDemand {
  const any = { memoryMib: null, interconnect: null, generation: null, speedMilli: 1000 };
  const accelerator = (model: string | null): AcceleratorDemand => ({
    kind: 'gpu',
    model,
    milli: pod.gpus === 1 ? pod.gpuMilli : pod.gpus * 1000,
    ...any,
  });
  const models = pod.models.length === 0 ? [null] : pod.models;
  return {
    groups: [
      {
        name: 'main',
        tasks: 1,
        cpuMilli: pod.cpuMilli,
        memoryMib: pod.memoryMib,
        accelerators: pod.gpus === 0 ? [] : models.map(accelerator),
        topology: null,
        near: null,
      },
    ],
    constraints: [],
    preferences: [],
    topology: null,
    capabilities: pod.gpus > 0 && pod.gpuMilli < 1000 ? ['fractions'] : [],
    exclusive: false,
  };
}
