// A run is one attempt of a job: all its tasks, on the nodes a plan chose. Its states say what is proven, not what is
// hoped: a run whose node fell silent is `unknown` and keeps its capacity until its end is proven.
import { assertNever } from './assert.ts';
import type { JobId } from './ids.ts';
import type { Reason, RunResult } from './outcome.ts';
import { allows, type Stepped, type Transitions } from './transitions.ts';

/** Why a run is being stopped before its own end. The first reason given stays; a later stop that asks for no checkpoint only ends the wait for one. */
export interface Stop {
  readonly reason: Reason;
  /** What the run's result will be if it does not turn out to have succeeded meanwhile. */
  readonly result: RunResult;
  /** The job whose claim needs this run's room; null when the stop is no preemption. */
  readonly preemptor: JobId | null;
  /** When the run was asked for a last checkpoint; null when it is stopped without asking. */
  readonly askedMs: number | null;
}

export type RunState =
  | { readonly state: 'planned' }
  /** Sent to the cluster at least once: from here on only looking tells whether it exists. */
  | { readonly state: 'starting' }
  | { readonly state: 'running'; readonly startedMs: number }
  | { readonly state: 'stopping'; readonly startedMs: number | null; readonly stop: Stop }
  | {
      readonly state: 'unknown';
      readonly startedMs: number | null;
      readonly sinceMs: number;
      readonly stop: Stop | null;
    }
  | {
      readonly state: 'ended';
      readonly startedMs: number | null;
      readonly endedMs: number;
      readonly result: RunResult;
    };

export type RunStateEvent =
  | { readonly kind: 'attempt' }
  /** Every task has started. */
  | { readonly kind: 'start'; readonly nowMs: number }
  | { readonly kind: 'stop'; readonly stop: Stop }
  | { readonly kind: 'silence'; readonly nowMs: number }
  /** Seen again after silence; `allStarted` as the tasks' states tell. */
  | { readonly kind: 'seen'; readonly allStarted: boolean; readonly nowMs: number }
  /** Every task is over, by proof. */
  | { readonly kind: 'end'; readonly result: RunResult; readonly nowMs: number };

export type RunRefusal = 'not-now' | 'already-ended';

export const runTransitions: Transitions<RunState['state'], RunStateEvent['kind']> = {
  planned: { attempt: ['starting'], stop: ['stopping'], silence: ['unknown'], end: ['ended'] },
  starting: {
    attempt: ['starting'],
    start: ['running'],
    stop: ['stopping'],
    silence: ['unknown'],
    end: ['ended'],
  },
  running: { stop: ['stopping'], silence: ['unknown'], end: ['ended'] },
  stopping: { stop: ['stopping'], silence: ['unknown'], end: ['ended'] },
  unknown: {
    stop: ['unknown'],
    silence: ['unknown'],
    seen: ['starting', 'running', 'stopping'],
    end: ['ended'],
  },
  ended: {},
};

export function stepRun(run: RunState, event: RunStateEvent): Stepped<RunState, RunRefusal> {
  if (run.state === 'ended') return { ok: false, reason: 'already-ended' };
  if (!allows(runTransitions, run.state, event.kind)) return { ok: false, reason: 'not-now' };
  const startedMs = 'startedMs' in run ? run.startedMs : null;
  switch (event.kind) {
    case 'attempt':
      return to({ state: 'starting' });
    case 'start':
      return to({ state: 'running', startedMs: event.nowMs });
    case 'stop':
      if ((run.state === 'stopping' || run.state === 'unknown') && run.stop)
        return to(run.stop.askedMs === null || event.stop.askedMs !== null ? run : unasked(run, run.stop));
      if (run.state === 'unknown') return to({ ...run, stop: event.stop });
      return to({ state: 'stopping', startedMs, stop: event.stop });
    case 'silence':
      if (run.state === 'unknown') return to(run);
      return to({
        state: 'unknown',
        startedMs,
        sinceMs: event.nowMs,
        stop: run.state === 'stopping' ? run.stop : null,
      });
    case 'seen':
      if (run.state !== 'unknown') return { ok: false, reason: 'not-now' };
      if (run.stop) return to({ state: 'stopping', startedMs, stop: run.stop });
      return event.allStarted
        ? to({ state: 'running', startedMs: startedMs ?? event.nowMs })
        : to({ state: 'starting' });
    case 'end':
      return to({ state: 'ended', startedMs, endedMs: event.nowMs, result: event.result });
    default:
      return assertNever(event);
  }
}

function unasked(run: Extract<RunState, { state: 'stopping' | 'unknown' }>, stop: Stop): RunState {
  return { ...run, stop: { ...stop, askedMs: null } };
}

function to(next: RunState): Stepped<RunState, RunRefusal> {
  return { ok: true, next };
}
