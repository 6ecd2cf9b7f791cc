// Whether a job would start in this cycle, found out by the walk that `decide` makes; and how much trying is allowed. Steps
// count what a walk does (shapes and lanes in line, tasks placed), never time.
import { type JobId, taskCount } from '@muster/model';
import { Members } from './members.ts';
import { type Pass, type Stop, undoPass, walk } from './pass.ts';
import { Preemptions } from './preempt.ts';
import { mightPreempt } from './rights.ts';
import type { State } from './state.ts';
import { fitsNow } from './verdict.ts';

export class Steps {
  left: number;
  /** Set once something was not tried for want of steps. */
  ranOut = false;

  constructor(left: number) {
    this.left = left;
  }

  take(steps: number): boolean {
    if (this.left < steps) {
      this.ranOut = true;
      return false;
    }
    this.left -= steps;
    return true;
  }
}

export interface Started {
  /** Runs that are stopped for it; with none it starts at once. */
  readonly victims: number;
}

/** How to look: with how many steps, and whether runs may be stopped for the job itself. Others do as they would. */
export interface Looking {
  readonly steps: Steps | null;
  readonly preempts: boolean;
  /** The member that is meant, where the job is an array and it is not the next one. */
  readonly member?: JobId | undefined;
  /** Told of every job that has its turn, the last one included. */
  readonly saw?: (job: number) => void;
}

/** Walks until the job had its turn or can no longer have one; `look` sees the walk before it is undone. */
export function walkTo(
  state: State,
  job: number,
  { steps, preempts, member, saw }: Looking,
  look: (pass: Pass, reached: boolean) => void,
): void {
  const { queue, fleets } = state;
  const entry = queue.entryOf(job);
  const { lane } = entry;
  const { shape } = lane;
  // A search for victims looks at every node, a few at a time.
  const searchSteps = 1 + (fleets.live.existing >>> 3);
  let reached = false;
  let searches = 0;
  const may = preempts && mightPreempt(state, job);
  const stop: Stop = (next, { failed, over, kept, preemptions, members }) => {
    if (reached || (failed.has(shape) && !may) || over.has(lane) || kept.has(entry)) return true;
    const searched = preemptions.wanting.size - searches;
    searches += searched;
    const cost = 1 + taskCount(queue.entryOf(next).lane.shape.demand) + searched * searchSteps;
    if (steps && !steps.take(cost)) return true;
    saw?.(next);
    reached = next === job && (member === undefined || members.next(job) === member);
    return false;
  };
  const pass = walk(state, stop, { exempt: preempts ? -1 : job });
  look(pass, reached);
  undoPass(state, pass);
}

/** Null when it would not, or when the steps did not last; `look` is called while it counts as started. */
export function startsNow(
  state: State,
  job: number,
  steps: Steps,
  look: () => void = () => {},
): Started | null {
  const { lane } = state.queue.entryOf(job);
  if (lane.shape.blocked !== null || lane.gated !== null) return null;
  // A shape that does not fit as the walk begins is not in line, so that its jobs do not start by themselves, whoever else is;
  // that is one look, where a walk lines up everybody.
  if (!steps.take(1 + taskCount(lane.shape.demand)) || !fitsNow(state.fleets, lane.shape)) return null;
  if (!steps.take(inLine(state))) return null;
  let started: Started | null = null;
  walkTo(state, job, { steps, preempts: false }, ({ placed }) => {
    if (placed.last()?.job !== job) return;
    started = { victims: 0 };
    look();
  });
  return started;
}

/** The same by stopping runs of others, for a job that would not start by itself. */
export function preemptsNow(state: State, job: number, steps: Steps): Started | null {
  const { queue, fleets } = state;
  const { lane } = queue.entryOf(job);
  if (!mightPreempt(state, job)) return null;
  if (!steps.take(inLine(state) + 1 + (fleets.live.existing >>> 3))) return null;
  // A ceiling that keeps its lane out may be eased by victims.
  const { gated, shape } = lane;
  if (!gated) return preemptsFromLane(state, job, steps);
  const open = queue.open.has(shape);
  queue.ungate(lane);
  const started = preemptsFromLane(state, job, steps);
  queue.gate(lane, gated);
  if (!open) queue.open.delete(shape);
  return started;
}

function preemptsFromLane(state: State, job: number, steps: Steps): Started | null {
  const { queue } = state;
  const { lane } = queue.entryOf(job);
  const looks = howToLook(state, job);
  if (looks === 'in-vain') return null;
  if (looks === 'alone') {
    const { victims } = new Preemptions(state, state.clockMs, new Members(state.jobs)).alone(job);
    return victims > 0 ? { victims } : null;
  }
  const open = queue.open.has(lane.shape);
  queue.open.add(lane.shape);
  let started: Started | null = null;
  walkTo(state, job, { steps, preempts: true }, ({ preemptions }) => {
    const claim = preemptions.claims.at(-1);
    if (claim?.job === job) started = { victims: claim.claim.victims.length };
  });
  if (!open) queue.open.delete(lane.shape);
  return started;
}

/**
 * What finds out whether a job would stop others. Where everybody else has looked in vain already only the first of a lane need
 * look, and alone: a lane leaves the line with the first that finds nobody. Not so where that one only steps aside, or has a
 * planned start and others have more of them, or where nobody may be passed: then the walk knows.
 */
function howToLook({ queue, jobs, policy, clockMs }: State, job: number): 'walk' | 'alone' | 'in-vain' {
  const { mode } = policy.backfill;
  const { lane } = queue.entryOf(job);
  if (lane.shape.blocked === null || queue.open.size > 0 || mode === 'strict') return 'walk';
  const first = queue.firstOf(lane);
  if (first === job) return 'alone';
  const failedMs = jobs.failedMs(first);
  const cools = failedMs !== null && failedMs + policy.preemption.coolingMs > clockMs;
  // Who may stop only what is longer than itself does not speak for others of its lane.
  const speaks = policy.runTimes.stop === 'nobody';
  return cools || mode === 'conservative' || !speaks ? 'walk' : 'in-vain';
}

/** Steps to line everybody up. */
export function inLine({ queue }: State): number {
  let count = 1;
  for (const shape of queue.open) count += 1 + shape.lanes.size;
  return count;
}
