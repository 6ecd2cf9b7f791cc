// A job's states and the only way between them. The store calls `stepJob` inside the transaction that writes the new
// state and its event; nothing else changes a job.
import { assertNever } from './assert.ts';
import type { NodeId, RunId } from './ids.ts';
import { type AfterRun, cancelledResult, type Failures, type JobResult, type RunResult } from './outcome.ts';
import { allows, type Stepped, type Transitions } from './transitions.ts';

interface Waiting {
  /** The attempt that will start next; the first is 1. */
  readonly attempt: number;
  readonly sinceMs: number;
  /** Not started before this time (retry backoff); 0 when nothing delays it. */
  readonly notBeforeMs: number;
  readonly failures: Failures;
  /** Nodes to keep away from while any other fits. */
  readonly avoid: readonly NodeId[];
}

interface Placed {
  readonly attempt: number;
  readonly run: RunId;
  readonly failures: Failures;
  readonly avoid: readonly NodeId[];
}

export type JobState =
  | ({ readonly state: 'queued' } & Waiting)
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
  | { readonly kind: 'run-start'; readonly run: RunId; readonly nowMs: number }
  | {
      readonly kind: 'run-end';
      readonly run: RunId;
      readonly result: RunResult;
      readonly then: AfterRun;
      readonly nowMs: number;
    };

export type JobRefusal = 'not-now' | 'already-ended' | 'stale-run';

export const jobTransitions: Transitions<JobState['state'], JobStateEvent['kind']> = {
  queued: { hold: ['held'], cancel: ['ended'], plan: ['starting'] },
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
    case 'hold':
      return job.state === 'queued' ? to({ ...job, state: 'held', by: event.by }) : to(job);
    case 'release': {
      if (job.state !== 'held') return to(job);
      const { by: _, ...rest } = job;
      return to({ ...rest, state: 'queued', sinceMs: event.nowMs });
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
      return to({
        state: 'starting',
        attempt: job.attempt,
        run: event.run,
        failures: job.failures,
        avoid: job.avoid,
      });
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
  const { failures, avoid, delayMs } = then;
  return to({
    state: 'queued',
    attempt: job.attempt + 1,
    sinceMs: nowMs,
    notBeforeMs: delayMs === 0 ? 0 : nowMs + delayMs,
    failures,
    avoid,
  });
}

function placed(job: Placed): Placed {
  return { attempt: job.attempt, run: job.run, failures: job.failures, avoid: job.avoid };
}

function to(next: JobState): Stepped<JobState, JobRefusal> {
  return { ok: true, next };
}
