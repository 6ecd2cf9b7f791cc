// One cycle's decision, in this order:
//   1. Jobs whose backoff ended join their lines; shapes that a change could have helped are opened again.
//   2. Walk the open part of the queue in order and place what fits and is within its ceilings (pass.ts), then undo it:
//      nothing is decided until the committed plan comes back as events.
//   3. For each shape of which a job did not fit, find out why on the state as it is. If it fits that state, jobs ahead
//      took the room in this plan: it is `behind`, and stays open to be judged again when the plan has come back.
//      Otherwise it is blocked with its reason, and costs nothing until something could help it. This is sound because
//      fitting is monotone for one group: what does not fit does not fit into less. Gangs of several groups, and those that
//      ask for places of the topology, are placed greedily and are not; they are tried again in every cycle that tries
//      anything.
//      A lane that is over a ceiling is gated likewise, until use goes down or the ceiling goes up.
//      An entry for which there is only room that is kept for another job (reservations.ts) waits until anything happens.
//   4. Tell each entry whose binding reason is another than it was last told.
import {
  type EntryVerdict,
  invariant,
  type NodeId,
  type OverCeiling,
  type Plan,
  type PlanUnit,
  runId,
  type TaskPlacement,
  type Uses,
} from '@muster/model';
import type { Fleet } from './fleet.ts';
import { allOver, allOverAny, isUserOver, overAt } from './gates.ts';
import { Hasher } from './hash.ts';
import { compareText } from './order.ts';
import { type Kept, type Pass, undoPass, walk } from './pass.ts';
import type { PlacedJobs } from './placed-jobs.ts';
import { type Entry, type Lane, type Queue, waitingOf } from './queue.ts';
import { type Reason, reasonOf } from './reason.ts';
import type { Ask } from './resource-keys.ts';
import { QuotaRights, TierBook } from './rights.ts';
import { preemptUnits, releaseStuck, settleClaims } from './settle.ts';
import { isGreedy, matchShape, type Shape } from './shape.ts';
import type { State } from './state.ts';
import { hashTasks, hashUses } from './state-hash.ts';
import { fitsNow, whyNot } from './verdict.ts';
import { engineVersion } from './version.ts';
import { never } from './victims.ts';

export function decide(state: State, nowMs: number): Plan {
  bringUp(state, nowMs);
  lookedAgain(state);
  const settled = settleClaims(state);
  const looked = state.queue.open.size > 0;
  const pass = walk(state, () => false, { remembers: true });
  if (looked) state.keeps = pass.kept.size > 0;
  const units = settled;
  for (let i = 0; i < pass.placed.length; i++) units.push(makeUnit(state, pass.placed, i));
  for (const unit of preemptUnits(state, pass.preemptions)) units.push(unit);
  for (const unit of releaseStuck(state)) units.push(unit);
  undoPass(state, pass);
  state.againMs = Math.min(state.againMs, pass.preemptions.againMs);
  state.vain.until(pass.preemptions.againMs);
  for (const entry of pass.preemptions.wanting) state.wanting.add(entry);
  state.claiming = pass.preemptions.claims.length > 0;
  noteUnserved(state, pass);
  const judged = judge(state, pass);
  gateOver(state, pass, judged);
  state.looking = state.wanting.size + state.vain.size + state.queue.gated > 0;
  const plan = {
    sequence: state.sequence,
    // A question may have asked about a later time; jobs that were due then are due now.
    nowMs: state.clockMs,
    policyVersion: state.policyVersion,
    engineVersion,
    units,
    verdicts: tell(state, pass, judged),
    wakeAtMs: wakeAt(state),
  };
  return { ...plan, hash: planHash(plan) };
}

/** Lines, past use, quota and open shapes as they are at this time; called before anything is decided or explained. */
export function bringUp(state: State, nowMs: number): void {
  const { queue, freed, projects, eased } = state;
  state.clockMs = Math.max(state.clockMs, nowMs);
  // Whoever found only room that is kept for another looks again when anything happened, or the order or an end moved.
  let moved = state.lookedAt !== state.sequence;
  state.lookedAt = state.sequence;
  moved = queue.promote(state.clockMs) || moved;
  state.vain.rollTo(state.clockMs);
  moved = projects.rollTo(state.clockMs) || moved;
  moved = state.ends.rollTo(state.clockMs, (slot) => state.fleets.live.moved(slot)) || moved;
  const { nodesChanged } = state;
  if (state.allChanged) queue.reopenAll();
  else if (freed.size > 0)
    reopenWhere(
      state,
      (shape) => (nodesChanged && shape.blocked?.verdict.kind === 'impossible') || usesClass(shape, freed),
    );
  if (projects.settle()) {
    state.ceilingsMoved = true;
    // The same ceiling may still be in the way, and for another reason: what waited for use to go down can be impossible now.
    for (const lane of queue.gatedLanes()) queue.letOut(lane);
  } else for (const project of eased) for (const lane of queue.gatedAt(project)) look(queue, lane);
  if (state.claiming || state.againMs <= state.clockMs) {
    for (const id of state.wanting) {
      const entry = queue.entries[id];
      if (entry) queue.reopen(entry.lane.shape);
    }
    letOutEased(state);
  }
  if (moved) lookForUnserved(state);
  state.movedOn ||= moved;
  // Greedy shapes may happen to be helped by less room elsewhere, and what a job uses may follow from the node it gets: such
  // shapes are tried whenever anything is. Where domains have countable resources every shape is greedy, because a task may
  // take more of them on one node than on another.
  const counted = state.policy.topology.resources.length > 0;
  if (state.touched || queue.mix.moved || queue.open.size > 0)
    reopenWhere(state, (shape) => counted || isGreedy(shape) || shape.stalled);
  else if (moved) reopenWhere(state, (shape) => shape.stalled);
  state.nodesChanged = false;
  state.allChanged = false;
  state.touched = false;
  queue.mix.moved = false;
  eased.clear();
  freed.clear();
}

/** Only a decision has looked; a question leaves it to the next one, whatever it opened for its answer. */
function lookedAgain(state: State): void {
  if (state.movedOn) {
    for (const id of state.unserved) state.wanting.delete(id);
    state.unserved.clear();
    state.movedOn = false;
  }
  if (!state.claiming && state.againMs > state.clockMs) return;
  state.wanting.clear();
  state.againMs = never;
  state.claiming = false;
}

/**
 * Nobody may have passed another, or the first of a lane that found nobody spoke for it: with another order they may get
 * the victims that there are. And who waits for ends that are near has to look when others take what they leave.
 */
function noteUnserved({ queue, unserved }: State, { wants, preemptions }: Pass): void {
  for (const id of preemptions.patient) unserved.add(id);
  if (wants.size === 0) return;
  const served = new Set(preemptions.claims.map(({ job }) => queue.entryOf(job).lane));
  for (const lanes of wants.values())
    for (const lane of lanes)
      if (!served.has(lane)) for (const { id } of queue.waitingIn(lane)) unserved.add(id);
}

function lookForUnserved({ queue, unserved }: State): void {
  for (const id of unserved) {
    const entry = queue.entries[id];
    if (!entry || entry.lane.waiting === 0) continue;
    if (entry.lane.gated !== null) queue.letOut(entry.lane);
    queue.reopen(entry.lane.shape);
  }
}

/** Lanes behind ceilings of projects that might be eased by victims look for them again. */
function letOutEased(state: State): void {
  const { queue } = state;
  if (queue.gated === 0 || state.table.size === 0) return;
  const rights = new QuotaRights(state, new TierBook(state));
  for (const lane of queue.gatedLanes()) {
    const entries = [...queue.waitingIn(lane)];
    if (isUserOver(lane.project, lane.user, lane.shape.ask)) continue;
    if (entries.every((entry) => rights.reach(entry) === '')) continue;
    queue.letOut(lane);
    queue.reopen(lane.shape);
  }
}

/** Lets the lane out of its gate unless the same ceiling still keeps it out. */
function look(queue: Queue, lane: Lane): void {
  if (overAt(lane.project, lane.user, lane.shape.ask) !== lane.gated?.at) queue.letOut(lane);
}

function reopenWhere(state: State, helped: (shape: Shape) => boolean): void {
  for (const shape of state.queue.shapes.all()) {
    if (shape.blocked === null && !shape.stalled) continue;
    // Before as well, because a class may have gone with its last node.
    const before = helped(shape);
    matchShape(shape, state.fleets.live.classes);
    if (before || helped(shape)) state.queue.reopen(shape);
  }
}

function usesClass(shape: Shape, classes: ReadonlySet<number>): boolean {
  return shape.groups.some((group) =>
    group.options.some((option) => option.fits.some((fit) => classes.has(fit.classId))),
  );
}

const behind = 'behind';
type Why = Reason | typeof behind;

interface Judged {
  /** Of shapes that did not fit. */
  readonly shapes: Map<Shape, Why>;
  /** Of lanes that are over a ceiling, and whether only the nodes they would get make them so. */
  readonly lanes: Map<Lane, Why>;
  /** Of entries that found only room that is kept for another job. */
  readonly entries: Map<Entry, Why>;
}

/** On the state as it is, without the plan. */
function judge(state: State, pass: Pass): Judged {
  const { queue, fleets } = state;
  const judged: Judged = { shapes: new Map(), lanes: new Map(), entries: new Map() };
  const claimed = new Set(pass.preemptions.claims.map(({ job }) => queue.entryOf(job).lane.shape));
  for (const shape of pass.failed) {
    // Should its claims not be committed, its jobs look for victims again.
    const taken = pass.placed.length + pass.preemptions.claims.length > 0;
    if (claimed.has(shape) || (taken && !pass.unfit.has(shape) && fitsNow(fleets, shape))) {
      judged.shapes.set(shape, behind);
      continue;
    }
    shape.blocked = whyNot(fleets, shape);
    queue.open.delete(shape);
    judged.shapes.set(shape, shape.blocked);
  }
  const waits = new Set<Shape>();
  const starts = new Set<Lane>();
  if (pass.over.size + pass.kept.size > 0)
    for (const job of startedJobs(pass)) starts.add(queue.entryOf(job).lane);
  for (const [lane, asks] of pass.over) {
    const { project, user, shape } = lane;
    const over = asks.map((ask) => overAt(project, user, ask));
    const [at] = over;
    // The next of a lane whose first starts is judged once that has come back.
    if (starts.has(lane) || over.includes(null) || !at) {
      judged.lanes.set(lane, behind);
      waits.add(shape);
      continue;
    }
    const reason = overReason(state, lane, asks);
    judged.lanes.set(lane, reason);
    if (asks[0] === shape.ask) queue.gate(lane, { at, reason });
  }
  const stuck = new Set([...pass.over.keys()].map(({ shape }) => shape));
  for (const { lane } of pass.kept.keys()) stuck.add(lane.shape);
  for (const shape of stuck) {
    if (waits.has(shape) || shape.blocked !== null || !queue.open.has(shape)) continue;
    // Nobody of the shape can start before something changes.
    const isOut = (lane: Lane): boolean =>
      pass.over.has(lane) ||
      (!starts.has(lane) && [...queue.waitingIn(lane)].every((entry) => pass.kept.has(entry)));
    if (![...shape.lanes].every(isOut)) continue;
    shape.stalled = true;
    queue.open.delete(shape);
  }
  for (const [entry, kept] of pass.kept) {
    const { shape, project, user } = entry.lane;
    if (shape.blocked !== null || pass.over.has(entry.lane)) continue;
    // Whoever may not pass was not asked about its ceilings; they would be in its way next.
    const over = shape.stalled ? allOver(state.projects, project, user, shape.ask) : [];
    const reason = over.length > 0 ? ceilingReason(over) : keptReason(kept);
    judged.entries.set(entry, shape.stalled ? reason : behind);
  }
  return judged;
}

/** Lanes that a change may have put over a ceiling are told so at once, whether or not there is room. */
function gateOver(state: State, pass: Pass, judged: Judged): void {
  const { queue, projects, tightened } = state;
  // Victims may make room below a ceiling: a lane with a claim in this plan is judged once that has come back, or has not.
  const claimed = new Set(pass.preemptions.claims.map(({ job }) => queue.entryOf(job).lane));
  for (const lane of suspects(state)) {
    if (!lane || lane.waiting === 0 || lane.gated !== null || claimed.has(lane)) continue;
    const { project, user, shape } = lane;
    const at = overAt(project, user, shape.ask);
    if (at === null) continue;
    const reason = ceilingReason(allOver(projects, project, user, shape.ask));
    queue.gate(lane, { at, reason });
    judged.lanes.set(lane, reason);
  }
  state.ceilingsMoved = false;
  tightened.clear();
}

function* suspects({ queue, ceilingsMoved, tightened }: State): IterableIterator<Lane | undefined> {
  if (ceilingsMoved) {
    yield* queue.lanes;
    return;
  }
  for (const project of tightened) yield* queue.lanesBelow(project);
  yield* queue.ungated;
  for (const entry of queue.fresh) if (entry.told === null) yield entry.lane;
}

/** For a lane that is over a ceiling with each of its alternatives that have room. */
export function overReason({ projects }: State, { project, user }: Lane, asks: readonly Ask[]): Reason {
  const over = allOverAny(projects, project, user, asks);
  // With another alternative what is above one ceiling alone may still be had.
  return asks.length === 1 ? ceilingReason(over) : reasonOf({ kind: 'waits', reasons: over });
}

/** Impossible when what it asks for alone is above a ceiling. */
export function ceilingReason(over: readonly OverCeiling[]): Reason {
  const never = over.filter(({ asks, ceiling }) => asks > ceiling);
  return reasonOf(
    never.length > 0
      ? { kind: 'impossible', reasons: never, nearest: [] }
      : { kind: 'waits', reasons: [...over] },
  );
}

export function keptReason({ startMs }: Kept): Reason {
  return reasonOf({ kind: 'waits', reasons: [{ code: 'reserved', startMs }] });
}

/**
 * `behind` lasts one cycle, so it is told only to entries that know nothing yet; they stay fresh until a lasting reason
 * replaces it. Telling it to all would write every entry's verdict twice for each job that starts. A lane in its gate
 * keeps that reason, whatever becomes of its shape, until the ceiling lets it out.
 */
function tell(state: State, pass: Pass, judged: Judged): EntryVerdict[] {
  const { queue } = state;
  const verdicts: EntryVerdict[] = [];
  let started: ReadonlyMap<Entry, number> | null = null;
  let exhausted: ReadonlySet<number> | null = null;
  const tellEntry = (entry: Entry, why: Why, lasting: boolean): void => {
    started ??= startsByEntry(queue, pass);
    const left = waitingOf(entry) - (started.get(entry) ?? 0);
    // All its jobs are in this plan; should a unit be dropped, the entry is told next time.
    if (left === 0 || why === behind || !lasting) queue.fresh.add(entry);
    else queue.fresh.delete(entry);
    if (left === 0 || (why === behind && entry.told !== null)) return;
    const reason = why === behind ? behindReason(state, firstLeft(entry, jobsThatStart())) : why;
    if (entry.told?.binding === reason.binding) return;
    entry.told = reason;
    verdicts.push({ entry: queue.keyOf(entry), verdict: reason.verdict });
  };
  function jobsThatStart(): ReadonlySet<number> {
    exhausted ??= pass.members.exhausted(startedJobs(pass));
    return exhausted;
  }
  for (const lane of queue.ungated)
    if (lane.gated === null) for (const entry of queue.waitingIn(lane)) queue.fresh.add(entry);
  queue.ungated.clear();
  for (const [lane, why] of judged.lanes) {
    if (lane.gated === null && lane.shape.blocked !== null) continue;
    for (const entry of queue.waitingIn(lane)) tellEntry(entry, why, lane.gated !== null);
  }
  for (const [shape, why] of judged.shapes) {
    if (why === behind || shape.told === why.binding) continue;
    shape.told = why.binding;
    for (const lane of shape.lanes) for (const entry of queue.waitingIn(lane)) tellEntry(entry, why, true);
  }
  for (const [entry, why] of judged.entries) {
    entry.lane.shape.told = null;
    tellEntry(entry, why, why !== behind);
  }
  for (const entry of queue.fresh) {
    const { lane } = entry;
    const { shape } = lane;
    if (judged.entries.has(entry)) continue;
    if (lane.gated === null && judged.lanes.has(lane) && shape.blocked === null) continue;
    const why = lane.gated?.reason ?? judged.shapes.get(shape) ?? shape.blocked;
    if (why) tellEntry(entry, why, true);
  }
  return verdicts.sort((a, b) => compareText(a.entry, b.entry));
}

/** Slots of jobs that start in this plan, or claim. */
function* startedJobs({ placed, preemptions }: Pass): IterableIterator<number> {
  yield* placed.jobs();
  for (const { job } of preemptions.claims) yield job;
}

function startsByEntry(queue: Queue, pass: Pass): Map<Entry, number> {
  const started = new Map<Entry, number>();
  const jobs = startedJobs(pass);
  for (const job of pass.members.any ? pass.members.exhausted(jobs) : jobs) {
    if (!queue.stands(job)) continue;
    const entry = queue.entryOf(job);
    started.set(entry, (started.get(entry) ?? 0) + 1);
  }
  return started;
}

/** The first job of the entry that does not start in this plan. */
function firstLeft({ starved, jobs }: Entry, started: ReadonlySet<number>): number {
  for (const list of starved ? [starved, jobs] : [jobs])
    for (let p = list.first(); p >= 0; p = list.next(p)) if (!started.has(list.at(p))) return list.at(p);
  invariant(false, 'an entry that is told something has a job left');
}

/** `before`: members of its own array that are. */
export function behindReason(state: State, job: number, before = 0): Reason {
  return reasonOf({ kind: 'waits', reasons: [{ code: 'behind', ahead: state.queue.ahead(job) + before }] });
}

/**
 * When a backoff ends, a job starves or a deadline presses. The latter two only change the order, so that a second more or
 * less does not matter and thousands of jobs do not wake anybody thousands of times.
 */
function wakeAt({ queue, jobs, ends, keeps, againMs }: State): number | null {
  const { delayed, starving, pressing } = queue;
  const times: number[] = [];
  if (delayed.size > 0) times.push(jobs.notBeforeMs[delayed.at(0)]!);
  if (starving.size > 0) times.push(nextSecond(queue.starvesAtMs(starving.at(0))));
  if (pressing.size > 0) times.push(nextSecond(queue.entries[pressing.at(0)]!.latestStartMs));
  if (againMs !== never) times.push(againMs);
  // A run that does not end when it was expected to moves the start that rests on it.
  if (keeps && ends.order.size > 0) times.push(nextSecond(ends.firstMs()!));
  return times.length === 0 ? null : Math.min(...times);
}

function nextSecond(ms: number): number {
  return Math.ceil(ms / 1000) * 1000;
}

function makeUnit(state: State, placed: PlacedJobs, index: number): PlanUnit {
  const { jobs, fleets, projects } = state;
  const job = placed.job[index]!;
  const id = placed.ids[index]!;
  const attempt = jobs.attempt[job]!;
  const { demand } = placed.shapes[index]!;
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
    uses: projects.keys.uses(placed.uses[index]!),
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
function taskOf({ ledger, facts }: Fleet, rank: number, pick: number, nth: number): TaskPlacement {
  const { node } = facts[ledger.slot[pick]!]!;
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
  if (to === from + 1) return fleet.stampsOf(ledger.slot[from]!);
  const nodes: (readonly [NodeId, number])[] = [];
  for (let pick = from; pick < to; pick++)
    if (ledger.first[pick] === 1) nodes.push(fleet.stampsOf(ledger.slot[pick]!)[0]!);
  return nodes.sort((a, b) => compareText(a[0], b[0]));
}

/** Its nodes are in its tasks; their generations are hashed beside them, in the order of their ids. */
function hashUnit(hasher: Hasher, unit: PlanUnit): void {
  hasher.text(unit.kind).text(unit.job).number(unit.attempt).number(unit.jobVersion);
  if (unit.kind === 'release') {
    hasher.text(unit.reason.code);
    return;
  }
  if (unit.kind === 'start') hashTasks(hasher, unit);
  else {
    hashTasks(hasher, unit.claim);
    for (const { run, right } of unit.claim.victims) hasher.text(run).text(right);
  }
  const { nodeGenerations } = unit;
  hasher.number(nodeGenerations.length);
  for (let i = 0; i < nodeGenerations.length; i++) hasher.number(nodeGenerations[i]![1]);
}

/** Very many units of one plan use the same: what they use is a hash of its own, made once for as long as it is the same. */
function hashUnits(hasher: Hasher, units: readonly PlanUnit[]): void {
  let last: Uses | null = null;
  let [a, b] = [0, 0];
  for (let i = 0; i < units.length; i++) {
    const unit = units[i]!;
    hashUnit(hasher, unit);
    if (unit.kind === 'release') continue;
    const { uses } = unit.kind === 'start' ? unit : unit.claim;
    if (uses !== last) {
      const own = new Hasher();
      hashUses(own, uses);
      [a, b] = own.lanes();
      last = uses;
    }
    hasher.number(a).number(b);
  }
}

export function planHash(plan: Omit<Plan, 'hash'>): string {
  const hasher = new Hasher().number(plan.sequence).number(plan.nowMs).number(plan.policyVersion);
  hasher.text(plan.engineVersion).optional(plan.wakeAtMs).number(plan.units.length);
  hashUnits(hasher, plan.units);
  for (const { entry, verdict } of plan.verdicts) hasher.text(entry).text(JSON.stringify(verdict));
  return hasher.digest();
}
