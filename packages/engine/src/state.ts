// Everything the engine remembers. Logical state is what the events said (jobs, nodes, runs, policy); the rest (index,
// blocked shapes, what was told, the clock's last reading) is derived from it or a cache, and no part of the state hash.
import {
  type EngineRows,
  invariant,
  type LiveRun,
  type Policy,
  type RunFacts,
  type RunId,
} from '@muster/model';
import { ClassTable } from './classes.ts';
import { Fleet } from './fleet.ts';
import { ForkMap } from './fork-map.ts';
import { JobTable } from './jobs.ts';
import { releasePort, takePort } from './ports.ts';
import { Queue } from './queue.ts';
import { Fleets } from './verdict.ts';

export interface State {
  sequence: number;
  policyVersion: number;
  policy: Policy;
  readonly fleets: Fleets;
  readonly jobs: JobTable;
  readonly queue: Queue;
  readonly runs: ForkMap<RunId, LiveRun>;
  /** The latest time seen by `decide`; a job once due stays due. */
  clockMs: number;
  /** Classes of which a node changed, or on which capacity was given back, since the last cycle. */
  readonly freed: Set<number>;
  /** Set when capacity was taken or given back since the last cycle. */
  touched: boolean;
  /** Set when a node changed since the last cycle: what was impossible may be so for another reason. */
  nodesChanged: boolean;
  /** Set when every shape is to be looked at again. */
  allChanged: boolean;
}

export function emptyState(rows: Pick<EngineRows, 'sequence' | 'policy' | 'policyVersion'>): State {
  const jobs = new JobTable();
  return {
    sequence: rows.sequence,
    policyVersion: rows.policyVersion,
    policy: rows.policy,
    fleets: new Fleets(new Fleet(new ClassTable(rows.policy), rows.policy.topology)),
    jobs,
    queue: new Queue(jobs, rows.policy),
    runs: new ForkMap(),
    clockMs: 0,
    freed: new Set(),
    touched: false,
    nodesChanged: true,
    allChanged: true,
  };
}

export function copyState(state: State): State {
  const jobs = state.jobs.copy();
  const { live } = state.fleets;
  return {
    ...state,
    fleets: new Fleets(live.copy(live.classes.copy())),
    jobs,
    queue: state.queue.copy(jobs),
    runs: state.runs.fork(),
    freed: new Set(state.freed),
  };
}

/** Drops everything that a state loaded from the same rows would not have: what was told, what was tried in vain. */
export function forget(state: State): void {
  state.queue.forget();
  state.freed.clear();
  state.touched = true;
  state.nodesChanged = true;
  state.allChanged = true;
}

/** A run takes what its tasks say. `strict` refuses more than is free; rows may hold more after an inventory shrank. */
export function startRun(state: State, run: LiveRun, strict: boolean): void {
  invariant(!state.runs.has(run.run), `run ${run.run} is planned twice`);
  const fleet = state.fleets.live;
  state.runs.set(run.run, run);
  state.touched = true;
  const seen = new Set<number>();
  for (const task of run.tasks) {
    const slot = fleet.slotOf(task.node);
    const position = fleet.begin(slot);
    if (!seen.has(slot)) fleet.enterRun(slot, run.exclusive);
    if (strict) {
      const fits = fleet.freeCpu[slot]! >= task.cpuMilli && fleet.freeMemory[slot]! >= task.memoryMib;
      const count = fleet.facts[slot]!.inventory.devices.length;
      const real = task.devices.every((index) => index < count);
      invariant(fits && real, `run ${run.run} takes more of ${task.node} than is free`);
    }
    fleet.changeTask(1, slot, task, task.devices, 0, task.devices.length, task.deviceMilli);
    fleet.end(slot, position);
    seen.add(slot);
  }
  const first = run.tasks.find((task) => task.rank === 0);
  invariant(first, `run ${run.run} has no rank 0`);
  takePort(fleet.ports[fleet.slotOf(first.node)]!, run.port);
}

/** A run as it is when its plan was committed. */
export function plannedRun(facts: RunFacts): LiveRun {
  return { ...facts, startedMs: null, checkpointMs: null, stopping: false };
}

/** Something happened to a run that changes nothing of what it holds. */
export function changeRun(
  state: State,
  id: RunId,
  change: Partial<Pick<LiveRun, 'startedMs' | 'checkpointMs' | 'stopping'>>,
): void {
  const run = state.runs.get(id);
  invariant(run, `unknown run ${id} changed`);
  state.runs.set(id, { ...run, ...change });
}

/** Everything the run held is free again. */
export function endRun(state: State, id: RunId): void {
  const run = state.runs.get(id);
  invariant(run, `unknown run ${id} ended`);
  const fleet = state.fleets.live;
  state.runs.delete(id);
  state.touched = true;
  const first = run.tasks.find((task) => task.rank === 0)!;
  releasePort(fleet.ports[fleet.slotOf(first.node)]!, run.port);
  const slots = new Set<number>();
  for (const task of run.tasks) {
    const slot = fleet.slotOf(task.node);
    const position = fleet.begin(slot);
    fleet.changeTask(-1, slot, task, task.devices, 0, task.devices.length, task.deviceMilli);
    fleet.end(slot, position);
    slots.add(slot);
  }
  // What it used of a rack's power may let a node of any class in that rack take work.
  if (fleet.resources.list.length > 0) state.allChanged = true;
  for (const slot of slots) {
    state.freed.add(fleet.classOf[slot]!);
    fleet.leaveRun(slot);
  }
}
