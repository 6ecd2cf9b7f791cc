// Why what did not start in a plan waits, found out on the state as it is: shapes that do not fit are blocked with their reason,
// lanes over a ceiling are gated, and who only stands behind others is judged again when the plan has come back.
import type { OverCeiling } from '@muster/model';
import type { Entry, Lane } from './entry.ts';
import { allOver, allOverAny, overAt } from './gates.ts';
import { nearestWithin } from './nearest.ts';
import type { Kept, Pass } from './pass.ts';
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
    const reason = over.length > 0 ? ceilingReason(over, shape) : keptReason(kept);
    judged.entries.set(entry, shape.stalled ? reason : behind);
  }
  return judged;
}

/** Lanes that a change may have put over a ceiling are told so at once, whether or not there is room. */
export function gateOver(state: State, pass: Pass, judged: Judged): void {
  const { queue, projects, tightened } = state;
  // Victims may make room below a ceiling: a lane with a claim in this plan is judged once that has come back, or has not.
  const claimed = new Set(pass.preemptions.claims.map(({ job }) => queue.entryOf(job).lane));
  for (const lane of suspects(state)) {
    if (!lane || lane.waiting === 0 || lane.gated !== null || claimed.has(lane)) continue;
    const { project, user, shape } = lane;
    const at = overAt(project, user, shape.ask);
    if (at === null) continue;
    const reason = ceilingReason(allOver(projects, project, user, shape.ask), shape);
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
