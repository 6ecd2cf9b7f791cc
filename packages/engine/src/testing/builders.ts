// Builders that read as sentences: `node('a').with(8, 'H100')`, `job(1).asking(gpus(4, 'H100'))`. Everything has a default,
// so that a test says only what it is about.
import type {
  AcceleratorDemand,
  ArraySize,
  Capability,
  Constraint,
  Device,
  GroupDemand,
  JobDemand,
  JobFacts,
  JobId,
  NearDemand,
  NodeFacts,
  NodeId,
  Preference,
  RunEstimate,
  TopologyDemand,
} from '@muster/model';

export const jobId = (n: number): JobId => `job_${String(n).padStart(18, '0')}` as JobId;
export const nodeId = (name: string): NodeId => `node_${name}` as NodeId;

export function devices(
  count: number,
  model = 'H100',
  memoryMib = 81_920,
  kind = 'gpu',
  first = 0,
): Device[] {
  return Array.from({ length: count }, (_, i) => {
    const index = first + i;
    return { index, kind, model, memoryMib, uuid: `${kind}-${index}` };
  });
}

export interface NodeOptions {
  readonly devices?: readonly Device[];
  readonly cpuMilli?: number;
  readonly cpuStepMilli?: number;
  readonly memoryMib?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly capabilities?: readonly Capability[];
  readonly ports?: { readonly first: number; readonly count: number };
  readonly pool?: string;
  readonly state?: NodeFacts['state'];
  readonly draining?: boolean;
  readonly quarantined?: boolean;
  readonly generation?: number;
}

function drainOf({ draining, quarantined }: NodeOptions): NodeFacts['drain'] {
  if (quarantined) return { by: 'muster', reason: 'strikes', sinceMs: 0, quarantine: true };
  return draining ? { by: 'ada', reason: 'repair', sinceMs: 0 } : null;
}

/** A node with 8 H100, 64 cores and 512 GiB unless said otherwise. */
export function node(name: string, options: NodeOptions = {}): NodeFacts {
  return {
    node: nodeId(name),
    name,
    cluster: 'main',
    pool: options.pool ?? 'gpu',
    generation: options.generation ?? 1,
    state: options.state ?? 'ready',
    drain: drainOf(options),
    inventory: {
      cpuMilli: options.cpuMilli ?? 64_000,
      ...(options.cpuStepMilli !== undefined && { cpuStepMilli: options.cpuStepMilli }),
      memoryMib: options.memoryMib ?? 524_288,
      devices: options.devices ?? devices(8),
      labels: options.labels ?? {},
      capabilities: options.capabilities ?? ['fractions'],
      address: `${name}.example`,
      ports: options.ports ?? { first: 30_000, count: 100 },
    },
  };
}

export function gpus(
  count: number,
  model: string | null = null,
  memoryMib: number | null = null,
): AcceleratorDemand {
  return {
    kind: 'gpu',
    model,
    milli: Math.round(count * 1000),
    memoryMib,
    interconnect: null,
    generation: null,
    speedMilli: 1000,
  };
}

export interface GroupOptions {
  readonly name?: string;
  readonly tasks?: number;
  readonly cpuMilli?: number | null;
  readonly memoryMib?: number | null;
  readonly topology?: TopologyDemand | null;
  readonly near?: NearDemand | null;
}

export function group(accelerators: readonly AcceleratorDemand[], options: GroupOptions = {}): GroupDemand {
  const { name = 'main', tasks = 1, cpuMilli = null, memoryMib = null } = options;
  const { topology = null, near = null } = options;
  return { name, tasks, cpuMilli, memoryMib, accelerators, topology, near };
}

export interface DemandOptions {
  readonly constraints?: readonly Constraint[];
  readonly preferences?: readonly Preference[];
  readonly topology?: TopologyDemand | null;
  readonly capabilities?: readonly Capability[];
  readonly exclusive?: boolean;
}

export function demand(groups: GroupDemand | readonly GroupDemand[], options: DemandOptions = {}): JobDemand {
  const { constraints = [], preferences = [], topology = null } = options;
  const { capabilities = [], exclusive = false } = options;
  return {
    groups: Array.isArray(groups) ? groups : [groups as GroupDemand],
    constraints,
    preferences,
    topology,
    capabilities,
    exclusive,
  };
}

/** One task with this many devices of any model. */
export const oneTask = (count: number, model: string | null = null): JobDemand =>
  demand(group(count === 0 ? [] : [gpus(count, model)]));

export interface JobOptions {
  readonly project?: string;
  readonly tier?: string;
  readonly priority?: number;
  readonly user?: string;
  readonly durationMs?: number | null;
  readonly deadlineMs?: number | null;
  readonly restoreMs?: number | undefined;
  readonly submittedMs?: number;
  readonly estimate?: RunEstimate | undefined;
  /** Members, and how many may run at once. */
  readonly array?: ArraySize | undefined;
}

export function job(n: number, asks: JobDemand, options: JobOptions = {}): JobFacts {
  return {
    job: jobId(n),
    version: 1,
    name: `job-${n}`,
    project: options.project ?? 'research',
    tier: options.tier ?? 'standard',
    priority: options.priority ?? 0,
    user: options.user ?? 'ada',
    durationMs: options.durationMs ?? null,
    deadlineMs: options.deadlineMs ?? null,
    ...(options.restoreMs !== undefined && { restoreMs: options.restoreMs }),
    demand: asks,
    submittedMs: options.submittedMs ?? 0,
    ...(options.estimate && { estimate: options.estimate }),
    ...(options.array && { array: options.array }),
  };
}
