// What runs take from nodes and give back, as differences: the row's CHECKs see the sum, so that no device, core or
// MiB is sold twice (S1) even if the code that planned it were wrong.
import type { NodeId, RunId, TaskPlacement } from '@muster/model';
import type { Tx } from '../database.ts';

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

const lock = {
  name: 'lock-capacity',
  text: 'SELECT FROM node WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
};

// A release also pulls the limits of a node that shrank back down to what it has.
const change = {
  name: 'change-capacity',
  text: `
UPDATE node SET
  cpu_milli_used = cpu_milli_used + d.cpu,
  cpu_milli_limit = greatest(cpu_milli, least(cpu_milli_limit, cpu_milli_used + d.cpu)),
  memory_mib_used = memory_mib_used + d.memory,
  memory_mib_limit = greatest(memory_mib, least(memory_mib_limit, memory_mib_used + d.memory)),
  devices_used = CASE WHEN d.devices = '{}' THEN devices_used ELSE ARRAY(
    SELECT coalesce(used, 0) + coalesce(more, 0)
    FROM unnest(devices_used, d.devices::int[]) WITH ORDINALITY AS u (used, more, i) ORDER BY i) END,
  ports_used = CASE WHEN d.taken = '{}' AND d.freed = '{}' THEN ports_used
    ELSE ARRAY(SELECT unnest(ports_used) EXCEPT SELECT unnest(d.freed::int[])) || d.taken::int[] END,
  runs = node.runs + d.runs,
  exclusive_run = coalesce(d.exclusive, CASE WHEN d.freed_exclusive THEN NULL ELSE exclusive_run END)
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::int[],
  $8::text[], $9::boolean[])
  AS d (id, cpu, memory, devices, taken, freed, runs, exclusive, freed_exclusive)
WHERE node.id = d.id`,
};

export async function changeCapacity(tx: Tx, deltas: ReadonlyMap<NodeId, Delta>): Promise<void> {
  const rows = [...deltas];
  const ids = rows.map(([node]) => node);
  const locked = tx.query(lock, [ids]);
  const changed = tx.query(change, [
    ids,
    rows.map(([, delta]) => delta.cpuMilli),
    rows.map(([, delta]) => delta.memoryMib),
    rows.map(([, delta]) => arrayText(delta.devices)),
    rows.map(([, delta]) => arrayText(delta.portsTaken)),
    rows.map(([, delta]) => arrayText(delta.portsFreed)),
    rows.map(([, delta]) => delta.runs),
    rows.map(([, delta]) => delta.exclusiveTaken),
    rows.map(([, delta]) => delta.exclusiveFreed),
  ]);
  await Promise.all([locked, changed]);
}

export function arrayText(values: readonly number[]): string {
  return `{${Array.from(values, (value) => value ?? 0).join(',')}}`;
}
