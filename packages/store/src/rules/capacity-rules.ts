// What runs take from nodes and give back, as differences for each node.
import type { NodeId, RunId, TaskPlacement } from '@muster/model';

interface Holding {
  readonly id: RunId;
  readonly exclusive: boolean;
  readonly port: number;
  readonly tasks: readonly TaskPlacement[];
}

export interface Delta {
  cpuMilli: number;
  memoryMib: number;
  /** Thousandths by device index; sparse. */
  readonly devices: number[];
  readonly portsTaken: number[];
  readonly portsFreed: number[];
  runs: number;
  exclusiveTaken: RunId | null;
  exclusiveFreed: boolean;
}

export function deltasOf(runs: readonly Holding[], sign: 1 | -1): Map<NodeId, Delta> {
  const deltas = new Map<NodeId, Delta>();
  for (const run of runs) {
    for (const node of new Set(run.tasks.map((task) => task.node))) {
      const delta = deltaOf(deltas, node);
      delta.runs += sign;
      if (run.exclusive && sign > 0) delta.exclusiveTaken = run.id;
      if (run.exclusive && sign < 0) delta.exclusiveFreed = true;
    }
    for (const task of run.tasks) addTask(deltaOf(deltas, task.node), task, sign);
    // The rendezvous port is on the node of rank 0; a run without one has port 0.
    const first = run.tasks[0];
    if (first && run.port > 0)
      deltaOf(deltas, first.node)[sign > 0 ? 'portsTaken' : 'portsFreed'].push(run.port);
  }
  return deltas;
}

function addTask(delta: Delta, task: TaskPlacement, sign: 1 | -1): void {
  delta.cpuMilli += sign * task.cpuMilli;
  delta.memoryMib += sign * task.memoryMib;
  for (const device of task.devices)
    delta.devices[device] = (delta.devices[device] ?? 0) + sign * task.deviceMilli;
}

function deltaOf(deltas: Map<NodeId, Delta>, node: NodeId): Delta {
  const found = deltas.get(node);
  if (found) return found;
  const delta: Delta = {
    cpuMilli: 0,
    memoryMib: 0,
    devices: [],
    portsTaken: [],
    portsFreed: [],
    runs: 0,
    exclusiveTaken: null,
    exclusiveFreed: false,
  };
  deltas.set(node, delta);
  return delta;
}
