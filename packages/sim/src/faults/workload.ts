// The fleet, the policy and the jobs of one seed: small, and full of what is hard. Gangs, arrays, tiers that preempt, quotas
// that bind, programs that fail, hang, save their work or ignore signals, and a fifth as many devices as would be comfortable.
import {
  type AcceleratorDemand,
  defaultPolicy,
  type Inventory,
  type JobSpec,
  jobDemand,
  type Policy,
  plainQuota,
} from '@muster/model';
import type { Submit } from '@muster/store';
import type { Random } from '../random.ts';
import type { Behaviour } from '../world/programs.ts';
import type { FleetMachine, VirtualWorld } from '../world/world.ts';

export const projects = ['a', 'a/b', 'c'];

export function drawFleet(random: Random): FleetMachine[] {
  const count = 3 + random.below(6);
  return Array.from({ length: count }, (_, i) => ({
    name: `m${i}`,
    cluster: i % 4 === 3 ? 'far' : 'main',
    inventory: inventoryOf(i, random.chance(0.3) ? 8 : 4),
  }));
}

function inventoryOf(index: number, gpus: number): Inventory {
  return {
    cpuMilli: 16_000,
    memoryMib: 64 * 1024,
    devices: Array.from({ length: gpus }, (_, i) => ({
      index: i,
      kind: 'gpu',
      model: 'H100',
      memoryMib: 81_920,
      uuid: `gpu-${index}-${i}`,
    })),
    labels: { rack: `r${index % 2}` },
    capabilities: ['signals', 'unlike-groups', 'uneven-nodes', 'ask-checkpoint', 'fractions'],
    address: `10.0.0.${index + 1}`,
    ports: { first: 20_000, count: 40 },
  };
}

/** The default order on a shorter clock, with ceilings that bind and a guarantee that is taken back. */
export function drawPolicy(random: Random): Policy {
  const tiers = defaultPolicy.tiers.map((tier) => ({ ...tier, minRunMs: 4000, durationMs: 60_000 }));
  const gpu = 4000 * (1 + random.below(3));
  return {
    ...defaultPolicy,
    tiers,
    quotas: [
      { ...plainQuota('a'), guaranteed: { gpu: 4000 }, preemptWithin: 'lower-priority' },
      { ...plainQuota('c'), ceiling: { gpu } },
      { ...plainQuota('a/b'), ceiling: { gpu: 2 * gpu, cpu: 12_000 } },
    ],
    share: { halfLifeMs: 600_000 },
    preemption: { nearEndMs: 2000, coolingMs: 10_000, windowMs: 600_000 },
  };
}

/** A thousand times what quartz does, in a third of the worlds; leases must bear it. */
export function drawDrift(random: Random): number {
  return random.chance(0.33) ? 0.01 : 0;
}

const pick = <T>(random: Random, from: readonly T[]): T => from[random.below(from.length)] as T;

export function drawSubmit(world: VirtualWorld, random: Random, number: number): Submit & { key: string } {
  const spec = drawSpec(random, number);
  const item = {
    id: world.freshId('job', random),
    spec,
    demand: jobDemand(spec),
    principal: pick(random, ['ada', 'bo', 'cy']),
    key: `key-${number}`,
    bodyHash: `body-${number}`,
    held: random.chance(0.05),
  };
  world.programs.add(item.id, drawBehaviour(random, spec));
  return item;
}

function drawSpec(random: Random, number: number): JobSpec {
  const gpus = pick(random, [0, 1, 1, 2, 4]);
  const tasks = random.chance(0.4) ? 2 + random.below(3) : 1;
  const array = tasks === 1 && random.chance(0.15);
  const any = { model: null, memoryMib: null, interconnect: null, generation: null, speedMilli: 1000 };
  const accelerators: AcceleratorDemand[] = gpus > 0 ? [{ kind: 'gpu', ...any, milli: 1000 * gpus }] : [];
  const demand = {
    name: 'main',
    tasks,
    cpuMilli: 1000 * (1 + random.below(3)),
    memoryMib: 1024,
    accelerators,
    topology: null,
    near: null,
  };
  return {
    name: `j${number}`,
    title: null,
    project: pick(random, ['default', 'a', 'a/b', 'c', 'c']),
    kind: 'batch',
    tier: pick(random, ['spot', 'standard', 'standard', 'guaranteed', 'critical']),
    priority: random.below(3),
    groups: [{ name: 'main', command: ['work'], env: {}, demand }],
    image: null,
    workdir: null,
    constraints: [],
    preferences: [],
    topology: null,
    exclusive: random.chance(0.04),
    retry: { user: random.below(2), outOfMemory: random.below(2), infrastructure: 5 },
    timeLimitMs: random.chance(0.3) ? 60_000 : 180_000,
    deadlineMs: null,
    stop: { signal: 'TERM', graceMs: 1000 * (1 + random.below(5)) },
    checkpoint: random.chance(0.3) ? { signal: 'USR1', waitMs: 3000 } : null,
    stopAfterMs: pick(random, [25_000, 25_000, 60_000, null]),
    outputLimitMib: 1,
    labels: {},
    ...(array && { array: { count: 2 + random.below(5), parallel: random.chance(0.5) ? 2 : null } }),
  };
}

function drawBehaviour(random: Random, spec: JobSpec): Behaviour {
  const ends = (): Behaviour['ends'][number] =>
    pick(random, ['ok', 'ok', 'ok', 'ok', 'ok', 'user', 'out-of-memory', 'hang']);
  return {
    workMs: 1000 * (1 + random.below(random.chance(0.2) ? 120 : 25)),
    ends: [ends(), random.chance(0.5) ? 'ok' : ends(), 'ok'],
    stubborn: random.chance(0.2),
    checkpointEveryMs: spec.checkpoint ? 4000 : null,
    straggler: random.chance(0.1) ? 0 : null,
  };
}

/** Three worlds of ten have a batch system beside their machines. */
export function drawBatch(random: Random) {
  if (!random.chance(0.3)) return null;
  const kind = random.chance(0.5) ? ('slurm' as const) : ('kubernetes' as const);
  const inventory = { ...inventoryOf(200, 4), labels: { system: kind } };
  return { kind, nodes: 1 + random.below(3), inventory, fenced: random.chance(0.5) };
}

/**
 * Where there is one, a job runs on the machines or on the batch system, never on either: what runs there cannot be fenced, and
 * so never expires. But some write only where older attempts are refused: these may run on either, and begin on the batch system.
 */
export function onSystem(
  world: VirtualWorld,
  item: Submit,
  kind: 'slurm' | 'kubernetes',
  random: Random,
): Submit {
  const there = random.chance(0.35);
  if (there && random.chance(0.5)) return fencedOn(world, item, kind, random);
  const rule = there ? { op: 'in' as const, values: [kind] } : { op: 'absent' as const, values: [] };
  const constraints = [{ label: 'system', ...rule }];
  const spec = { ...item.spec, constraints, ...(there && { stopAfterMs: null, checkpoint: null }) };
  return { ...item, spec, demand: jobDemand(spec) };
}

function fencedOn(world: VirtualWorld, item: Submit, kind: 'slurm' | 'kubernetes', random: Random): Submit {
  const preferences = [{ label: 'system', op: 'in' as const, values: [kind], weight: 1000 }];
  const spec = { ...item.spec, preferences, checkpoint: null, fenced: true as const };
  world.programs.add(item.id, { ...drawBehaviour(random, spec), checkpointEveryMs: 2000, fenced: true });
  return { ...item, spec, demand: jobDemand(spec) };
}
