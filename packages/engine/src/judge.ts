// Why what did not start in a plan waits, found out on the state as it is: shapes that do not fit are blocked with their reason,
// lanes over a ceiling are gated, and who only stands behind others is judged again when the plan has come back.
import type { OverCeiling } from '@muster/model';
import type { Entry, Lane } from './entry.ts';
import { allOver, allOverAny, overAt } from './gates.ts';
import { nearestWithin } from './nearest.ts';
import type { Kept, Pass } from './pass.ts';
import type { Queue } from './queue.ts';
import { type Reason, reasonOf } from './reason.ts';
import type { Ask } from './resource-keys.ts';
import type { Shape } from './shape.ts';
import type { State } from './state.ts';
import { fitsNow, whyNot } from './verdict.ts';

/** Others took the room in this plan. */
export const behind = 'behind';
export type Why = Reason | typeof behind;

export interface Judged {
  /** Of shapes that did not fit. */
  readonly shapes: Map<Shape, Why>;
  /** Of lanes that are over a ceiling, and whether only the nodes they would get make them so. */
  readonly lanes: Map<Lane, Why>;
  /** Of entries that found only room that is kept for another job. */
  readonly entries: Map<Entry, Why>;
}

/** On the state as it is, without the plan. */
export function judge(state: State, pass: Pass): Judged {
  const { queue, fleets } = state;
  const { claims } = pass.preemptions;
  const judged: Judged = { shapes: new Map(), lanes: new Map(), entries: new Map() };
  const claimed = new Set<Shape>();
  for (const { job } of claims) claimed.add(queue.entryOf(job).lane.shape);
  // Should its claims not be committed, its jobs look for victims again.
  const taken = pass.placed.length + claims.length > 0;
  for (const shape of pass.failed) {
    if (claimed.has(shape) || (taken && !pass.unfit.has(shape) && fitsNow(fleets, shape))) {
      judged.shapes.set(shape, behind);
      continue;
    }
    shape.blocked = whyNot(fleets, shape);
    queue.open.delete(shape);
    judged.shapes.set(shape, shape.blocked);
  }
  if (pass.over.size + pass.kept.size > 0) judgeStuck(state, pass, judged);
  return judged;
}

/** Lanes over a ceiling, and entries that found only room that is kept for another. */
function judgeStuck(state: State, pass: Pass, judged: Judged): void {
  const { queue } = state;
  const waits = new Set<Shape>();
  const starts = new Set<Lane>();
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
  const stuck = new Set<Shape>();
  for (const { shape } of pass.over.keys()) stuck.add(shape);
  for (const { lane } of pass.kept.keys()) stuck.add(lane.shape);
  for (const shape of stuck) {
    if (waits.has(shape) || shape.blocked !== null || !queue.open.has(shape)) continue;
    // Nobody of the shape can start before something changes.
    if (!isAllOut(queue, pass, shape, starts)) continue;
    shape.stalled = true;
    queue.open.delete(shape);
  }
  judgeKept(state, pass, judged);
}

/** Whether every lane of the shape is over a ceiling, or has only entries that found room kept for another. */
function isAllOut(queue: Queue, pass: Pass, shape: Shape, starts: ReadonlySet<Lane>): boolean {
  for (const lane of shape.lanes) {
    if (pass.over.has(lane)) continue;
    if (starts.has(lane)) return false;
    for (const entry of queue.waitingIn(lane)) if (!pass.kept.has(entry)) return false;
  }
  return true;
}

function judgeKept({ projects }: State, pass: Pass, judged: Judged): void {
  // Room is mostly kept for one job, and all who may not have it are told the same.
  const reasons = new Map<number | null, Reason>();
  for (const [entry, kept] of pass.kept) {
    const { shape, project, user } = entry.lane;
    if (shape.blocked !== null || pass.over.has(entry.lane)) continue;
    if (!shape.stalled) {
      judged.entries.set(entry, behind);
      continue;
    }
    // Whoever may not pass was not asked about its ceilings; they would be in its way next.
    const over = allOver(projects, project, user, shape.ask);
    const reason =
      over.length > 0 ? ceilingReason(over, shape) : (reasons.get(kept.startMs) ?? keptReason(kept));
    if (over.length === 0) reasons.set(kept.startMs, reason);
    judged.entries.set(entry, reason);
  }
}

/** Lanes that a change may have put over a ceiling are told so at once, whether or not there is room. */
export function gateOver(state: State, pass: Pass, judged: Judged): void {
  const { queue, projects, tightened } = state;
  // Victims may make room below a ceiling: a lane with a claim in this plan is judged once that has come back, or has not.
  const claimed = new Set<Lane>();
  for (const { job } of pass.preemptions.claims) claimed.add(queue.entryOf(job).lane);
  const look = (lane: Lane | undefined): void => {
    if (!lane || lane.waiting === 0 || lane.gated !== null || claimed.has(lane)) return;
    const { project, user, shape } = lane;
    const at = overAt(project, user, shape.ask);
    if (at === null) return;
    const reason = ceilingReason(allOver(projects, project, user, shape.ask), shape);
    queue.gate(lane, { at, reason });
    judged.lanes.set(lane, reason);
  };
  if (state.ceilingsMoved) for (const lane of queue.lanes) look(lane);
  else {
    for (const project of tightened) for (const lane of queue.lanesBelow(project)) look(lane);
    for (const lane of queue.ungated) look(lane);
    for (const entry of queue.fresh) if (entry.told === null) look(entry.lane);
  }
  state.ceilingsMoved = false;
  tightened.clear();
}

/** For a lane that is over a ceiling with each of its alternatives that have room. */
export function overReason({ projects }: State, lane: Lane, asks: readonly Ask[]): Reason {
  const { project, user, shape } = lane;
  const over = allOverAny(projects, project, user, asks);
  // With another alternative what is above one ceiling alone may still be had.
  return asks.length === 1 ? ceilingReason(over, shape) : reasonOf({ kind: 'waits', reasons: over });
}

/** Impossible when what it asks for alone is above a ceiling. */
export function ceilingReason(over: readonly OverCeiling[], shape: Shape): Reason {
  const never = over.filter(({ asks, ceiling }) => asks > ceiling);
  return reasonOf(
    never.length > 0
      ? { kind: 'impossible', reasons: never, nearest: nearestWithin(never, shape) }
      : { kind: 'waits', reasons: [...over] },
  );
}

export function keptReason({ startMs }: Kept): Reason {
  return reasonOf({ kind: 'waits', reasons: [{ code: 'reserved', startMs }] });
}

/** Slots of jobs that start in this plan, or claim. */
export function* startedJobs({ placed, preemptions }: Pass): IterableIterator<number> {
  yield* placed.jobs();
  for (const { job } of preemptions.claims) yield job;
}
