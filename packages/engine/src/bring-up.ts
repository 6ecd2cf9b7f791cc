// What has to be looked at again, before anything is decided or explained: jobs whose backoff ended join their lines, and
// shapes, lanes and searches that a change could have helped are opened. Only a decision forgets whom it has looked at again.

import type { Lane } from './entry.ts';
import { isUserOver, overAt } from './gates.ts';
import { freeMilli, leastMilli } from './moves.ts';
import type { Pass } from './pass.ts';
import type { Queue } from './queue.ts';
import { QuotaRights } from './rights.ts';
import { isGreedy, matchShape, type Shape } from './shape.ts';
import { lookForVictims, type State } from './state.ts';
import { TierBook } from './tier-book.ts';
import { never } from './victims.ts';

/** Lines, past use, quota and open shapes as they are at this time; called before anything is decided or explained. */
export function bringUp(state: State, nowMs: number): void {
  const { queue, freed, projects, eased } = state;
  state.clockMs = Math.max(state.clockMs, nowMs);
  // Whoever found only room that is kept for another looks again when anything happened, or the order or an end moved.
  let moved = state.lookedAt !== state.sequence;
  state.lookedAt = state.sequence;
  moved = queue.promote(state.clockMs, (job) => lookForVictims(state, job)) || moved;
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
  if (spokeForOthers(state)) state.againMs = 0;
  if (state.claiming || state.againMs <= state.clockMs) {
    for (const id of state.wanting) {
      const entry = queue.entries[id];
      if (entry) queue.reopen(entry.lane.shape);
    }
    letOutEased(state);
  }
  if (state.touched || queue.mix.moved) lookForMoves(state);
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

/**
 * Who found nobody to stop spoke for all that are expected to be longer, and nobody knows when those might find somebody. Once it
 * is gone they look for themselves.
 */
function spokeForOthers({ queue, wanting, policy }: State): boolean {
  const spoke = policy.runTimes.stop === 'longer' && [...queue.emptied].some((id) => wanting.has(id));
  queue.emptied.clear();
  return spoke;
}

/** Which runs would all have a place elsewhere is found greedily: whatever is taken or given back may happen to help. */
function lookForMoves(state: State): void {
  const { queue, wanting, policy } = state;
  if (policy.runTimes.stop === 'nobody' || wanting.size === 0) return;
  const free = freeMilli(state);
  for (const id of wanting) {
    const shape = queue.entries[id]?.lane.shape;
    if (shape && shape.blocked !== null && leastMilli(shape) <= free) queue.reopen(shape);
  }
}

/** Only a decision has looked; a question leaves it to the next one, whatever it opened for its answer. */
export function lookedAgain(state: State): void {
  if (state.movedOn) {
    for (const id of state.unserved) state.wanting.delete(id);
    state.unserved.clear();
    state.movedOn = false;
  }
  if (!state.claiming && state.againMs > state.clockMs) return;
  state.wanting.clear();
  state.limits.clear();
  state.againMs = never;
  state.claiming = false;
}

/**
 * Nobody may have passed another, or the first of a lane that found nobody spoke for it: with another order they may get
 * the victims that there are. And who waits for ends that are near has to look when others take what they leave.
 */
export function noteUnserved({ queue, unserved }: State, { wants, preemptions }: Pass): void {
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
