// Runs of which each alone, by ending, would let a job start. There may be very many runs, so those whose known end is soonest
// are tried first, trying ends with the steps, and runs that cannot help are told apart without trying: they are on nodes
// that the job cannot use, or too small for it and for those of its own kind before it.
import {
  type Ends,
  type HelpfulEnd,
  type LiveRun,
  noEnds,
  type RunId,
  taskCount,
  tierNamed,
  wholeDevice,
} from '@muster/model';
import type { Fleet } from './fleet.ts';
import { type ClassFit, tasksIn } from './match.ts';
import { amountRoom, deviceRoom, isClosed } from './node-room.ts';
import { compareText } from './order.ts';
import { isFull } from './pool.ts';
import { isGreedy, type Shape } from './shape.ts';
import { type Steps, startsNow } from './starts-now.ts';
import type { State } from './state.ts';
import { supposeEnded } from './suppose.ts';
import { fitsNow } from './verdict.ts';

/** More are counted, not listed. */
const listedMax = 5;
/** Of very many runs only so many are looked at, the soonest. */
const triedMax = 1024;
export const never = Number.MAX_SAFE_INTEGER;

interface Known {
  readonly run: LiveRun;
  readonly endMs: number;
}

export function helpfulEnds(state: State, job: number, steps: Steps): Ends {
  const { soonest, left } = soonestEnds(state, helps(state, job));
  if (soonest.length === 0) return noEnds;
  const { queue, jobs } = state;
  const found: HelpfulEnd[] = [];
  let count = 0;
  for (const { run, endMs } of soonest) {
    const putBack = supposeEnded(state, run);
    const started = startsNow(state, job, steps);
    putBack();
    if (steps.ranOut) break;
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
  if (left) steps.ranOut = true;
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
  const needs = shape.blocked === null && fitsNow(fleets, shape) ? 0 : 1;
  const lacks = Math.max(needs, tasksLacking(state, job));
  if (lacks === 0) return () => true;
  const fitsOf = fitsByClass(shape);
  const holds = fitsOf.map((fits) => Math.max(...fits.map(({ tasksMax }) => tasksMax)));
  const shared = sharedRoom(live, shape);
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

/**
 * The soonest of the runs that could help, by known end, then by id; and whether there are more. There may be a hundred thousand,
 * and many of them may end at once: of those only the first by id are kept while they are gathered.
 */
function soonestEnds(state: State, could: (run: number) => boolean): { soonest: Known[]; left: boolean } {
  const { live } = state.table;
  const endMs = endsByEntry(state);
  const slots = new Int32Array(live.length);
  const ends = new Float64Array(live.length);
  let found = 0;
  for (let slot = 0; slot < live.length; slot++) {
    if (!live[slot] || !could(slot)) continue;
    slots[found] = slot;
    ends[found++] = endMs(slot);
  }
  const left = found > triedMax;
  const latest = left ? ends.slice(0, found).sort()[triedMax - 1]! : Number.POSITIVE_INFINITY;
  const soonest: Known[] = [];
  const last = new FirstById();
  for (let i = 0; i < found; i++) {
    const known = { run: live[slots[i]!]!, endMs: ends[i]! };
    if (known.endMs < latest) soonest.push(known);
    else if (known.endMs === latest) last.offer(known);
  }
  soonest.push(...last.first(triedMax - soonest.length));
  return { soonest: soonest.sort(compareEnds), left };
}

/** Of very many runs the first by id, no more than anybody asks for. */
class FirstById {
  #kept: Known[] = [];
  #worst: RunId | null = null;

  offer(known: Known): void {
    if (this.#worst !== null && compareText(known.run.run, this.#worst) > 0) return;
    this.#kept.push(known);
    if (this.#kept.length === 2 * triedMax) this.first(triedMax);
  }

  first(count: number): readonly Known[] {
    this.#kept.sort(compareEnds);
    if (this.#kept.length > triedMax) this.#kept.length = triedMax;
    if (this.#kept.length === triedMax) this.#worst = this.#kept.at(-1)!.run.run;
    return this.#kept.slice(0, count);
  }
}

function compareEnds(a: Known, b: Known): number {
  return a.endMs - b.endMs || compareText(a.run.run, b.run.run);
}

/** By its time limit or its tier's default; `never` before it has started. */
export function expectedEndMs({ queue, policy, table }: State, slot: number, { startedMs }: LiveRun): number {
  if (startedMs === null) return never;
  const { durationMs, tier } = queue.entryOf(table.job[slot]!).facts;
  const lengthMs = durationMs ?? tierNamed(policy, tier)?.durationMs;
  return lengthMs === undefined ? never : startedMs + lengthMs;
}

/** The same for very many runs: how long they last is looked up once an entry. */
function endsByEntry(state: State): (slot: number) => number {
  const { table, jobs } = state;
  const lengths: (number | undefined)[] = [];
  return (slot) => {
    const startedMs = table.startedMs[slot]!;
    if (startedMs < 0) return never;
    const entry = jobs.entry[table.job[slot]!]!;
    let lengthMs = lengths[entry];
    if (lengthMs === undefined) {
      const endMs = expectedEndMs(state, slot, table.live[slot]!);
      lengthMs = endMs === never ? Number.POSITIVE_INFINITY : endMs - startedMs;
      lengths[entry] = lengthMs;
    }
    return Math.min(never, startedMs + lengthMs);
  };
}
