// A job's row as people see it: why it waits is told by its array, its claim, its backoff, or else its queue entry.
import {
  type ArraySize,
  type ArrayState,
  type Claim,
  isArray,
  isArrayFull,
  type JobId,
  type JobState,
  parseMemberId,
  rowlessMember,
  type Verdict,
} from '@muster/model';
import type { JobRow } from '../contract.ts';

/** A row as a store reads it, before its own verdict is worked out. */
export type JobColumns = JobRow & { readonly backsOff: boolean; readonly arrayState: ArrayState | null };

export function jobRow({ backsOff, arrayState, ...row }: JobColumns): JobRow {
  const state = row.state as JobState;
  const array = isArray(row.state) ? row.state : state.state === 'queued' && !state.claim ? arrayState : null;
  const verdict = array && row.spec.array ? arrayVerdict(array, row.spec.array) : null;
  if (verdict) return { ...row, verdict };
  if (state.state === 'queued' && state.claim) return { ...row, verdict: claimVerdict(state.claim) };
  return backsOff ? { ...row, verdict: backoffOf(row) } : row;
}

/** Of the array and not of its entry: why none of it starts. What is held says so itself. */
function arrayVerdict(array: ArrayState, size: ArraySize): Verdict | null {
  if (array.state === 'held') return { kind: 'waits', reasons: [{ code: 'held', by: array.by }] };
  if (size.parallel === null || !isArrayFull(array, size) || array.waiting.length + array.again === 0)
    return null;
  return { kind: 'waits', reasons: [{ code: 'parallel', running: array.live, parallel: size.parallel }] };
}

/** Of one job and not of its entry; how many of them have ended is for `why` to tell. */
function claimVerdict({ victims }: Claim): Verdict {
  return {
    kind: 'waits',
    reasons: [{ code: 'preempting', victims: victims.length, left: victims.length }],
  };
}

function backoffOf({ state }: JobRow): Verdict | null {
  if (state.state !== 'queued' || isArray(state)) return null;
  const { user, outOfMemory, infrastructure } = state.failures;
  const failures = user + outOfMemory + infrastructure;
  return { kind: 'waits', reasons: [{ code: 'not-before', untilMs: state.notBeforeMs, failures }] };
}

/** Of a member that never started: only its array knows it. */
export function rowlessMemberRow(array: JobColumns, id: JobId): JobRow | null {
  const member = parseMemberId(id);
  const state = member && isArray(array.state) ? rowlessMember(array.state, member.index) : null;
  if (!state) return null;
  const row = { ...array, id, state, startedMs: null, arrayState: array.state as ArrayState };
  return jobRow({ ...row, verdict: state.state === 'queued' ? array.verdict : null });
}
