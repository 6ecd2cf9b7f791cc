// How things end: the exit of one task, the result of a run, the result of a job, and the rule that turns a run's
// result into a retry or an end. Only errors of the command itself use up the user's retry budget; preemption never
// uses any.
import type { NodeId } from './ids.ts';
import type { JobSpec } from './job-spec.ts';

/**
 * user: the command failed. out-of-memory: killed for memory. infrastructure: node, agent, network or Muster.
 * preemption: its capacity was given to another job, or it was moved. timeout: its own time limit. cancelled: somebody asked.
 */
export type ErrorClass = 'user' | 'out-of-memory' | 'infrastructure' | 'preemption' | 'timeout' | 'cancelled';

/** A short stable word for machines beside a sentence for people. */
export interface Reason {
  readonly code: string;
  readonly message: string;
}

export type TaskExit =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly class: ErrorClass;
      /** Exit code of the process; null when a signal or something else ended it. */
      readonly code: number | null;
      readonly signal: string | null;
      readonly reason: Reason;
    };

export type RunResult =
  | { readonly outcome: 'succeeded' }
  | {
      readonly outcome: 'failed' | 'cancelled';
      readonly class: ErrorClass;
      readonly code: number | null;
      readonly signal: string | null;
      readonly reason: Reason;
      /** The task that failed first, and where; null when no task did. */
      readonly rank: number | null;
      readonly node: NodeId | null;
    };

export type JobResult = RunResult;

/** Somebody asked for the end; no task is to blame and there is no exit status. */
export function cancelledResult(message: string): Exclude<RunResult, { outcome: 'succeeded' }> {
  const reason = { code: 'cancelled', message };
  return {
    outcome: 'cancelled',
    class: 'cancelled',
    code: null,
    signal: null,
    reason,
    rank: null,
    node: null,
  };
}

/** Its room goes to another job; nobody is to blame and nothing is charged. */
export function preemptedResult(message: string): Exclude<RunResult, { outcome: 'succeeded' }> {
  const reason = { code: 'preempted', message };
  return {
    outcome: 'failed',
    class: 'preemption',
    code: null,
    signal: null,
    reason,
    rank: null,
    node: null,
  };
}

/** The reason's code of a run that was stopped because somebody wanted it elsewhere. */
export const movedCode = 'moved';

/** It goes on elsewhere because somebody asked for that; nothing is charged. */
export function movedResult(message: string): Exclude<RunResult, { outcome: 'succeeded' }> {
  return { ...preemptedResult(message), reason: { code: movedCode, message } };
}

/** What `muster run` exits with: the code of the task that decided, 128 + n for a signal, 1 when there is neither. */
export function exitCode(result: JobResult): number {
  if (result.outcome === 'succeeded') return 0;
  if (result.signal !== null) return 128 + (signalNumbers[result.signal] ?? 0);
  return result.code !== null && result.code !== 0 ? result.code : 1;
}

const signalNumbers: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGSYS: 31,
};

/** Failures so far, by budget. */
export interface Failures {
  readonly user: number;
  readonly outOfMemory: number;
  readonly infrastructure: number;
}

export const noFailures: Failures = { user: 0, outOfMemory: 0, infrastructure: 0 };

/** The reason's code of a run of which nothing was ever sent to a node: nothing is charged for it. */
export const neverStarted = 'never-started';

/** The reason's code of a run that nobody can prove over and that can no longer write: nothing is charged for it. */
export const fencedCode = 'fenced';

export type AfterRun =
  | { readonly kind: 'end'; readonly result: JobResult; readonly failures: Failures }
  | {
      readonly kind: 'retry';
      readonly failures: Failures;
      readonly delayMs: number;
      readonly avoid: readonly NodeId[];
    };

/** What becomes of a job when its run ended. `avoid` is what earlier failures already told us to keep away from. */
export function afterRun(
  retry: JobSpec['retry'],
  failures: Failures,
  avoid: readonly NodeId[],
  result: RunResult,
): AfterRun {
  if (result.outcome !== 'failed') return { kind: 'end', result, failures };
  switch (result.class) {
    case 'preemption':
      return { kind: 'retry', failures, delayMs: 0, avoid };
    case 'timeout':
    case 'cancelled':
      return { kind: 'end', result, failures };
    case 'user':
      return charge('user');
    case 'out-of-memory':
      return charge('outOfMemory');
    case 'infrastructure':
      if (result.reason.code === neverStarted || result.reason.code === fencedCode)
        return { kind: 'retry', failures, delayMs: 0, avoid };
      return charge('infrastructure');
  }
  function charge(budget: keyof Failures): AfterRun {
    const counted = { ...failures, [budget]: failures[budget] + 1 };
    if (counted[budget] > retry[budget])
      return { kind: 'end', result: result as JobResult, failures: counted };
    const blamed =
      budget === 'infrastructure' && result.outcome === 'failed' && result.node !== null ? [result.node] : [];
    return {
      kind: 'retry',
      failures: counted,
      delayMs: retryDelayMs(budget, counted[budget]),
      avoid: lastFew([...avoid, ...blamed]),
    };
  }
}

/** A node lost is not the job's fault, so its first retry waits for nothing; everything else backs off by doubling. */
export function retryDelayMs(budget: keyof Failures, failureCount: number): number {
  const steps = budget === 'infrastructure' ? failureCount - 2 : failureCount - 1;
  return steps < 0 ? 0 : Math.min(1000 * 2 ** Math.min(steps, 20), 300_000);
}

/** Keeping away from every node that ever failed would leave none; the last four are enough to break a pattern. */
function lastFew(nodes: readonly NodeId[]): readonly NodeId[] {
  return [...new Set(nodes)].slice(-4);
}
