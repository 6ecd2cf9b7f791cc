// A job's states and the only way between them. The store calls `stepJob` inside the transaction that writes the new
// state and its event; nothing else changes a job.
import { assertNever } from './assert.ts';
import type { JobId, NodeId, RunId } from './ids.ts';
import {
  type AfterRun,
  cancelledResult,
  type Failures,
  type JobResult,
  noFailures,
  type RunResult,
} from './outcome.ts';
import type { Claim } from './plan.ts';
import { allows, type Stepped, type Transitions } from './transitions.ts';

/** One time that a run of the job was stopped for another job. */
export interface Preemption {
  readonly atMs: number;
  readonly by: JobId;
}

/** A larger budget of preemptions is none; the guard against circles remembers as many preemptors. */
export const preemptionsKept = 32;

/** What happened to the job so far, as far as later decisions need it. */
export interface JobPast {
  readonly failures: Failures;
  /** When an attempt last failed and was charged for it; null when none was. */
  readonly failedMs: number | null;
  /** Nodes to keep away from while any other fits. */
  readonly avoid: readonly NodeId[];
  /** The last preemptions, oldest first. */
  readonly preempted: readonly Preemption[];
  /** Work that its runs had saved when they ended. */
  readonly savedMs: number;
}

export const freshPast: JobPast = {
  failures: noFailures,
  failedMs: null,
  avoid: [],
  preempted: [],
  savedMs: 0,
};

interface Waiting extends JobPast {
  /** The attempt that will start next; the first is 1. */
  readonly attempt: number;
  readonly sinceMs: number;
  /** Not started before this time (retry backoff); 0 when nothing delays it. */
  readonly notBeforeMs: number;
}

interface Placed extends JobPast {
  readonly attempt: number;
  readonly run: RunId;
}

export type JobState =
  /** With a claim it waits for its victims to end, and then starts exactly there. */
  | ({ readonly state: 'queued'; readonly claim: Claim | null } & Waiting)
  | ({ readonly state: 'held'; readonly by: string } & Waiting)
  | ({ readonly state: 'starting' } & Placed)
  | ({ readonly state: 'running'; readonly startedMs: number } & Placed)
  | ({ readonly state: 'stopping'; readonly by: string } & Placed)
  | {
      readonly state: 'ended';
      readonly attempt: number;
      readonly result: JobResult;
      readonly endedMs: number;
    };

export type JobStateEvent =
  | { readonly kind: 'hold'; readonly by: string }
  | { readonly kind: 'release'; readonly nowMs: number }
  | { readonly kind: 'cancel'; readonly by: string; readonly nowMs: number }
  | { readonly kind: 'plan'; readonly run: RunId }
  | { readonly kind: 'claim'; readonly claim: Claim }
  | { readonly kind: 'unclaim' }
  | { readonly kind: 'run-start'; readonly run: RunId; readonly nowMs: number }
  | {
      readonly kind: 'run-end';
      readonly run: RunId;
      readonly result: RunResult;
      readonly then: AfterRun;
      /** The job for which the run was stopped; null when it was no preemption. */
      readonly preemptor: JobId | null;
      /** Work that the run had saved. */
      readonly savedMs: number;
      readonly nowMs: number;
    };

/** member: only its array as a whole can be held or released. */
export type JobRefusal = 'not-now' | 'already-ended' | 'stale-run' | 'member';

export const jobTransitions: Transitions<JobState['state'], JobStateEvent['kind']> = {
  queued: {
    hold: ['held'],
    cancel: ['ended'],
    plan: ['starting'],
    claim: ['queued'],
    unclaim: ['queued'],
  },
  held: { hold: ['held'], release: ['queued'], cancel: ['ended'] },
  starting: { 'run-start': ['running'], cancel: ['stopping'], 'run-end': ['queued', 'ended'] },
  running: { cancel: ['stopping'], 'run-end': ['queued', 'ended'] },
  stopping: { cancel: ['stopping'], 'run-end': ['ended'] },
  ended: {},
};

export function stepJob(job: JobState, event: JobStateEvent): Stepped<JobState, JobRefusal> {
  if (job.state === 'ended') return { ok: false, reason: 'already-ended' };
  if (!allows(jobTransitions, job.state, event.kind)) return { ok: false, reason: 'not-now' };
  // A late word about an old attempt changes nothing.
  if ('run' in event && 'run' in job && event.run !== job.run) return { ok: false, reason: 'stale-run' };
  switch (event.kind) {
    case 'hold': {
      if (job.state !== 'queued') return to(job);
      const { claim: _, ...rest } = job;
      return to({ ...rest, state: 'held', by: event.by });
    }
    case 'release': {
      if (job.state !== 'held') return to(job);
      const { by: _, ...rest } = job;
      return to({ ...rest, state: 'queued', sinceMs: event.nowMs, claim: null });
    }
    case 'cancel':
      if (job.state === 'queued' || job.state === 'held') {
        return to({
          state: 'ended',
          attempt: job.attempt - 1,
          result: cancelledResult(`cancelled by ${event.by}`),
          endedMs: event.nowMs,
        });
      }
      return job.state === 'stopping' ? to(job) : to({ ...placed(job), state: 'stopping', by: event.by });
    case 'plan':
      if (job.state !== 'queued') return { ok: false, reason: 'not-now' };
      return to({ state: 'starting', attempt: job.attempt, run: event.run, ...pastOf(job) });
    case 'claim':
      return job.state === 'queued' && job.claim === null
        ? to({ ...job, claim: event.claim })
        : { ok: false, reason: 'not-now' };
    case 'unclaim':
      if (job.state !== 'queued') return { ok: false, reason: 'not-now' };
      return job.claim === null ? to(job) : to({ ...job, claim: null });
    case 'run-start':
      return job.state === 'starting'
        ? to({ ...job, state: 'running', startedMs: event.nowMs })
        : { ok: false, reason: 'not-now' };
    case 'run-end':
      return runEnded(job, event);
    default:
      return assertNever(event);
  }
}

function runEnded(
  job: Exclude<JobState, { state: 'ended' }>,
  event: Extract<JobStateEvent, { kind: 'run-end' }>,
): Stepped<JobState, JobRefusal> {
  const { nowMs, then, result } = event;
  if (job.state === 'stopping') {
    // A job that finished before the stop reached it has finished; otherwise it is cancelled, whatever its exit says.
    const kept =
      result.outcome === 'succeeded'
        ? result
        : { ...cancelledResult(`cancelled by ${job.by}`), code: result.code, signal: result.signal };
    return to({ state: 'ended', attempt: job.attempt, result: kept, endedMs: nowMs });
  }
  if (then.kind === 'end')
    return to({ state: 'ended', attempt: job.attempt, result: then.result, endedMs: nowMs });
  const past = pastOf(job as Placed);
  const { failures, avoid, delayMs } = then;
  const charged = total(failures) > total(past.failures);
  return to({
    state: 'queued',
    attempt: job.attempt + 1,
    sinceMs: nowMs,
    notBeforeMs: delayMs === 0 ? 0 : nowMs + delayMs,
    failures,
    failedMs: charged ? nowMs : past.failedMs,
    avoid,
    preempted: preemptedAgain(past.preempted, event),
    savedMs: past.savedMs + event.savedMs,
    claim: null,
  });
}

/** Only a run that preemption ended counts: one that failed or was lost while it was being stopped has other reasons. */
function preemptedAgain(
  before: readonly Preemption[],
  { result, preemptor, nowMs }: Extract<JobStateEvent, { kind: 'run-end' }>,
): readonly Preemption[] {
  if (preemptor === null || result.outcome !== 'failed' || result.class !== 'preemption') return before;
  return [...before, { atMs: nowMs, by: preemptor }].slice(-preemptionsKept);
}

function total({ user, outOfMemory, infrastructure }: Failures): number {
  return user + outOfMemory + infrastructure;
}

export function pastOf({ failures, failedMs, avoid, preempted, savedMs }: JobPast): JobPast {
  return { failures, failedMs, avoid, preempted, savedMs };
}

function placed(job: Placed): Placed {
  return { attempt: job.attempt, run: job.run, ...pastOf(job) };
}

function to(next: JobState): Stepped<JobState, JobRefusal> {
  return { ok: true, next };
}
