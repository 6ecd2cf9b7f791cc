// Answers to questions: the whole verdict of one job, and what a job would be told if it were submitted now. Both walk the
// queue as `decide` would, stop at the job in question, and leave everything as it was.
import { type JobId, type NodeId, type OverCeiling, runId, type Verdict } from '@muster/model';
import { factsOf } from './apply.ts';
import type { JobRequest } from './engine.ts';
import { slotsOf } from './fit.ts';
import type { Fleet } from './fleet.ts';
import { allOver } from './gates.ts';
import { failureCount, held, placed } from './jobs.ts';
import type { Placement } from './ledger.ts';
import { behindReason, bringUp, ceilingReason } from './make-plan.ts';
import { undoPass, walk } from './pass.ts';
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

/** Every ceiling in the way and what the fleet lacks; if neither, whether its turn comes in time. */
function whyWaits(state: State, job: number): Verdict {
  const { queue, fleets, projects } = state;
  const { lane } = queue.entryOf(job);
  const { shape, project, user } = lane;
  const over = allOver(projects, project, user, shape.ask);
  // A blocked shape does not fit, whoever else is served first.
  const fits = shape.blocked === null && fitsNow(fleets, shape);
  if (over.length > 0 || !fits) return together(over, fits ? null : whyNot(fleets, shape).verdict);
  let reached = false;
  // What was tried in vain is tried again for the answer.
  if (shape.stalled) queue.open.add(shape);
  const pass = walk(state, (next, { failed, over: out }) => {
    if (reached || failed.has(shape) || out.has(lane)) return true;
    reached = next === job;
    return false;
  });
  const last = pass.placed.at(-1);
  const verdict = last?.job === job ? placedOn(fleets.live, last.placement) : null;
  undoPass(state, pass);
  if (shape.stalled) queue.open.delete(shape);
  if (verdict) return verdict;
  const ask = pass.over.get(lane);
  const late = ask ? allOver(projects, project, user, ask) : [];
  return late.length > 0 ? ceilingReason(late).verdict : behindReason(state, job).verdict;
}

function together(over: readonly OverCeiling[], noRoom: Verdict | null): Verdict {
  const quota = over.length > 0 ? ceilingReason(over).verdict : null;
  if (!quota || !noRoom) return (quota ?? noRoom)!;
  if (noRoom.kind === 'impossible') return { ...noRoom, reasons: [...over, ...noRoom.reasons] };
  if (quota.kind === 'waits' && noRoom.kind === 'waits')
    return { kind: 'waits', reasons: [...quota.reasons, ...noRoom.reasons] };
  return quota;
}

const considered = 'job_considered' as JobId;

/** Puts such a job in line, looks, and takes it out again. */
export function consider(state: State, request: JobRequest, nowMs: number): Verdict {
  const { jobs, queue } = state;
  bringUp(state, nowMs);
  const job = jobs.add(considered, state.sequence + 1, state.clockMs);
  queue.enter(job, factsOf(request), request.demand);
  queue.queue(job, state.clockMs);
  const verdict = whyWaits(state, job);
  queue.leave(job);
  return verdict;
}

function placedOn(fleet: Fleet, placement: Placement): Verdict {
  const slots = new Set(slotsOf(fleet, placement));
  return { kind: 'placed', nodes: [...slots].map((slot) => fleet.facts[slot]!.node) };
}
