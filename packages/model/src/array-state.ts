// An array is one job of many members. A member is a job of its own (`job_…[17]`, job-state.ts) from its first plan on; those
// that never started are index ranges here, so that a million of them cost what one job costs. The array itself only counts:
// it ends when its last member has ended. The store steps it in the transaction that writes the members.
import { invariant } from './assert.ts';
import {
  allIndices,
  countOf,
  hasIndex,
  type IndexRange,
  type IndexRanges,
  within,
  without,
  withRange,
} from './index-ranges.ts';
import { freshPast, type JobState } from './job-state.ts';
import { cancelledResult, type JobResult } from './outcome.ts';

export interface ArraySize {
  readonly count: number;
  /** How many may run at once; null: as many as there is room for. */
  readonly parallel: number | null;
}

/** Where the members are; together they are all of the array. */
export interface ArrayProgress {
  /** Never started, and still to start. */
  readonly waiting: IndexRanges;
  /** Cancelled before they ever started; counted in `cancelled` too. */
  readonly dropped: IndexRanges;
  /** When the last of them were; null when there are none. */
  readonly droppedMs: number | null;
  /** Have a row and wait: after a failure or a preemption, or for victims to end. */
  readonly again: number;
  /** From plan to proven end. */
  readonly live: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
}

export type ArrayState = ArrayProgress &
  (
    | { readonly state: 'queued'; readonly sinceMs: number }
    /** No member starts; those that run go on. */
    | { readonly state: 'held'; readonly sinceMs: number; readonly by: string }
    /** At least one member is placed. */
    | { readonly state: 'running'; readonly sinceMs: number }
    /** Cancelled; the last members are on their way out. */
    | { readonly state: 'stopping'; readonly by: string }
    | { readonly state: 'ended'; readonly result: JobResult; readonly endedMs: number }
  );

export type ArrayRefusal = 'not-now' | 'already-ended';

/** A job's own state says whether it is an array. */
export function isArray(state: JobState | ArrayState): state is ArrayState {
  return 'waiting' in state;
}

export function freshArray({ count }: ArraySize, nowMs: number, heldBy: string | null): ArrayState {
  const progress = {
    waiting: allIndices(count),
    dropped: [],
    droppedMs: null,
    again: 0,
    live: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
  };
  return heldBy === null
    ? { ...progress, state: 'queued', sinceMs: nowMs }
    : { ...progress, state: 'held', sinceMs: nowMs, by: heldBy };
}

export function progressOf(array: ArrayProgress): ArrayProgress {
  const { waiting, dropped, droppedMs, again, live, succeeded, failed, cancelled } = array;
  return { waiting, dropped, droppedMs, again, live, succeeded, failed, cancelled };
}

/** Whether a member that never started may start now. */
export function mayTake(array: ArrayState, index: number): boolean {
  return (array.state === 'queued' || array.state === 'running') && hasIndex(array.waiting, index);
}

/** The member has a row from now on, and waits. */
export function takeMember(array: ArrayState, index: number): ArrayState {
  invariant(hasIndex(array.waiting, index), `member ${index} does not wait`);
  return { ...array, waiting: without(array.waiting, [index, index]), again: array.again + 1 };
}

/** A member went from one state to another. */
export function countMember(array: ArrayState, from: JobState, to: JobState): ArrayState {
  const [left, entered] = [placeOf(from), placeOf(to)];
  if (left === entered) return array;
  return { ...array, [left]: array[left] - 1, [entered]: array[entered] + 1 };
}

type Counted = 'again' | 'live' | 'succeeded' | 'failed' | 'cancelled';

function placeOf(member: JobState): Counted {
  if (member.state === 'queued' || member.state === 'held') return 'again';
  return member.state === 'ended' ? member.result.outcome : 'live';
}

/** Members of the range that never started will not. */
export function dropMembers(array: ArrayState, range: IndexRange, nowMs: number): ArrayState {
  const dropped = within(array.waiting, range);
  if (dropped.length === 0) return array;
  return {
    ...array,
    waiting: without(array.waiting, range),
    dropped: dropped.reduce(withRange, array.dropped),
    droppedMs: nowMs,
    cancelled: array.cancelled + countOf(dropped),
  };
}

export function holdArray(array: ArrayState, by: string): ArrayState | ArrayRefusal {
  if (array.state === 'ended') return 'already-ended';
  if (array.state === 'stopping') return 'not-now';
  if (array.state === 'held') return array;
  return { ...progressOf(array), state: 'held', sinceMs: array.sinceMs, by };
}

/** Those that wait begin to wait anew, as a job does that is released. */
export function releaseArray(array: ArrayState, nowMs: number): ArrayState | ArrayRefusal {
  if (array.state === 'ended') return 'already-ended';
  if (array.state === 'stopping') return 'not-now';
  if (array.state !== 'held') return array;
  return { ...progressOf(array), state: array.live > 0 ? 'running' : 'queued', sinceMs: nowMs };
}

export function stopArray(array: ArrayState, by: string): ArrayState {
  if (array.state === 'ended' || array.state === 'stopping') return array;
  return { ...progressOf(array), state: 'stopping', by };
}

/** The state that follows from where the members are. */
export function settledArray(array: ArrayState, size: ArraySize, nowMs: number): ArrayState {
  if (array.state === 'ended') return array;
  if (array.again + array.live === 0 && array.waiting.length === 0)
    return { ...progressOf(array), state: 'ended', result: arrayResult(array, size), endedMs: nowMs };
  if (array.state === 'queued' && array.live > 0) return { ...array, state: 'running' };
  if (array.state === 'running' && array.live === 0) return { ...array, state: 'queued' };
  return array;
}

/** A member that has no row, as any job; null when it has one, or is none. */
export function rowlessMember(array: ArrayState, index: number): JobState | null {
  const result = cancelledResult('cancelled before it started');
  if (hasIndex(array.dropped, index))
    return { state: 'ended', attempt: 0, result, endedMs: array.droppedMs ?? 0 };
  if (!hasIndex(array.waiting, index) || !('sinceMs' in array)) return null;
  const waiting = { attempt: 1, sinceMs: array.sinceMs, notBeforeMs: 0, ...freshPast };
  return { state: 'queued', claim: null, ...waiting };
}

/** As many members run as may at once. */
export function isArrayFull({ live }: ArrayProgress, { parallel }: ArraySize): boolean {
  return parallel !== null && live >= parallel;
}

/** Succeeded when all members did; else told by counts. Without a failure it was somebody's wish. */
function arrayResult(array: ArrayState, { count }: ArraySize): JobResult {
  const { succeeded, failed, cancelled } = array;
  if (array.state === 'stopping') return cancelledResult(`cancelled by ${array.by}`);
  if (succeeded === count) return { outcome: 'succeeded' };
  const parts = [`${succeeded} of ${count} members succeeded`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (cancelled > 0) parts.push(`${cancelled} ${cancelled === 1 ? 'was' : 'were'} cancelled`);
  const message = parts.join(', ');
  if (failed === 0) return cancelledResult(message);
  return {
    outcome: 'failed',
    class: 'user',
    code: null,
    signal: null,
    reason: { code: 'members-failed', message },
    rank: null,
    node: null,
  };
}
