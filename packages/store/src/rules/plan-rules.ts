// Whether a unit of a plan can still be applied: the world may have moved between decide and commit. Capacity is
// counted with the units applied before it in the same plan.
import {
  type NodeId,
  type Places,
  type PlanUnit,
  type PreemptUnit,
  type RunId,
  type StartUnit,
  type UnitRefusal,
  type Victim,
  wholeDevice,
} from '@muster/model';
import type { JobRecord, RunRecord } from './records.ts';

/** What a node has and what is sold of it, as the plan's units are applied. */
export interface NodeRoom {
  readonly id: NodeId;
  readonly generation: number;
  readonly placeable: boolean;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly devices: number;
  cpuMilliUsed: number;
  memoryMibUsed: number;
  readonly devicesUsed: number[];
  readonly portsUsed: Set<number>;
  runs: number;
  exclusiveRun: RunId | null;
}

/** What the victims of a unit hold on a node: gone by the time the claim is used. */
interface Held {
  cpuMilli: number;
  memoryMib: number;
  /** Thousandths, by device. */
  readonly devices: Map<number, number>;
  readonly ports: Set<number>;
  runs: number;
  exclusive: boolean;
}

const nothingHeld: ReadonlyMap<NodeId, Held> = new Map();

/** `runs` are the victims that have not ended. */
export function unitRefusal(
  unit: PlanUnit,
  job: JobRecord | undefined,
  nodes: ReadonlyMap<NodeId, NodeRoom>,
  runs: ReadonlyMap<RunId, RunRecord>,
): UnitRefusal | null {
  if (
    job?.state.state !== 'queued' ||
    versionOf(job) !== unit.jobVersion ||
    job.state.attempt !== unit.attempt
  )
    return 'job-changed';
  if (job.array?.state.state === 'held' && unit.kind !== 'release') return 'job-changed';
  if (unit.kind === 'release') return job.state.claim === null ? 'job-changed' : null;
  for (const [id, generation] of unit.nodeGenerations) {
    const node = nodes.get(id);
    if (!node?.placeable || node.generation !== generation) return 'node-changed';
  }
  if (placesOf(unit).tasks.some((task) => !nodes.get(task.node)?.placeable)) return 'node-changed';
  if (unit.kind === 'start') return roomRefusal(unit, nodes, nothingHeld);
  if (job.state.claim !== null) return 'job-changed';
  return roomRefusal(unit.claim, nodes, heldBy(unit.claim.victims, runs));
}

/** A member that never started was decided on as its array stood. */
function versionOf({ fresh, array, version }: JobRecord): number {
  return fresh && version === 0 && array ? array.version : version;
}

export function placesOf(unit: StartUnit | PreemptUnit): Places {
  return unit.kind === 'start' ? unit : unit.claim;
}

function heldBy(victims: readonly Victim[], runs: ReadonlyMap<RunId, RunRecord>): Map<NodeId, Held> {
  const held = new Map<NodeId, Held>();
  const on = (node: NodeId): Held => {
    const known = held.get(node);
    if (known) return known;
    const fresh = { cpuMilli: 0, memoryMib: 0, devices: new Map<number, number>(), ports: new Set<number>() };
    const sum: Held = { ...fresh, runs: 0, exclusive: false };
    held.set(node, sum);
    return sum;
  };
  for (const victim of victims) {
    const run = runs.get(victim.run);
    if (!run) continue;
    for (const task of run.tasks) {
      const sum = on(task.node);
      sum.cpuMilli += task.cpuMilli;
      sum.memoryMib += task.memoryMib;
      for (const device of task.devices)
        sum.devices.set(device, (sum.devices.get(device) ?? 0) + task.deviceMilli);
      if (task.rank === 0) sum.ports.add(run.port);
    }
    for (const node of new Set(run.tasks.map((task) => task.node))) {
      on(node).runs++;
      if (run.exclusive) on(node).exclusive = true;
    }
  }
  return held;
}

function roomRefusal(
  places: Places,
  nodes: ReadonlyMap<NodeId, NodeRoom>,
  heldOn: ReadonlyMap<NodeId, Held>,
): UnitRefusal | null {
  const need = new Map<NodeId, { cpuMilli: number; memoryMib: number; devices: Map<number, number> }>();
  for (const task of places.tasks) {
    const sum = need.get(task.node) ?? { cpuMilli: 0, memoryMib: 0, devices: new Map() };
    need.set(task.node, sum);
    sum.cpuMilli += task.cpuMilli;
    sum.memoryMib += task.memoryMib;
    for (const device of task.devices)
      sum.devices.set(device, (sum.devices.get(device) ?? 0) + task.deviceMilli);
  }
  for (const [id, { cpuMilli, memoryMib, devices }] of need) {
    const node = nodes.get(id) as NodeRoom;
    const held = heldOn.get(id);
    if (node.exclusiveRun !== null && !held?.exclusive) return 'no-capacity';
    if (places.exclusive && node.runs > (held?.runs ?? 0)) return 'no-capacity';
    if (node.cpuMilliUsed - (held?.cpuMilli ?? 0) + cpuMilli > node.cpuMilli) return 'no-capacity';
    if (node.memoryMibUsed - (held?.memoryMib ?? 0) + memoryMib > node.memoryMib) return 'no-capacity';
    for (const [device, milli] of devices) {
      const used = (node.devicesUsed[device] ?? 0) - (held?.devices.get(device) ?? 0) + milli;
      if (device < 0 || device >= node.devices || used > wholeDevice) return 'no-capacity';
    }
  }
  const first = places.tasks[0];
  if (!first || places.port <= 0) return null;
  const taken = nodes.get(first.node)?.portsUsed.has(places.port);
  return taken && !heldOn.get(first.node)?.ports.has(places.port) ? 'port-taken' : null;
}

export function takeRoom(unit: StartUnit, nodes: ReadonlyMap<NodeId, NodeRoom>): void {
  for (const task of unit.tasks) {
    const node = nodes.get(task.node) as NodeRoom;
    node.cpuMilliUsed += task.cpuMilli;
    node.memoryMibUsed += task.memoryMib;
    for (const device of task.devices)
      node.devicesUsed[device] = (node.devicesUsed[device] ?? 0) + task.deviceMilli;
  }
  for (const id of new Set(unit.tasks.map((task) => task.node))) {
    const node = nodes.get(id) as NodeRoom;
    node.runs++;
    if (unit.exclusive) node.exclusiveRun = unit.run;
  }
  const first = unit.tasks[0];
  if (first && unit.port > 0) nodes.get(first.node)?.portsUsed.add(unit.port);
}
