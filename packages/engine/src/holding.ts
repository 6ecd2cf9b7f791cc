// What a run, a job placed in this walk or a reservation holds until it ends: places in the fleet and use of its project.
// `changeHolding` lets it go and takes it again, to see the fleet as it will be; whoever does so undoes it in reverse.
import type { LiveRun } from '@muster/model';
import type { Fleet } from './fleet.ts';
import type { Placement } from './ledger.ts';
import type { Placed } from './placed-jobs.ts';
import { releasePort, takePort } from './ports.ts';
import type { Project } from './projects.ts';
import type { Ask } from './resource-keys.ts';
import type { State } from './state.ts';

export interface HeldTask {
  readonly slot: number;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly devices: readonly number[];
  readonly deviceMilli: number;
}

export interface Holding {
  readonly endMs: number;
  /** Its end rests on a tier's default duration; it has outlived its duration. */
  readonly assumed: boolean;
  readonly overdue: boolean;
  readonly exclusive: boolean;
  readonly tasks: readonly HeldTask[];
  /** Where its rendezvous port is; -1 for a part of it that has none. */
  readonly portSlot: number;
  readonly port: number;
  readonly project: Project;
  readonly user: string;
  readonly uses: Ask;
}

/** Lets go (-1) or takes (1) all of it. */
export function changeHolding(state: State, holding: Holding, sign: 1 | -1): void {
  const fleet = state.fleets.live;
  const { tasks, exclusive, project, user, uses, portSlot, port } = holding;
  for (const task of tasks) {
    const position = fleet.begin(task.slot);
    fleet.changeTask(sign, task.slot, task, task.devices, 0, task.devices.length, task.deviceMilli);
    fleet.end(task.slot, position);
  }
  for (const slot of slotsIn(holding)) fleet.changeRuns(sign, slot, exclusive);
  if (portSlot >= 0) {
    if (sign === 1) takePort(fleet.ports[portSlot]!, port);
    else releasePort(fleet.ports[portSlot]!, port);
  }
  state.projects.take(project, user, uses, sign);
}

/** Its nodes, each once. */
export function slotsIn({ tasks }: Pick<Holding, 'tasks'>): Iterable<number> {
  return tasks.length === 1 ? [tasks[0]!.slot] : new Set(tasks.map(({ slot }) => slot));
}

type End = Pick<Holding, 'endMs' | 'assumed' | 'overdue'>;

export function holdingOfRun(state: State, run: LiveRun, end: End): Holding {
  const { fleets, queue, jobs, projects } = state;
  const { project, user } = queue.entryOf(jobs.slotOf(run.job)).lane;
  const tasks = run.tasks.map((task) => ({ ...task, slot: fleets.live.slotOf(task.node) }));
  const portSlot = tasks.find(({ rank }) => rank === 0)!.slot;
  const { exclusive, port } = run;
  return { ...end, exclusive, tasks, portSlot, port, project, user, uses: projects.keys.ask(run.uses) };
}

/** Of a placement that is taken in the fleet now. */
export function holdingOfPlacement(
  state: State,
  job: number,
  placement: Placement,
  uses: Ask,
  end: End,
): Holding {
  const { fleets, queue } = state;
  const { project, user, shape } = queue.entryOf(job).lane;
  const { portSlot, port } = placement;
  const tasks = tasksOf(fleets.live, placement);
  return { ...end, exclusive: shape.demand.exclusive, tasks, portSlot, port, project, user, uses };
}

/** Of a job that a walk has placed. */
export function holdingOfPlaced(state: State, { job, placement, uses, endMs }: Placed): Holding {
  const { assumed } = state.queue.entryOf(job).duration;
  return holdingOfPlacement(state, job, placement, uses, { endMs, assumed, overdue: false });
}

function tasksOf({ ledger }: Fleet, { from, to }: Placement): HeldTask[] {
  const tasks: HeldTask[] = [];
  for (let pick = from; pick < to; pick++) {
    const slot = ledger.slot[pick]!;
    const { cpuMilli, memoryMib, count, milli: deviceMilli } = ledger.fits[pick]!;
    for (let i = 0, at = ledger.devicesAt[pick]!; i < ledger.tasks[pick]!; i++, at += count) {
      const devices = [...ledger.devices.subarray(at, at + count)];
      tasks.push({ slot, cpuMilli, memoryMib, devices, deviceMilli });
    }
  }
  return tasks;
}
