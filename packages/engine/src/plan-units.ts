// The units of a plan that start jobs, made from what a walk has placed.
import { type NodeId, type PlanUnit, runId, type TaskPlacement } from '@muster/model';
import type { Fleet } from './fleet.ts';
import { compareText } from './order.ts';
import type { PlacedJobs } from './placed-jobs.ts';
import type { PlanHasher } from './plan-hash.ts';
import type { State } from './state.ts';

/** Those that start jobs; each is hashed while what it names is at hand, because a large plan is soon far away. */
export function startUnits(state: State, placed: PlacedJobs, hasher: PlanHasher, units: PlanUnit[]): void {
  for (let i = 0; i < placed.length; i++) {
    const unit = startUnit(state, placed, i);
    hasher.unit(unit);
    units.push(unit);
  }
}

function startUnit(state: State, placed: PlacedJobs, index: number): PlanUnit {
  const { jobs, fleets, projects } = state;
  const job = placed.job[index]!;
  const id = placed.idAt(index);
  const attempt = jobs.attempt[job]!;
  const { lane, uses } = placed.alikeAt(index);
  const { demand } = lane.shape;
  const [from, to] = [placed.from[index]!, placed.to[index]!];
  return {
    kind: 'start',
    job: id,
    jobVersion: jobs.version[job]!,
    run: runId(id, attempt),
    attempt,
    exclusive: demand.exclusive,
    tasks: tasksOf(fleets.live, from, to, demand.groups.length),
    port: placed.port[index]!,
    nodeGenerations: generations(fleets.live, from, to),
    uses: projects.keys.uses(uses),
  };
}

/** Groups as written, inside each node by node in the order they were chosen. */
export function tasksOf(fleet: Fleet, from: number, to: number, groups: number): TaskPlacement[] {
  const { ledger } = fleet;
  // A list that grows has room for many, and a plan may be a hundred thousand lists of one.
  if (to === from + 1 && ledger.tasks[from] === 1) return [taskOf(fleet, 0, from, 0)];
  const tasks: TaskPlacement[] = [];
  for (let group = 0; group < groups; group++)
    for (let pick = from; pick < to; pick++)
      if (ledger.group[pick] === group)
        for (let i = 0; i < ledger.tasks[pick]!; i++) tasks.push(taskOf(fleet, tasks.length, pick, i));
  return tasks;
}

/** The `nth` task of a pick. */
function taskOf({ ledger, placing }: Fleet, rank: number, pick: number, nth: number): TaskPlacement {
  const node = placing.ids[ledger.slot[pick]!]!;
  const { cpuMilli, memoryMib, count, milli: deviceMilli } = ledger.fits[pick]!;
  const at = ledger.devicesAt[pick]! + nth * count;
  const devices = deviceList(ledger.devices, at, at + count);
  return { rank, group: ledger.group[pick]!, node, cpuMilli, memoryMib, devices, deviceMilli };
}

/** Equal lists of few devices are one list: a plan of very many small jobs is mostly such. */
const noDevices: readonly number[] = [];
const single: (readonly number[])[] = Array.from({ length: 64 }, (_, i) => [i]);

function deviceList(devices: Int32Array, from: number, to: number): readonly number[] {
  if (from === to) return noDevices;
  return to === from + 1 ? (single[devices[from]!] ?? [devices[from]!]) : [...devices.subarray(from, to)];
}

function generations(fleet: Fleet, from: number, to: number): readonly (readonly [NodeId, number])[] {
  const { ledger } = fleet;
  if (to === from + 1) return fleet.placing.stampsOf(ledger.slot[from]!);
  const nodes: (readonly [NodeId, number])[] = [];
  for (let pick = from; pick < to; pick++)
    if (ledger.first[pick] === 1) nodes.push(fleet.placing.stampsOf(ledger.slot[pick]!)[0]!);
  return nodes.sort((a, b) => compareText(a[0], b[0]));
}
