// One walk over the queue in the order of order.ts, placing what fits and is within its ceilings. What it places stays taken,
// room and quota alike, until `undoPass`; a question walks the same way and stops where its job would stand.
//
// The first jobs that wait for room get planned starts (reservations.ts). For their sake shapes that do not fit stand in
// line too, but only when somebody who could start would pass them.

import type { Entry, Lane } from './entry.ts';
import { place } from './fit.ts';
import type { Fleet } from './fleet.ts';
import { overAt } from './gates.ts';
import { giveBack, type Placement, undo } from './ledger.ts';
import { Members } from './members.ts';
import { PlacedJobs } from './placed-jobs.ts';
import { releasePort } from './ports.ts';
import { Preemptions } from './preempt.ts';
import type { Queue } from './queue.ts';
import { Reservations } from './reservations.ts';
import { type Ask, noAsk, type ResourceKeys } from './resource-keys.ts';
import { isGreedy, matchShape, type Shape } from './shape.ts';
import type { State } from './state.ts';
import { type Head, Turns } from './turns.ts';
import { fitsIdle, fitsNow } from './verdict.ts';

export interface Pass {
  readonly placed: PlacedJobs;
  readonly preemptions: Preemptions;
  readonly members: Members;
  /** Shapes of which a job did not fit; of those, the ones that did not before anything was placed. */
  readonly failed: Set<Shape>;
  readonly unfit: Set<Shape>;
  readonly within: Within;
  /** Lanes of which a job would have been over a ceiling, with what it would have used: each alternative that had room. */
  readonly over: Map<Lane, readonly Ask[]>;
  /** Lanes that had no place or were over a ceiling as the walk began, and for which there were victims. */
  readonly wants: Map<Shape, Set<Lane>>;
  /** Entries for which there is only room that is kept for another job. */
  readonly kept: Map<Entry, Kept>;
  /** By shape: jobs that would pass with this long or longer find only room that is kept. */
  readonly keptFromMs: Map<Shape, number>;
  readonly reservations: Reservations;
  /** The shape that is in line though nobody asked beforehand whether it fits. */
  unasked: Shape | null;
}

/** The planned start that room is kept for; null where nobody may pass the job that waits, whenever it starts. */
export interface Kept {
  readonly startMs: number | null;
}

/** Whether the places found for a job leave everybody within the ceilings; one for all jobs of a walk. */
class Within {
  /** What the job would use at the place that was asked about last. */
  uses: Ask = noAsk;
  /** What it would use where that is over a ceiling. */
  over: Ask[] = [];
  readonly #keys: ResourceKeys;
  readonly #fleet: Fleet;
  #head: Head | null = null;

  constructor({ projects, fleets }: State) {
    this.#keys = projects.keys;
    this.#fleet = fleets.live;
  }

  of(head: Head): this {
    this.#head = head;
    if (this.over.length > 0) this.over = [];
    return this;
  }

  allows(placement: Placement): boolean {
    const { project, user } = this.#head!;
    this.uses = this.#keys.placed(this.#fleet, placement);
    if (overAt(project, user, this.uses) === null) return true;
    this.over.push(this.uses);
    return false;
  }
}

/** Says that the walk is over before this job is tried. */
export type Stop = (job: number, pass: Pass) => boolean;

export interface WalkOptions {
  /** For a question nobody's run is stopped for this job, so that the answer is whether it starts by itself. */
  readonly exempt?: number;
  /** Only a decision remembers what was looked for in vain. */
  readonly remembers?: boolean;
  /** Goes on when nobody can start any more, to see who gets planned starts. */
  readonly all?: boolean;
}

export function walk(
  state: State,
  stop: Stop | null,
  { exempt = -1, remembers = false, all = false }: WalkOptions = {},
): Pass {
  const placed = new PlacedJobs(state.jobs);
  const members = new Members(state.jobs);
  const pass: Pass = {
    placed,
    preemptions: new Preemptions(state, state.clockMs, members, exempt, remembers),
    members,
    failed: new Set(),
    unfit: new Set(),
    within: new Within(state),
    over: new Map(),
    wants: new Map(),
    kept: new Map(),
    keptFromMs: new Map(),
    reservations: new Reservations(state, placed),
    unasked: null,
  };
  const turns = new Turns(state.queue, members);
  let left = lineUp(state, pass, turns, all);
  for (let head = left > 0 || all ? turns.next() : null; head; head = turns.next()) {
    if (stop?.(head.job, pass)) break;
    const { size } = pass.failed;
    const outcome = tryHead(state, pass, head);
    if (outcome === 'next') turns.passed(head);
    else if (outcome === 'entry') turns.passedEntry(head);
    else turns.dropped(head);
    // With no shape left that could fit, everybody else is only waiting to be told so.
    if (pass.failed.size > size && !pass.wants.has(head.shape) && --left === 0 && !all) break;
  }
  pass.reservations.unshade();
  return pass;
}

/**
 * Who is in line: lanes within their ceilings, of shapes that fit as things stand, or else with victims as things stand. Tells
 * how many shapes that are.
 */
function lineUp(state: State, pass: Pass, turns: Turns, all: boolean): number {
  const { queue, fleets } = state;
  let shapes = 0;
  const open = all ? [...queue.shapes.all()].filter(isTriable) : [...queue.open];
  for (const shape of open) {
    // A shape alone is asked only if need be (`isInDoubt`): when it does not fit, nobody starts, and its first job will say so,
    // unless that is not tried because nobody may pass another.
    const asked = open.length > 1 || all || pass.reservations.strict;
    if (!asked) pass.unasked = shape;
    else if (!fitsNow(fleets, shape)) {
      const wants = unfit(pass, shape);
      for (const lane of wants) turns.enter(lane);
      if (wants.size > 0) shapes++;
      continue;
    }
    shapes++;
    for (const lane of shape.lanes) {
      const within = overAt(lane.project, lane.user, shape.ask) === null;
      if (within || wants(pass, lane)) turns.enter(lane);
      else pass.over.set(lane, [shape.ask]);
    }
  }
  if (pass.reservations.active && (shapes > 0 || all)) lineUpWaiting(state, pass, turns);
  return shapes;
}

/** Nothing was taken and the shape does not fit: who of it has victims is in line, nobody else. */
function unfit(pass: Pass, shape: Shape): ReadonlySet<Lane> {
  pass.failed.add(shape);
  pass.unfit.add(shape);
  for (const lane of pass.preemptions.eagerLanes(shape.lanes)) wants(pass, lane);
  return pass.wants.get(shape) ?? nobody;
}

const nobody: ReadonlySet<Lane> = new Set();

/** Whether there are victims for the lane as things stand. Nothing was taken yet. */
function wants(pass: Pass, lane: Lane): boolean {
  if (!pass.preemptions.mayLane(lane)) return false;
  const lanes = pass.wants.get(lane.shape);
  if (lanes) lanes.add(lane);
  else pass.wants.set(lane.shape, new Set([lane]));
  return true;
}

function isTriable({ blocked, lanes }: Shape): boolean {
  return blocked === null && lanes.size > 0;
}

/**
 * Those who wait for room, to be given planned starts when their turn comes. One that would not fit if every run had ended is
 * not in line, whether or not that was found out before: its project would stand by what a job asks for that cannot start.
 */
function lineUpWaiting({ queue, fleets }: State, pass: Pass, turns: Turns): void {
  for (const shape of queue.shapes.all()) {
    const waits = isBlocked(queue, shape);
    if ((!waits && !pass.unfit.has(shape)) || shape.lanes.size === 0 || !fitsIdle(fleets, shape)) continue;
    const wanting = pass.wants.get(shape);
    for (const lane of shape.lanes) {
      // Who has victims stands in line already.
      if (!waits && wanting?.has(lane)) continue;
      if (overAt(lane.project, lane.user, shape.ask) === null) turns.enter(lane);
    }
  }
}

/** Known not to fit, and not to be tried: a question may try it all the same. */
function isBlocked({ open }: Queue, shape: Shape): boolean {
  return shape.blocked !== null && !open.has(shape);
}

/** What becomes of a job that looks for victims: it has a place, it steps aside for the next, or its whole lane is out of line. */
export type Found = 'has' | 'aside' | 'out' | 'for-longer';

/** What follows: the entry's next job has its turn, the lane's next entry, or nobody of the lane. */
type Outcome = 'next' | 'entry' | 'lane';

// What every turn does is kept apart from what few do, here and in `tryShape`: a compiler puts functions into one another only
// while they are short.
function tryHead(state: State, pass: Pass, head: Head): Outcome {
  const { reservations } = pass;
  const { shape, project, user } = head;
  const waits = isBlocked(state.queue, shape);
  if (reservations.strict && !reservations.open) return keepAll(state, pass, head, waits);
  if (pass.unasked === shape && isInDoubt(state, pass, head)) ask(state, pass, shape);
  if (overAt(project, user, shape.ask) !== null) return tryOver(state, pass, head, waits);
  const tried = waits || hasFailed(pass, shape) ? 'untried' : tryShape(state, pass, head);
  return tried === 'placed' ? 'next' : goOn(state, pass, head, waits, tried);
}

/** Nobody may pass the job that waits. */
function keepAll({ queue }: State, pass: Pass, { lane, shape }: Head, waits: boolean): Outcome {
  if (!waits && !pass.failed.has(shape))
    for (const entry of queue.waitingIn(lane)) pass.kept.set(entry, { startMs: null });
  return 'lane';
}

function ask({ fleets }: State, pass: Pass, shape: Shape): void {
  pass.unasked = null;
  pass.reservations.unshade();
  if (!fitsNow(fleets, shape)) unfit(pass, shape);
}

/** It is over a ceiling. */
function tryOver(state: State, pass: Pass, head: Head, waits: boolean): Outcome {
  const { lane, shape } = head;
  const mayPreempt = !waits && hasVictims(pass, head);
  const found = mayPreempt ? preempt(state, pass, head) : 'out';
  if (found === 'has' || found === 'aside') return 'next';
  if (mayPreempt || (!waits && !pass.failed.has(shape))) pass.over.set(lane, [shape.ask]);
  return 'lane';
}

/** It has no place. */
function goOn(state: State, pass: Pass, head: Head, waits: boolean, tried: Tried | 'untried'): Outcome {
  const { reservations } = pass;
  if (tried === 'over') return 'lane';
  if (tried === 'kept') {
    pass.kept.set(head.entry, reservations.keptFor(state.clockMs + head.passMs));
    return plan(pass, head.job) ? 'next' : 'entry';
  }
  if (tried === 'failed') {
    if (isUntouched(pass)) unfit(pass, head.shape);
    else pass.failed.add(head.shape);
  }
  const found = !waits && hasVictims(pass, head) ? preempt(state, pass, head) : 'out';
  if (found === 'has') return 'next';
  // It waits for room.
  const planned = reservations.open && plan(pass, head.job);
  if (found === 'aside' || (planned && reservations.open)) return 'next';
  return found === 'for-longer' ? 'entry' : 'lane';
}

/** Asked at every turn, and mostly nothing has failed: then the shape need not be looked up. */
function hasFailed({ failed }: Pass, shape: Shape): boolean {
  return failed.size > 0 && failed.has(shape);
}

function isUntouched({ placed, preemptions }: Pass): boolean {
  return placed.length === 0 && preemptions.claims.length === 0;
}

/**
 * Whether a shape that nobody asked about beforehand may find a place now though it did not fit as the walk began: around nodes
 * that the job avoids, or beside a reservation, where less room makes it choose otherwise. Victims of one of its jobs could
 * make room for others, so that it is asked before they are claimed.
 */
function isInDoubt({ jobs, fleets }: State, pass: Pass, head: Head): boolean {
  const { shape } = head;
  if (!isUntouched(pass)) return false;
  if (jobs.avoid(head.job).length > 0) return true;
  if (!isGreedy(shape) && fleets.live.resources.list.length === 0) return false;
  return pass.reservations.jobs.length > 0 || hasVictims(pass, head);
}

/** Whether there were victims for it as the walk began. */
function hasVictims({ wants }: Pass, { shape, lane }: Head): boolean {
  return wants.get(shape)?.has(lane) === true;
}

/** It gets a planned start; of an array, the next member does, and the one behind it has the next turn. */
function plan({ reservations, members }: Pass, job: number): boolean {
  if (!reservations.plan(job, members.next(job))) return false;
  members.pass(job);
  return true;
}

/** Who has a right to room need not wait for those who only wait. */
function preempt(state: State, pass: Pass, { job, shape }: Head): Found {
  pass.reservations.unshade();
  matchShape(shape, state.fleets.live.classes);
  const found = pass.preemptions.try(job);
  if (found === 'has') {
    pass.reservations.changed();
    // What they kept from others they may keep no longer.
    pass.keptFromMs.clear();
  }
  return found;
}

type Tried = 'placed' | 'over' | 'kept' | 'failed';

function tryShape(state: State, pass: Pass, head: Head): Tried {
  const { reservations } = pass;
  const { shape, passMs } = head;
  if (pass.keptFromMs.size > 0 && pass.keptFromMs.get(shape)! <= passMs) return 'kept';
  const binding = reservations.binding(state.clockMs + passMs);
  matchShape(shape, state.fleets.live.classes);
  pass.within.of(head);
  const placement = placeBeside(state, pass, head, binding);
  return typeof placement === 'string'
    ? notPlaced(pass, head, placement)
    : takePlace(state, pass, head, placement);
}

function notPlaced(pass: Pass, { lane, shape, passMs }: Head, why: 'over' | 'kept' | 'failed'): Tried {
  if (why === 'kept') pass.keptFromMs.set(shape, passMs);
  if (why === 'over') pass.over.set(lane, pass.within.over);
  return why;
}

/** Its places are taken, and what it uses is counted; both are given back when somebody with a planned start would start later. */
function takePlace(state: State, pass: Pass, head: Head, placement: Placement): Tried {
  const { fleets, projects } = state;
  const { members, placed, reservations, within } = pass;
  const { job, lane, shape, project, user } = head;
  // Planned starts rest on durations. Who passes one counts in this walk as it did when it was let pass.
  const endMs = state.clockMs + (reservations.any ? head.passMs : head.durationMs);
  // Of several alternatives the best is not always the one that was asked about last.
  const uses = shape.ranked.length > 1 ? projects.keys.placed(fleets.live, placement) : within.uses;
  projects.take(project, user, uses, 1);
  head.alike = placed.alikeOf(lane, uses, head.alike);
  placed.push(job, members.any ? members.next(job) : null, head.alike, placement, endMs);
  if (!reservations.any || reservations.admitsLast()) {
    if (members.any) members.take(job);
    pass.preemptions.placed(job, placement, uses);
    return 'placed';
  }
  placed.pop();
  projects.take(project, user, uses, -1);
  undo(fleets.live, placement);
  return 'kept';
}

/**
 * Into what is free now and beside the first reservations. A job of one group that asks for no place of the topology takes the
 * best of all nodes one after the other: when none of those is reserved, and those that are have no room beside their
 * reservation, it would take the same with them shaded, and nothing need be. A node with some room left beside it is tighter
 * shaded than not, and may then be the best.
 */
function placeBeside(
  state: State,
  { reservations, within }: Pass,
  head: Head,
  binding: number,
): Placement | 'over' | 'kept' | 'failed' {
  const { fleets, jobs } = state;
  const { job, shape } = head;
  const avoid = jobs.avoid(job);
  let fits = false;
  if (!reservations.isShaded(binding)) reservations.unshade();
  if (binding === 0 || isBestUnshaded(reservations, shape, binding)) {
    const placement = place(fleets.live, shape, avoid, within);
    if (placement && !reservations.meets(placement, binding)) return placement;
    if (placement) undo(fleets.live, placement);
    else if (within.over.length === 0) return 'failed';
    else if (binding === 0) return 'over';
    fits = true;
    within.of(head);
  }
  reservations.shade(binding);
  const placement = place(fleets.live, shape, avoid, within);
  if (placement) return placement;
  if (within.over.length > 0) return 'over';
  reservations.unshade();
  return fits || fitsNow(fleets, shape) ? 'kept' : 'failed';
}

function isBestUnshaded(reservations: Reservations, shape: Shape, binding: number): boolean {
  return !isGreedy(shape) && !reservations.isShaded(binding) && !reservations.leaveRoomFor(shape, binding);
}

export function undoPass(state: State, pass: Pass): void {
  const { projects, fleets } = state;
  pass.preemptions.undo();
  const { placed } = pass;
  if (placed.length === 0) return;
  for (const { lane, uses, times } of placed.alike) projects.take(lane.project, lane.user, uses, -times);
  const { portSlot, port, from } = placed;
  for (let i = placed.length - 1; i >= 0; i--) releasePort(fleets.live.ports[portSlot[i]!]!, port[i]!);
  giveBack(fleets.live, from[0]!);
}
