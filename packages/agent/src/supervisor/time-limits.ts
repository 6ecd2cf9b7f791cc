// When a task must be stopped for time: its lease (nobody said in time that it may go on) and its own time limit.
import type { Lease, StopRequest, TaskSpec } from './protocol.ts';

export interface DueStop {
  readonly signalAtMs: number;
  readonly killAtMs: number;
  readonly request: StopRequest;
}

/**
 * The kill falls inside the deadline, by a margin for a busy machine: after the deadline another attempt may start
 * elsewhere. The signal comes a grace earlier, but never takes more than a third of the time a run may live unrenewed,
 * or a job with a long grace would be stopped while all is well.
 */
export function leaseStop({ deadlineMs, stopAfterMs }: Lease, graceMs: number): DueStop | null {
  if (deadlineMs === null || stopAfterMs === null) return null;
  const marginMs = Math.min(500, stopAfterMs / 20);
  const killAtMs = deadlineMs - marginMs;
  const signalAtMs = killAtMs - Math.min(graceMs, stopAfterMs / 3);
  const message = `stopped, because no renewal reached this node for ${Math.round(stopAfterMs / 1000)} s and another attempt may start elsewhere`;
  const request: StopRequest = {
    class: 'infrastructure',
    reason: { code: 'lease-expired', message },
    how: null,
  };
  return { signalAtMs, killAtMs, request };
}

export function timeLimitStop(spec: TaskSpec, startedMs: number): DueStop | null {
  if (spec.timeLimitMs === null) return null;
  const signalAtMs = startedMs + spec.timeLimitMs;
  const reason = { code: 'time-limit', message: `time limit of ${spec.words.timeLimit} reached` };
  return {
    signalAtMs,
    killAtMs: signalAtMs + spec.stop.graceMs,
    request: { class: 'timeout', reason, how: null },
  };
}
