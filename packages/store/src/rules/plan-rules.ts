// Whether a unit of a plan can still be applied: the world may have moved between decide and commit. Capacity is
// counted with the units applied before it in the same plan.
import type { NodeId, PlanUnit, RunId, UnitRefusal } from '@muster/model';
import type { JobRecord } from './records.ts';

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

export function unitRefusal(
  unit: PlanUnit,
  job: JobRecord | undefined,
  nodes: ReadonlyMap<NodeId, NodeRoom>,
): UnitRefusal | null {
  if (job?.state.state !== 'queued' || job.version !== unit.jobVersion || job.state.attempt !== unit.attempt)
    return 'job-changed';
  for (const [id, generation] of unit.nodeGenerations) {
    const node = nodes.get(id);
    if (!node?.placeable || node.generation !== generation) return 'node-changed';
  }
  if (unit.tasks.some((task) => !nodes.get(task.node)?.placeable)) return 'node-changed';
  return roomRefusal(unit, nodes);
}

function roomRefusal(unit: PlanUnit, nodes: ReadonlyMap<NodeId, NodeRoom>): UnitRefusal | null {
  const need = new Map<NodeId, { cpuMilli: number; memoryMib: number; devices: Set<number> }>();
  for (const task of unit.tasks) {
    const sum = need.get(task.node) ?? { cpuMilli: 0, memoryMib: 0, devices: new Set() };
    need.set(task.node, sum);
    sum.cpuMilli += task.cpuMilli;
    sum.memoryMib += task.memoryMib;
    for (const device of task.devices) {
      if (sum.devices.has(device)) return 'no-capacity';
      sum.devices.add(device);
    }
  }
  for (const [id, { cpuMilli, memoryMib, devices }] of need) {
    const node = nodes.get(id) as NodeRoom;
    if (node.exclusiveRun !== null || (unit.exclusive && node.runs > 0)) return 'no-capacity';
    if (node.cpuMilliUsed + cpuMilli > node.cpuMilli || node.memoryMibUsed + memoryMib > node.memoryMib)
      return 'no-capacity';
    for (const device of devices)
      if (device < 0 || device >= node.devices || (node.devicesUsed[device] ?? 0) > 0) return 'no-capacity';
  }
  const first = unit.tasks[0];
  return first && unit.port > 0 && nodes.get(first.node)?.portsUsed.has(unit.port) ? 'port-taken' : null;
}

export function takeRoom(unit: PlanUnit, nodes: ReadonlyMap<NodeId, NodeRoom>): void {
  for (const task of unit.tasks) {
    const node = nodes.get(task.node) as NodeRoom;
    node.cpuMilliUsed += task.cpuMilli;
    node.memoryMibUsed += task.memoryMib;
    for (const device of task.devices) node.devicesUsed[device] = 1000;
  }
  for (const id of new Set(unit.tasks.map((task) => task.node))) {
    const node = nodes.get(id) as NodeRoom;
    node.runs++;
    if (unit.exclusive) node.exclusiveRun = unit.run;
  }
  const first = unit.tasks[0];
  if (first && unit.port > 0) nodes.get(first.node)?.portsUsed.add(unit.port);
}
