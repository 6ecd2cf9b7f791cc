// Builders that read as sentences, for tests of the store and of what stands on it.
import { randomBytes } from 'node:crypto';
import {
  type AcceleratorDemand,
  addUse,
  entryFacts,
  entryKey,
  freshId,
  type GroupDemand,
  type Inventory,
  type JobDemand,
  type JobId,
  type JobSpec,
  jobDemand,
  type NodeId,
  type Plan,
  type PlanUnit,
  type PreemptUnit,
  runId,
  type ServerId,
  type StartUnit,
  type TaskExit,
  type TaskPlacement,
  type Uses,
} from '@muster/model';
import type { DispatchSession, ServerInfo, Store, Submit } from '../contract.ts';

export const newId = {
  job: () => freshId('job', Date.now(), randomBytes(9)),
  node: () => freshId('node', Date.now(), randomBytes(9)),
  server: () => freshId('server', Date.now(), randomBytes(9)),
  token: () => freshId('token', Date.now(), randomBytes(9)),
  text: () => randomBytes(9).toString('hex'),
};

function wholeGpus(count: number): AcceleratorDemand {
  const any = { model: null, memoryMib: null, interconnect: null, generation: null };
  return { kind: 'gpu', ...any, milli: count * 1000, speedMilli: 1000 };
}

export function aSpec(changes: Partial<JobSpec> & { tasks?: number; gpus?: number } = {}): JobSpec {
  const { tasks = 1, gpus = 0, ...rest } = changes;
  const demand: GroupDemand = {
    name: 'main',
    tasks,
    cpuMilli: 1000,
    memoryMib: 512,
    accelerators: gpus > 0 ? [wholeGpus(gpus)] : [],
    topology: null,
    near: null,
  };
  return {
    name: 'train',
    title: null,
    project: 'default',
    kind: 'batch',
    tier: 'standard',
    priority: 0,
    groups: [{ name: 'main', command: ['true'], env: { A: '1' }, demand }],
    image: null,
    workdir: null,
    constraints: [],
    preferences: [],
    topology: null,
    exclusive: false,
    retry: { user: 0, outOfMemory: 0, infrastructure: 3 },
    timeLimitMs: null,
    deadlineMs: null,
    stop: { signal: 'TERM', graceMs: 30_000 },
    checkpoint: null,
    stopAfterMs: 300_000,
    outputLimitMib: 1024,
    labels: {},
    ...rest,
  };
}

export function aSubmit(changes: Partial<Submit> & { spec?: JobSpec } = {}): Submit {
  const spec = changes.spec ?? aSpec();
  return {
    id: newId.job(),
    spec,
    demand: jobDemand(spec),
    principal: 'ada',
    key: null,
    bodyHash: 'body',
    held: false,
    ...changes,
  };
}

export function entryOfSpec(spec: JobSpec, demand: JobDemand = jobDemand(spec)): string {
  return entryKey(entryFacts(spec, 'ada'), demand);
}

export function anInventory(changes: Partial<Inventory> & { gpus?: number } = {}): Inventory {
  const { gpus = 8, ...rest } = changes;
  return {
    cpuMilli: 64_000,
    memoryMib: 512 * 1024,
    devices: Array.from({ length: gpus }, (_, index) => ({
      index,
      kind: 'gpu',
      model: 'H100',
      memoryMib: 81_920,
      uuid: `gpu-${index}`,
    })),
    labels: { zone: 'a' },
    capabilities: ['signals'],
    address: '10.0.0.1',
    ports: { first: 20_000, count: 100 },
    ...rest,
  };
}

export function aServer(id: ServerId = newId.server()): ServerInfo {
  return { id, url: 'http://127.0.0.1:1', bootId: 'boot', pid: 1, pidStart: '1' };
}

export interface JoinedNode extends DispatchSession {
  readonly name: string;
  readonly inventory: Inventory;
}

/** Enrols a node and says hello for it. */
export async function joinNode(
  store: Store,
  changes: { name?: string; cluster?: string; inventory?: Inventory } = {},
): Promise<JoinedNode> {
  const hash = newId.text();
  const name = changes.name ?? `n-${newId.text()}`;
  const inventory = changes.inventory ?? anInventory();
  const cluster = changes.cluster ?? 'main';
  const expiresMs = (await store.nowMs()) + 60_000;
  await store.createEnrolment({
    id: newId.text(),
    hash,
    cluster,
    pool: 'gpu',
    by: 'ada',
    expiresMs,
    uses: 1,
  });
  const enrolled = await store.enrol({ hash, node: newId.node(), name, publicKey: 'key' });
  if (enrolled.outcome !== 'committed') throw new Error(`enrol: ${enrolled.outcome}`);
  return sayHello(store, enrolled.value.node, { name, inventory });
}

export async function sayHello(
  store: Store,
  node: NodeId,
  changes: {
    name?: string;
    inventory?: Inventory;
    tasks?: Parameters<Store['hello']>[0]['tasks'];
    server?: ServerId;
  } = {},
): Promise<JoinedNode> {
  const session = newId.text();
  const inventory = changes.inventory ?? anInventory();
  const answer = await store.hello({
    node,
    session,
    server: changes.server ?? newId.server(),
    bootId: 'boot',
    agentVersion: '0.1.0',
    isolation: false,
    inventory,
    tasks: changes.tasks ?? [],
  });
  if (answer.outcome !== 'committed') throw new Error(`hello: ${answer.outcome}`);
  return { node, session, fenced: true, inventory, name: changes.name ?? answer.value.nodeName };
}

export async function lead(store: Store): Promise<number> {
  const now = await store.leader();
  return (await store.acquireLease(aServer(), 60_000, now.epoch)).epoch;
}

export async function submitted(store: Store, item: Submit = aSubmit()): Promise<JobId> {
  const answer = await store.submit(item);
  if (answer.outcome !== 'committed') throw new Error(`submit: ${JSON.stringify(answer)}`);
  return answer.value.job;
}

export function placement(node: NodeId, changes: Partial<TaskPlacement> = {}): TaskPlacement {
  return {
    rank: 0,
    group: 0,
    node,
    cpuMilli: 1000,
    memoryMib: 512,
    devices: [],
    deviceMilli: 1000,
    ...changes,
  };
}

export function aUnit(
  job: JobId,
  tasks: readonly TaskPlacement[],
  changes: Partial<StartUnit> = {},
): StartUnit {
  const attempt = changes.attempt ?? 1;
  return {
    kind: 'start',
    job,
    jobVersion: 1,
    run: runId(job, attempt),
    attempt,
    exclusive: false,
    tasks: tasks.map((task, rank) => ({ ...task, rank })),
    port: 20_000,
    nodeGenerations: [...new Set(tasks.map((task) => task.node))].map((node) => [node, 1] as const),
    uses: usesOf(tasks),
    ...changes,
  };
}

/** On nodes that have H100, as `anInventory` says. */
function usesOf(tasks: readonly TaskPlacement[]): Uses {
  const uses: Record<string, number> = {};
  for (const { cpuMilli, memoryMib, devices, deviceMilli } of tasks) {
    addUse(uses, 'cpu', cpuMilli);
    addUse(uses, 'memory', memoryMib);
    for (const key of ['gpu', 'gpu/H100']) addUse(uses, key, devices.length * deviceMilli);
  }
  return uses;
}

/** The job gets these places once the victims are gone. */
export function aPreemption(
  job: JobId,
  tasks: readonly TaskPlacement[],
  victims: readonly StartUnit[],
  changes: Partial<StartUnit> = {},
): PreemptUnit {
  const { kind: _, exclusive, port, tasks: placed, uses, ...unit } = aUnit(job, tasks, changes);
  const named = victims.map((victim) => ({ job: victim.job, run: victim.run, right: 'tier' as const }));
  return { ...unit, kind: 'preempt', claim: { exclusive, tasks: placed, port, uses, victims: named } };
}

export function aPlan(units: readonly PlanUnit[], changes: Partial<Plan> = {}): Plan {
  return {
    sequence: 0,
    nowMs: 0,
    policyVersion: 1,
    engineVersion: 'test',
    units,
    verdicts: [],
    wakeAtMs: null,
    hash: 'hash',
    ...changes,
  };
}

export const ok: TaskExit = { ok: true };

export function failed(changes: Partial<Extract<TaskExit, { ok: false }>> = {}): TaskExit {
  const reason = { code: 'exit', message: 'exited with 1' };
  return { ok: false, class: 'user', code: 1, signal: null, reason, ...changes };
}
