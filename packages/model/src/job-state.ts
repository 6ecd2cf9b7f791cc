// A job's states and the only way between them. The store calls `stepJob` inside the transaction that writes the new
// state and its event; nothing else changes a job.
import { assertNever } from './assert.ts';
import type { JobId, NodeId, RunId } from './ids.ts';
import type { Move } from './move.ts';
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
  /** Where it is to be, as somebody asked; left out when it may be anywhere. */
  readonly move?: Move;
}

interface Placed extends JobPast {
  readonly attempt: number;
  readonly run: RunId;
  readonly move?: Move;
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
  | { readonly kind: 'move'; readonly move: Move }
  | { readonly kind: 'unmove' }
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
    unmove: ['queued'],
  },
  held: { hold: ['held'], release: ['queued'], cancel: ['ended'], unmove: ['held'] },
  starting: {
    'run-start': ['running'],
    cancel: ['stopping'],
    move: ['starting'],
    unmove: ['starting'],
    'run-end': ['queued', 'ended'],
  },
  running: { cancel: ['stopping'], move: ['running'], unmove: ['running'], 'run-end': ['queued', 'ended'] },
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
      return to({ state: 'starting', attempt: job.attempt, run: event.run, ...pastOf(job), ...moveOf(job) });
    case 'move':
      if (job.state !== 'starting' && job.state !== 'running') return { ok: false, reason: 'not-now' };
      return event.move.run === job.run
        ? to({ ...job, move: event.move })
        : { ok: false, reason: 'stale-run' };
    case 'unmove':
      return unmoved(job);
    case 'claim':
      return job.state === 'queued' && job.claim === null
        ? to({ ...job, claim: event.claim })
        : { ok: false, reason: 'not-now' };
    case 'unclaim':
      if (job.state !== 'queued') return { ok: false, reason: 'not-now' };
      return job.claim === null ? to(job) : to({ ...job, claim: null });
    case 'run-start':
      return job.state === 'starting'
        ? to({ ...job, state: 'running', startedMs: event.nowMs, ...arrived(job) })
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
    ...('move' in job && job.move && !job.move.over && { move: job.move }),
  });
}

/** Of a run that is being stopped for it, only the word where to go is taken back. */
function unmoved(job: Exclude<JobState, { state: 'ended' }>): Stepped<JobState, JobRefusal> {
  const move = 'move' in job ? job.move : undefined;
  if (!move || move.over) return to(job);
  if (job.state === 'queued' || job.state === 'held') {
    const { move: _, ...rest } = job;
    return to(rest);
  }
  if ((job.state !== 'starting' && job.state !== 'running') || move.run !== job.run)
    return { ok: false, reason: 'not-now' };
  return to({ ...job, move: { ...move, over: true } });
}

/** The run that starts is the one that the move was for, unless it is the one that is to leave. */
function arrived({ move, run }: Placed): { readonly move?: Move } {
  return move && move.run !== run ? { move: { ...move, over: true } } : {};
}

function moveOf({ move }: { readonly move?: Move }): { readonly move?: Move } {
  return move ? { move } : {};
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
