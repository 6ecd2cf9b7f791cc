// Runs of which each alone, by ending, would let a job start. There may be very many runs, so those whose known end is soonest
// are tried first, trying ends with the steps, and runs that cannot help are told apart without trying: they are on nodes
// that the job cannot use, or too small for it and for those of its own kind before it.
import {
  type Ends,
  explainBound,
  type HelpfulEnd,
  type LiveRun,
  taskCount,
  wholeDevice,
} from '@muster/model';
import type { Fleet } from './fleet.ts';
import { type ClassFit, tasksIn } from './match.ts';
import { amountRoom, deviceRoom, isClosed } from './node-room.ts';
import { isFull } from './pool.ts';
import { isGreedy, type Shape } from './shape.ts';
import { never, soonestEnds } from './soonest-ends.ts';
import { type Steps, startsNow } from './starts-now.ts';
import type { State } from './state.ts';
import { supposeEnded } from './suppose.ts';
import { fitsNow } from './verdict.ts';

/** More are counted, not listed. */
const listedMax = 5;
/** Of very many runs only so many are looked at, the soonest. */
const triedMax = explainBound.runs;
/** What it takes to suppose that a run has ended, and to put it back, beside the walk. */
const endSteps = 100;

export function helpfulEnds(state: State, job: number, steps: Steps): Ends {
  const { queue, jobs, table } = state;
  const could = helps(state, job);
  const found: HelpfulEnd[] = [];
  let count = 0;
  let tried = 0;
  for (const { slot, endMs } of soonestEnds(state, could, triedMax + 1)) {
    if (tried++ === triedMax) steps.ranOut = true;
    if (steps.ranOut || !steps.take(endSteps)) break;
    const run = table.live[slot]!;
    const putBack = supposeEnded(state, run);
    const started = startsNow(state, job, steps);
    putBack();
    // An end that must be helped by stopping others is no help by itself.
    if (started?.victims !== 0) continue;
    count++;
    if (found.length === listedMax) continue;
    const { project } = queue.entryOf(jobs.slotOf(run.job)).lane;
    found.push({
      job: run.job,
      project: project.path,
      run: run.run,
      endMs: endMs === never ? null : endMs,
    });
  }
  return { count, runs: found };
}

/** Says of a run that its end could help; what it refuses could not. */
function helps(state: State, job: number): (run: number) => boolean {
  const { fleets, queue, jobs, table } = state;
  const { live } = fleets;
  // Where as many members of its array are out as may be, one of those must come back.
  const pool = jobs.poolOf(job);
  if (pool && isFull(pool)) return (run) => jobs.poolOf(table.job[run]!) === pool;
  const { shape } = queue.entryOf(job).lane;
  const lacking = tasksLacking(state, job);
  const lacks = Math.max(lacking, shape.blocked === null && fitsNow(fleets, shape) ? 0 : 1);
  if (lacks === 0) return () => true;
  const fitsOf = fitsByClass(shape);
  const holds = fitsOf.map((fits) => Math.max(...fits.map(({ tasksMax }) => tasksMax)));
  // What is lacking is lacking whatever domains have left: other nodes have been counted as if that did not matter.
  const shared = lacking > 0 ? () => 0 : sharedRoom(live, shape);
  return (run) => {
    const { tasks } = table.live[run]!;
    const own = shared(tasks);
    let empty = own;
    for (let link = table.firstLink[run]!; link >= 0; link = table.linkOfRun[link]!)
      empty += holds[live.classOf[table.linkNode[link]!]!] ?? 0;
    if (empty < lacks) return false;
    let room = own;
    for (let link = table.firstLink[run]!; link >= 0 && room < lacks; link = table.linkOfRun[link]!) {
      const node = table.linkNode[link]!;
      room += roomAfter(live, node, fitsOf[live.classOf[node]!] ?? [], tasks);
    }
    return room >= lacks;
  };
}

/** For how many tasks there is no room now, of the job and of those of its own entry: they ask the same and are served first. */
function tasksLacking({ fleets, queue, jobs }: State, job: number): number {
  const entry = queue.entryOf(job);
  const { shape } = entry.lane;
  if (isGreedy(shape) || shape.combinations.length > 1) return 0;
  let before = queue.isStarved(job) ? 0 : entry.jobs.rank(job);
  // Members of an array may have to step aside for others of it.
  for (const { size, again } of jobs.pools.values()) if (size.parallel !== null) before -= again.size + 1;
  const wanted = (Math.max(0, before) + 1) * taskCount(shape.demand);
  return wanted - freeRoom(fleets.live, shape, wanted);
}

/** Tasks of its only group that all nodes hold now, no more than anybody asks for. */
function freeRoom(fleet: Fleet, shape: Shape, most: number): number {
  let room = 0;
  for (const fit of shape.groups[0]!.options[shape.combinations[0]![0]!]!.fits) {
    const { index } = fleet.byClass[fit.classId]!;
    for (let p = index.first(); p >= 0 && room < most; p = index.next(p)) {
      const slot = index.at(p);
      if (!isClosed(fleet, shape, slot, false)) room += amountRoom(fleet, slot, fit);
    }
  }
  return Math.min(room, most);
}

/** What a task of any group takes on a node of each class. */
function fitsByClass({ groups }: Shape): ClassFit[][] {
  const byClass: ClassFit[][] = [];
  for (const { options } of groups)
    for (const { fits } of options)
      for (const fit of fits) {
        const known = byClass[fit.classId];
        if (known) known.push(fit);
        else byClass[fit.classId] = [fit];
      }
  return byClass;
}

/** No fewer tasks than the node holds once these have ended, wherever they are: what is free now, and all they give back. */
function roomAfter(fleet: Fleet, node: number, fits: readonly ClassFit[], tasks: LiveRun['tasks']): number {
  if (fits.length === 0) return 0;
  let cpuMilli = fleet.freeCpu[node]!;
  let memoryMib = fleet.freeMemory[node]!;
  let devices = 0;
  for (const task of tasks) {
    cpuMilli += task.cpuMilli;
    memoryMib += task.memoryMib;
    devices += task.devices.length;
  }
  let most = 0;
  for (const fit of fits) {
    const gained = fit.count === 0 ? 0 : Math.ceil(devices / fit.count) * Math.floor(wholeDevice / fit.milli);
    const room = Math.min(
      fit.tasksMax,
      deviceRoom(fleet, node, fit) + gained,
      tasksIn(cpuMilli, fit.cpuMilli),
      tasksIn(memoryMib, fit.memoryMib),
    );
    most = Math.max(most, room);
  }
  return most;
}

/**
 * What a run gives back of the resources of its domains may let other nodes of them take tasks: no more than it is worth in
 * tasks, and one for what was left before.
 */
function sharedRoom({ resources }: Fleet, { groups }: Shape): (tasks: LiveRun['tasks']) => number {
  const fits = groups.flatMap(({ options }) => options.flatMap((option) => option.fits));
  const limits = resources.list.flatMap(({ perTask, perDevice }, r) => {
    const need = Math.min(...fits.map((fit) => fit.needs[r]!).filter((each) => each > 0));
    const device = Math.max(0, ...Object.values(perDevice));
    return Number.isFinite(need) ? [{ need, task: perTask * wholeDevice, device }] : [];
  });
  if (limits.length === 0) return () => 0;
  return (tasks) => {
    let room = 0;
    for (const { need, task, device } of limits) {
      let freed = 0;
      for (const { devices, deviceMilli } of tasks) freed += task + devices.length * deviceMilli * device;
      room += Math.floor(freed / need) + tasks.length;
    }
    return room;
  };
}
