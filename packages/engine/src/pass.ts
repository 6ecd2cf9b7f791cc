// One walk over the queue in the order of order.ts, placing what fits and is within its ceilings. What it places stays taken,
// room and quota alike, until `undoPass`; a question walks the same way and stops where its job would stand.
//
// The first jobs that wait for room get planned starts (reservations.ts). For their sake shapes that do not fit stand in
// line too, but only when somebody who could start would pass them.
import { place } from './fit.ts';
import { overAt } from './gates.ts';
import { type Placement, undo } from './ledger.ts';
import { Preemptions } from './preempt.ts';
import type { Entry, Lane, Queue } from './queue.ts';
import { Reservations } from './reservations.ts';
import type { Ask } from './resource-keys.ts';
import { matchShape, type Shape } from './shape.ts';
import type { State } from './state.ts';
import { type Head, Turns } from './turns.ts';
import { fitsNow } from './verdict.ts';

export interface Placed {
  readonly job: number;
  readonly placement: Placement;
  readonly uses: Ask;
  /** When it is expected to end. */
  readonly endMs: number;
}

export interface Pass {
  readonly placed: Placed[];
  readonly preemptions: Preemptions;
  /** Shapes of which a job did not fit; of those, the ones that did not before anything was placed. */
  readonly failed: Set<Shape>;
  readonly unfit: Set<Shape>;
  /** Lanes of which a job would have been over a ceiling, with what it would have used. */
  readonly over: Map<Lane, Ask>;
  /** Entries for which there is only room that is kept for another job. */
  readonly kept: Map<Entry, Kept>;
  /** By shape: jobs that run this long or longer find only room that is kept. */
  readonly keptFromMs: Map<Shape, number>;
  readonly reservations: Reservations;
}

/** The planned start that room is kept for; null where nobody may pass the job that waits, whenever it starts. */
export interface Kept {
  readonly startMs: number | null;
}

/** Says that the walk is over before this job is tried. */
export type Stop = (job: number, pass: Pass) => boolean;

export interface WalkOptions {
  /** For a question nobody's run is stopped for this job, so that the answer is whether it starts by itself. */
  readonly exempt?: number;
  /** Goes on when nobody can start any more, to see who gets planned starts. */
  readonly all?: boolean;
}

export function walk(state: State, stop: Stop, { exempt = -1, all = false }: WalkOptions = {}): Pass {
  const placed: Placed[] = [];
  const pass: Pass = {
    placed,
    preemptions: new Preemptions(state, state.clockMs, exempt),
    failed: new Set(),
    unfit: new Set(),
    over: new Map(),
    kept: new Map(),
    keptFromMs: new Map(),
    reservations: new Reservations(state, placed),
  };
  const turns = new Turns(state.queue);
  let left = lineUp(state, pass, turns, all);
  for (let head = left > 0 || all ? turns.next() : null; head; head = turns.next()) {
    if (stop(head.job, pass)) break;
    const { size } = pass.failed;
    const outcome = tryHead(state, pass, head);
    if (outcome === 'next') turns.placed(head);
    else if (outcome === 'entry') turns.passed(head);
    else turns.dropped(head);
    // With no shape left that could fit, everybody else is only waiting to be told so.
    if (pass.failed.size > size && !wants(pass, head.entry.lane.shape) && --left === 0 && !all) break;
  }
  pass.reservations.unshade();
  return pass;
}

/** Who is in line: lanes within their ceilings, of shapes that fit as things stand. Tells how many shapes that are. */
function lineUp(state: State, pass: Pass, turns: Turns, all: boolean): number {
  const { queue, fleets } = state;
  let shapes = 0;
  const open = all ? [...queue.shapes.all()].filter(isTriable) : [...queue.open];
  for (const shape of open) {
    // A shape alone need not be asked beforehand: when it does not fit, its first job will say so.
    if (open.length > 1 && !fitsNow(fleets, shape)) {
      pass.failed.add(shape);
      pass.unfit.add(shape);
      if (!wants(pass, shape)) continue;
    }
    shapes++;
    for (const lane of shape.lanes) {
      if (overAt(lane.project, lane.user, shape.ask) === null) {
        if (!pass.unfit.has(shape) || mayPreempt(pass, lane)) turns.enter(lane);
      } else pass.over.set(lane, shape.ask);
    }
  }
  if (pass.reservations.active && (shapes > 0 || all)) lineUpWaiting(state, pass, turns);
  return shapes;
}

/** Whether a lane of the shape may preempt when there is no room. */
function wants(pass: Pass, shape: Shape): boolean {
  for (const lane of shape.lanes) if (mayPreempt(pass, lane)) return true;
  return false;
}

/** Its first job stands for all of it: those behind it have no right that it has not. */
function mayPreempt({ preemptions }: Pass, lane: Lane): boolean {
  return preemptions.mayLane(lane);
}

function isTriable({ blocked, lanes }: Shape): boolean {
  return blocked === null && lanes.size > 0;
}

/** Those for whom there is no room, to be given planned starts when their turn comes. */
function lineUpWaiting({ queue }: State, pass: Pass, turns: Turns): void {
  for (const shape of queue.shapes.all()) {
    const waits = isBlocked(queue, shape);
    if (waits ? shape.blocked?.verdict.kind === 'impossible' : !pass.unfit.has(shape)) continue;
    for (const lane of shape.lanes) {
      // Who may preempt stands in line already.
      if (!waits && mayPreempt(pass, lane)) continue;
      if (overAt(lane.project, lane.user, shape.ask) === null) turns.enter(lane);
    }
  }
}

/** Known not to fit, and not to be tried: a question may try it all the same. */
function isBlocked({ open }: Queue, shape: Shape): boolean {
  return shape.blocked !== null && !open.has(shape);
}

/** What follows: the entry's next job has its turn, the lane's next entry, or nobody of the lane. */
type Outcome = 'next' | 'entry' | 'lane';

function tryHead(state: State, pass: Pass, head: Head): Outcome {
  const { queue } = state;
  const { reservations } = pass;
  const { lane, duration } = head.entry;
  const { shape, project, user } = lane;
  const waits = isBlocked(queue, shape);
  if (reservations.strict && !reservations.open) {
    if (!waits && !pass.failed.has(shape))
      for (const entry of queue.waitingIn(lane)) pass.kept.set(entry, { startMs: null });
    return 'lane';
  }
  if (overAt(project, user, shape.ask) !== null) {
    if (!waits && (!pass.failed.has(shape) || mayPreempt(pass, lane))) pass.over.set(lane, shape.ask);
    return 'lane';
  }
  if (!waits && !pass.failed.has(shape)) {
    const tried = tryShape(state, pass, head);
    if (tried === 'placed') return 'next';
    if (tried === 'over') return 'lane';
    if (tried === 'kept') {
      pass.kept.set(head.entry, reservations.keptFor(state.clockMs + duration.ms));
      return reservations.plan(head.job) ? 'next' : 'entry';
    }
    pass.failed.add(shape);
  }
  if (!waits && pass.preemptions.may(head.job)) {
    // Who has a right to room need not wait for those who only wait.
    reservations.unshade();
    matchShape(shape, state.fleets.live.classes);
    if (pass.preemptions.try(head.job)) {
      reservations.changed();
      return 'next';
    }
  }
  // It waits for room.
  if (!reservations.open) return 'lane';
  return reservations.plan(head.job) && reservations.open ? 'next' : 'lane';
}

function tryShape(state: State, pass: Pass, { job, entry }: Head): 'placed' | 'over' | 'kept' | 'failed' {
  const { fleets, jobs, projects } = state;
  const { reservations } = pass;
  const { shape, project, user } = entry.lane;
  const { ms } = entry.duration;
  if ((pass.keptFromMs.get(shape) ?? Number.POSITIVE_INFINITY) <= ms) return 'kept';
  const endMs = state.clockMs + ms;
  const shaded = reservations.shade(endMs);
  matchShape(shape, fleets.live.classes);
  const placement = place(fleets.live, shape, jobs.avoid(job));
  if (!placement) {
    if (shaded) reservations.unshade();
    if (!shaded || !fitsNow(fleets, shape)) return 'failed';
    pass.keptFromMs.set(shape, ms);
    return 'kept';
  }
  const uses = projects.keys.placed(fleets.live, placement);
  if (overAt(project, user, uses) !== null) {
    undo(fleets.live, placement);
    pass.over.set(entry.lane, uses);
    return 'over';
  }
  projects.take(project, user, uses, 1);
  const placed = { job, placement, uses, endMs };
  pass.placed.push(placed);
  if (reservations.admits(placed)) {
    pass.preemptions.placed(job, placement, uses);
    return 'placed';
  }
  pass.placed.pop();
  projects.take(project, user, uses, -1);
  undo(fleets.live, placement);
  return 'kept';
}

export function undoPass(state: State, pass: Pass): void {
  const { queue, projects, fleets } = state;
  pass.preemptions.undo();
  for (let i = pass.placed.length - 1; i >= 0; i--) {
    const { job, placement, uses } = pass.placed[i]!;
    const { project, user } = queue.entryOf(job).lane;
    projects.take(project, user, uses, -1);
    undo(fleets.live, placement);
  }
}
