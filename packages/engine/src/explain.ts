// Answers to questions: the whole verdict of one job, and what a job would be told if it were submitted now. Both walk the
// queue as `decide` would, stop at the job in question, and leave everything as it was.
import { type JobId, type NodeId, runId, type Verdict } from '@muster/model';
import type { JobRequest } from './engine.ts';
import { place, slotsOf } from './fit.ts';
import type { Fleet } from './fleet.ts';
import { failureCount, held, placed } from './jobs.ts';
import { type Placement, undo } from './ledger.ts';
import { behindReason, bringUp } from './make-plan.ts';
import { compareStanding } from './order.ts';
import { undoPass, walk } from './pass.ts';
import { matchShape } from './shape.ts';
import type { State } from './state.ts';
import { fitsNow, whyNot } from './verdict.ts';

export function explain(state: State, id: JobId, nowMs: number): Verdict | null {
  const { jobs } = state;
  const job = jobs.slots.get(id);
  if (job === undefined) return null;
  if (jobs.state[job] === placed) return { kind: 'placed', nodes: runNodes(state, job) };
  if (jobs.state[job] === held)
    return { kind: 'waits', reasons: [{ code: 'held', by: jobs.heldBy(job) ?? '' }] };
  bringUp(state, nowMs);
  return state.queue.stands(job) ? whyWaits(state, job) : notBefore(state, job);
}

function notBefore(state: State, job: number): Verdict {
  const { jobs } = state;
  const failures = failureCount(jobs.failures(job));
  return {
    kind: 'waits',
    reasons: [{ code: 'not-before', untilMs: jobs.notBeforeMs[job]!, failures }],
  };
}

function runNodes(state: State, job: number): NodeId[] {
  const run = state.runs.get(runId(state.jobs.ids[job]!, state.jobs.attempt[job]!));
  return [...new Set(run?.tasks.map((task) => task.node))];
}

function whyWaits(state: State, job: number): Verdict {
  const { queue, fleets } = state;
  const { shape } = queue.entryOf(job);
  // A blocked shape does not fit, whoever else is served first.
  if (shape.blocked !== null) return whyNot(fleets, shape).verdict;
  let reached = false;
  const pass = walk(state, (next, _, { failed }) => {
    if (reached || failed.has(shape)) return true;
    reached = next === job;
    return false;
  });
  const last = pass.placed.at(-1);
  const verdict = last?.job === job ? placedOn(fleets.live, last.placement) : null;
  undoPass(state, pass);
  if (verdict) return verdict;
  return fitsNow(fleets, shape) ? behindReason(state, job).verdict : whyNot(fleets, shape).verdict;
}

/** The job would be the last of its standing: everything of the same or a higher one is served first. */
export function consider(state: State, request: JobRequest, nowMs: number): Verdict {
  bringUp(state, nowMs);
  const { queue, fleets } = state;
  const shape = queue.shapeFor(request.demand);
  const standing = queue.standingOf(request.tier, request.priority);
  const pass = walk(state, (_, next) => compareStanding(next, standing) > 0);
  matchShape(shape, fleets.live.classes);
  const placement = place(fleets.live, shape, []);
  const verdict = placement ? placedOn(fleets.live, placement) : null;
  if (placement) undo(fleets.live, placement);
  undoPass(state, pass);
  if (verdict) return verdict;
  if (!fitsNow(fleets, shape)) return whyNot(fleets, shape).verdict;
  return { kind: 'waits', reasons: [{ code: 'behind', ahead: queue.aheadOfNew(standing) }] };
}

function placedOn(fleet: Fleet, placement: Placement): Verdict {
  const slots = new Set(slotsOf(fleet, placement));
  return { kind: 'placed', nodes: [...slots].map((slot) => fleet.facts[slot]!.node) };
}
