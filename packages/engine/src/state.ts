// Everything the engine remembers. Logical state is what the events said (jobs, nodes, runs, policy); the rest (index,
// blocked shapes, what was told, the clock's last reading) is derived from it or a cache, and no part of the state hash.
import {
  type Claim,
  type EngineRows,
  invariant,
  type LiveRun,
  type Policy,
  type RunFacts,
  type RunId,
  tierNamed,
} from '@muster/model';
import { Claims } from './claims.ts';
import { ClassTable } from './classes.ts';
import { hourlyRate } from './damage.ts';
import type { Entry } from './entry.ts';
import { Fleet } from './fleet.ts';
import { ForkMap } from './fork-map.ts';
import { held, JobTable, spent } from './jobs.ts';
import { ReadyShapes } from './plan-ready.ts';
import { isFull, type Pool } from './pool.ts';
import { releasePort, takePort } from './ports.ts';
import { type Project, Projects } from './projects.ts';
import { Queue } from './queue.ts';
import type { Ask } from './resource-keys.ts';
import { mightPreempt } from './rights.ts';
import { RunEnds } from './run-ends.ts';
import { type RunOwner, RunTable } from './run-table.ts';
import { VainSearches } from './vain-searches.ts';
import { Fleets } from './verdict.ts';
import { never } from './victims.ts';

export interface State {
  sequence: number;
  policyVersion: number;
  policy: Policy;
  readonly fleets: Fleets;
  readonly jobs: JobTable;
  readonly queue: Queue;
  readonly projects: Projects;
  readonly runs: ForkMap<RunId, LiveRun>;
  /** The same runs, as the search for victims sees them. */
  readonly table: RunTable;
  readonly claims: Claims;
  /** Ids of entries that may preempt and found no victims; and when they might, though nothing else changes. */
  readonly wanting: Set<number>;
  againMs: number;
  /** Projects and keys (`limitOf`) of which more use would have given them more victims. */
  readonly limits: Set<number>;
  /** Set when the last plan stopped runs for somebody: should that not be committed, others look for them. */
  claiming: boolean;
  /** Ids of entries that had victims in a plan and got none, or wait for ends that are near: they look when anything moves. */
  readonly unserved: Set<number>;
  readonly vain: VainSearches;
  readonly ends: RunEnds;
  readonly ready: ReadyShapes;
  /** The latest time seen by `decide`; a job once due stays due. */
  clockMs: number;
  /** Projects with ceilings that use less than before the last cycle, and those that use more than at the last plan. */
  readonly eased: Set<Project>;
  readonly tightened: Set<Project>;
  /** Set when a ceiling is another than at the last plan: what could never start may have changed. */
  ceilingsMoved: boolean;
  /** Classes of which a node changed, or on which capacity was given back, since the last cycle. */
  readonly freed: Set<number>;
  /** Set when capacity was taken or given back since the last cycle. */
  touched: boolean;
  /** Set when a node changed since the last cycle: what was impossible may be so for another reason. */
  nodesChanged: boolean;
  /** Set when every shape is to be looked at again. */
  allChanged: boolean;
  /** The last event when the queue was last looked at. */
  lookedAt: number;
  /** Set when anything has moved since the last decision, as far as anybody asked. */
  movedOn: boolean;
  /** Set when somebody waited after the last decision who looked for victims, or would if there were any. */
  looking: boolean;
  /** Set when somebody found only room that is kept for another job. */
  keeps: boolean;
}

export function emptyState(rows: Pick<EngineRows, 'sequence' | 'policy' | 'policyVersion'>): State {
  const jobs = new JobTable();
  const projects = Projects.of(rows.policy);
  const queue = new Queue(jobs, projects, rows.policy);
  const fleet = new Fleet(new ClassTable(rows.policy), rows.policy.topology);
  fleet.mix = queue.mix;
  fleet.firstFit = rows.policy.backfill.mode === 'conservative';
  const table = new RunTable();
  return {
    sequence: rows.sequence,
    policyVersion: rows.policyVersion,
    policy: rows.policy,
    fleets: new Fleets(fleet),
    jobs,
    queue,
    projects,
    runs: new ForkMap(),
    table,
    claims: new Claims(),
    wanting: new Set(),
    limits: new Set(),
    againMs: never,
    claiming: false,
    unserved: new Set(),
    vain: new VainSearches(),
    ends: new RunEnds(table),
    ready: new ReadyShapes(),
    clockMs: 0,
    eased: new Set(),
    tightened: new Set(),
    freed: new Set(),
    touched: false,
    ceilingsMoved: true,
    nodesChanged: true,
    allChanged: true,
    lookedAt: -1,
    movedOn: false,
    looking: false,
    keeps: false,
  };
}

export function copyState(state: State): State {
  const jobs = state.jobs.copy();
  const projects = state.projects.copy();
  const queue = state.queue.copy(jobs, projects);
  const table = state.table.copy();
  const { live } = state.fleets;
  const fleet = live.copy(live.classes.copy());
  fleet.mix = queue.mix;
  return {
    ...state,
    fleets: new Fleets(fleet),
    jobs,
    queue,
    projects,
    runs: state.runs.fork(),
    table,
    claims: state.claims.copy(),
    wanting: new Set(state.wanting),
    limits: new Set(state.limits),
    unserved: new Set(state.unserved),
    vain: new VainSearches(),
    ends: state.ends.copy(table),
    ready: new ReadyShapes(),
    eased: twins(state.eased, projects),
    tightened: twins(state.tightened, projects),
    freed: new Set(state.freed),
  };
}

function twins(of: ReadonlySet<Project>, projects: Projects): Set<Project> {
  return new Set([...of].map((project) => projects.all[project.id]!));
}

/** Drops everything that a state loaded from the same rows would not have: what was told, what was tried in vain. */
export function forget(state: State): void {
  state.queue.forget();
  state.freed.clear();
  state.eased.clear();
  state.touched = true;
  state.ceilingsMoved = true;
  state.nodesChanged = true;
  state.allChanged = true;
  state.wanting.clear();
  state.limits.clear();
  state.againMs = never;
  state.claiming = false;
  state.unserved.clear();
  state.vain.clear();
  state.lookedAt = -1;
  state.movedOn = false;
  state.looking = false;
  state.keeps = false;
}

/**
 * A run takes what its tasks say. One planned now takes no more than is free; one from rows (`plannedMs` is null) may hold
 * more, after an inventory shrank, and is in the past use of its project already.
 */
export function startRun(state: State, run: LiveRun, plannedMs: number | null): void {
  invariant(!state.runs.has(run.run), `run ${run.run} is planned twice`);
  const fleet = state.fleets.live;
  state.runs.set(run.run, run);
  state.touched = true;
  const job = state.jobs.slotOf(run.job);
  const entry = state.queue.entryOf(job);
  const { project, user } = entry.lane;
  const ask = state.projects.keys.held(run.uses);
  if (plannedMs !== null) state.projects.remember(project, ask, plannedMs);
  state.projects.take(project, user, ask, 1);
  for (let at: Project | null = project; at !== null; at = at.parent) if (at.limits) state.tightened.add(at);
  const seen = run.tasks.length > 1 ? new Set<number>() : null;
  for (const task of run.tasks) {
    const slot = fleet.slotOf(task.node);
    const position = fleet.begin(slot);
    if (!seen?.has(slot)) fleet.enterRun(slot, run.exclusive);
    if (plannedMs !== null) {
      const fits = fleet.freeCpu[slot]! >= task.cpuMilli && fleet.freeMemory[slot]! >= task.memoryMib;
      const count = fleet.facts[slot]!.inventory.devices.length;
      const real = task.devices.every((index) => index < count);
      invariant(fits && real, `run ${run.run} takes more of ${task.node} than is free`);
    }
    fleet.changeTask(1, slot, task, task.devices, 0, task.devices.length, task.deviceMilli);
    fleet.end(slot, position);
    seen?.add(slot);
  }
  const first = run.tasks.find((task) => task.rank === 0);
  invariant(first, `run ${run.run} has no rank 0`);
  takePort(fleet.ports[fleet.slotOf(first.node)]!, run.port);
  const added = state.table.add(run, ownerOf(state, run, job), (node) => fleet.slotOf(node));
  state.ends.add(added, entry.duration, state.clockMs);
  state.table.tellNodes(added, (node) => fleet.moved(node));
  if (run.stopping) state.projects.leave(project, ask, 1);
  noticeUse(state, project, ask);
  noticeVictim(state, run, entry);
}

/** What an hour of the run costs, at the price of its tier. */
export function rateOf({ policy, queue }: State, run: LiveRun, job: number): number {
  const tier = tierNamed(policy, queue.entryOf(job).facts.tier);
  return hourlyRate(run, policy.prices, tier?.priceMilli ?? 1000);
}

function ownerOf(state: State, run: LiveRun, job: number): RunOwner {
  const { lane, facts } = state.queue.entryOf(job);
  const { tier, restoreMs = 0 } = facts;
  const durationMs = facts.durationMs ?? never;
  const uses = state.projects.keys.held(run.uses);
  const rate = rateOf(state, run, job);
  return { job, project: lane.project.id, tier, uses, rate, durationMs, restoreMs };
}

/** The job waits. */
export function enqueue(state: State, job: number): void {
  const pool = state.jobs.poolOf(job);
  if (pool && standsAside(state, job, pool)) return;
  state.queue.queue(job, state.clockMs);
  lookForVictims(state, job);
}

/** A job came into line: one that may preempt and for which nobody looked in vain yet is looked at, though there is no room. */
export function lookForVictims(state: State, job: number): void {
  const { queue, jobs, wanting, policy } = state;
  const entry = queue.entryOf(job);
  const { lane } = entry;
  if ((lane.shape.blocked === null && lane.gated === null) || !mightPreempt(state, job)) return;
  // One that is cooling does not speak for others.
  const failedMs = lane.waiting > 0 ? jobs.failedMs(queue.firstOf(lane)) : null;
  const cools = failedMs !== null && failedMs + policy.preemption.coolingMs > state.clockMs;
  // Nor does one that has saved more of its work: it is expected to be longer, and stops fewer.
  const mayMore = policy.runTimes.stop === 'longer' && queue.leastSaved(entry) === job;
  if (!cools && !mayMore && wanting.has(entry.id)) return;
  if (lane.gated !== null) queue.letOut(lane);
  queue.reopen(lane.shape);
}

/** Whether the array it is, or is a member of, keeps it out of line. */
function standsAside({ jobs, queue }: State, job: number, pool: Pool): boolean {
  if (jobs.heldBy(pool.slot) !== null) queue.unqueue(job, held);
  else if (pool.slot === job && pool.count === 0) queue.unqueue(job, spent);
  else if (isFull(pool)) queue.park(job);
  else return false;
  return true;
}

/** The job has its places; they are nobody else's, and it no longer stands in line. */
export function holdClaim(state: State, job: number, claim: Claim): void {
  const { project, user, shape } = state.queue.entryOf(job).lane;
  state.queue.unqueue(job);
  state.claims.add(state.fleets.live, { job: state.jobs.ids[job]!, demand: shape.demand }, claim, state.runs);
  const ask = state.projects.keys.ask(claim.uses);
  state.projects.keep(project, user, ask, 1);
  noticeUse(state, project, ask);
  for (let at: Project | null = project; at !== null; at = at.parent) if (at.limits) state.tightened.add(at);
  state.touched = true;
}

/** What it claimed is free for all. The caller says where the job stands then. */
export function dropClaim(state: State, job: number): void {
  const own = state.claims.byJob.get(state.jobs.ids[job]!);
  if (!own) return;
  const fleet = state.fleets.live;
  const { project, user } = state.queue.entryOf(job).lane;
  for (const slot of state.claims.remove(fleet, own.job)) state.freed.add(fleet.classOf[slot]!);
  state.projects.keep(project, user, state.projects.keys.ask(own.claim.uses), -1);
  for (let at: Project | null = project; at !== null; at = at.parent) if (at.limits) state.eased.add(at);
  if (fleet.resources.list.length > 0) state.allChanged = true;
  // With less use somebody may be within a guarantee again.
  if (state.looking && state.policy.quotas.length > 0) state.againMs = 0;
  state.touched = true;
}

/** Whether one of the entry looked for victims in vain, and nothing happened since that might help it. */
export function lookedInVain(state: State, entry: number): boolean {
  if (state.claiming || state.againMs <= state.clockMs) return false;
  return state.wanting.has(entry) && !(state.movedOn && state.unserved.has(entry));
}

export function limitOf({ id }: Project, key: number): number {
  return id * 0x1_0000 + key;
}

/**
 * Use has grown: a project that borrows from here on has something to give back, one that had too little has more, and so has one
 * whose own jobs use what its children are guaranteed. Whoever looks for victims looks again.
 */
function noticeUse(state: State, project: Project, { keys, amounts }: Ask): void {
  if (!state.looking || state.policy.quotas.length === 0) return;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    const own = project.ownUse(key) + project.ownKept(key);
    if (project.children.length > 0 && own <= amounts[i]!) state.againMs = 0;
    for (let at: Project = project; at.parent !== null; at = at.parent) {
      const guaranteed = Math.max(0, at.guaranteed(key));
      const after = at.use(key) - at.leaving(key);
      if (after <= guaranteed) continue;
      if (after - amounts[i]! <= guaranteed || state.limits.has(limitOf(at, key))) state.againMs = 0;
    }
  }
}

/** A run that may be stopped from some moment on: whoever looks for victims looks again then. */
function noticeVictim(state: State, run: LiveRun, { facts }: Entry): void {
  if (run.stopping || !state.looking) return;
  const tier = tierNamed(state.policy, facts.tier);
  const shieldMs = tier?.minRunMs ?? 0;
  if (shieldMs > 0 && run.startedMs === null) return;
  const fromMs = shieldMs === 0 ? 0 : run.startedMs! + shieldMs;
  state.againMs = Math.min(state.againMs, fromMs);
  state.vain.until(fromMs);
}

/** A run as it is when its plan was committed. */
export function plannedRun(facts: RunFacts, plannedMs: number): LiveRun {
  return { ...facts, plannedMs, startedMs: null, checkpointMs: null, stopping: false };
}

/** Something happened to a run that changes nothing of what it holds. */
export function changeRun(
  state: State,
  id: RunId,
  change: Partial<Pick<LiveRun, 'startedMs' | 'checkpointMs' | 'stopping'>>,
): void {
  const { table } = state;
  const slot = table.slotOf(id);
  if (slot < 0) invariant(false, `unknown run ${id} changed`);
  const run = table.live[slot]!;
  const changed = { ...run, ...change };
  state.runs.set(id, changed);
  table.update(slot, changed);
  const entry = state.queue.entryOf(table.job[slot]!);
  if (changed.stopping && !run.stopping) {
    state.projects.leave(entry.lane.project, state.projects.keys.held(run.uses), 1);
    // Who is on the way out is waited for, or leaves its project with less to give.
    if (state.looking) state.againMs = 0;
  }
  if (change.checkpointMs === undefined || run.checkpointMs === null) noticeVictim(state, changed, entry);
  if (change.checkpointMs === undefined) retime(state, slot, entry);
}

/** When it is expected to end is another moment. */
function retime({ ends, table, fleets, clockMs }: State, run: number, { duration }: Entry): void {
  ends.change(run, duration, clockMs);
  table.tellNodes(run, (node) => fleets.live.moved(node));
}

/** Durations are others by a new policy. */
export function retimeRuns(state: State): void {
  const { runs, table, queue } = state;
  for (const id of runs.keys()) {
    const run = table.slotOf(id);
    retime(state, run, queue.entryOf(table.job[run]!));
  }
}

/** Everything the run held is free again. */
export function endRun(state: State, id: RunId, endedMs: number): void {
  const { table } = state;
  const ended = table.slotOf(id);
  if (ended < 0) invariant(false, `unknown run ${id} ended`);
  const run = table.live[ended]!;
  const fleet = state.fleets.live;
  state.runs.delete(id);
  state.ends.remove(ended);
  table.tellNodes(ended, (node) => fleet.moved(node));
  state.touched = true;
  const { project, user } = state.queue.entryOf(table.job[ended]!).lane;
  const ask = state.projects.keys.held(run.uses);
  state.projects.remember(project, ask, endedMs);
  state.projects.take(project, user, ask, -1);
  if (run.stopping) state.projects.leave(project, ask, -1);
  for (let at: Project | null = project; at !== null; at = at.parent) if (at.limits) state.eased.add(at);
  const first = run.tasks.find((task) => task.rank === 0)!;
  releasePort(fleet.ports[fleet.slotOf(first.node)]!, run.port);
  for (const task of run.tasks) {
    const slot = fleet.slotOf(task.node);
    const position = fleet.begin(slot);
    fleet.changeTask(-1, slot, task, task.devices, 0, task.devices.length, task.deviceMilli);
    fleet.end(slot, position);
  }
  // What it used of a rack's power may let a node of any class in that rack take work.
  if (fleet.resources.list.length > 0) state.allChanged = true;
  table.tellNodes(ended, (node) => {
    state.freed.add(fleet.classOf[node]!);
    fleet.leaveRun(node);
  });
  table.remove(ended);
  state.claims.ended(fleet, run);
  // With less use somebody may be within a guarantee again.
  if (state.looking && state.policy.quotas.length > 0) state.againMs = 0;
}

/** What every run and every claim uses, and for whom. */
export function* runUses({ runs, jobs, queue, projects, claims }: State) {
  for (const { job, claim } of claims.byJob.values()) {
    const { project, user } = queue.entryOf(jobs.slotOf(job)).lane;
    yield { project, user, ask: projects.keys.ask(claim.uses) };
  }
  for (const run of runs.values()) {
    const { project, user } = queue.entryOf(jobs.slotOf(run.job)).lane;
    yield { project, user, ask: projects.keys.ask(run.uses) };
  }
}
