// The steps of an array: members that never started get a row or are dropped, members with a row are counted, and the array ends
// with its last member. Everything here happens under the array's row lock.
import {
  type ArrayRefusal,
  type ArrayState,
  countMember,
  dropMembers,
  holdArray,
  type IndexRange,
  type JobId,
  type JobState,
  mayTake,
  parseMemberId,
  releaseArray,
  rowlessMember,
  settledArray,
  stopArray,
  takeMember,
  within,
} from '@muster/model';
import type { ArrayRecord, Changes, JobRecord } from './records.ts';

/** The record of a member that has no row; null when it is none that may start. */
export function freshMember(arrays: ReadonlyMap<JobId, ArrayRecord>, id: JobId): JobRecord | null {
  const member = parseMemberId(id);
  const array = member && arrays.get(member.array);
  if (!array || !mayTake(array.state, member.index)) return null;
  const { project, retry, stop, checkpoint, fenced } = array;
  const terms = { project, retry, stop, checkpoint, fenced };
  const state = rowlessMember(array.state, member.index);
  return state && { id, ...terms, array, fresh: true, state, version: 0, startedMs: null };
}

/** The member's row is written from now on. */
export function takeFresh(changes: Changes, job: JobRecord): void {
  const member = parseMemberId(job.id);
  if (!job.fresh || job.version > 0 || !job.array || !member) return;
  setState(changes, job.array, takeMember(job.array.state, member.index));
}

export function memberStepped(changes: Changes, job: JobRecord, from: JobState): void {
  const { array } = job;
  if (!array) return;
  setState(changes, array, countMember(array.state, from, job.state));
  if (job.startedMs !== null && array.startedMs === null) {
    array.startedMs = job.startedMs;
    changes.arrays.add(array);
  }
}

/** Members of the range that never started will not. */
export function dropFresh(changes: Changes, array: ArrayRecord, range: IndexRange, by: string): void {
  const members = within(array.state.waiting, range);
  if (members.length === 0) return;
  setState(changes, array, dropMembers(array.state, range, changes.nowMs));
  const version = ++array.version;
  changes.event(array, { kind: 'job.dropped', job: array.id, version, by, members });
}

export function holdAll(changes: Changes, array: ArrayRecord, by: string): ArrayRefusal | null {
  const next = holdArray(array.state, by);
  if (typeof next === 'string') return next;
  if (!setState(changes, array, next)) return null;
  changes.event(array, { kind: 'job.held', job: array.id, version: ++array.version, by });
  return null;
}

export function releaseAll(changes: Changes, array: ArrayRecord, by: string): ArrayRefusal | null {
  const next = releaseArray(array.state, changes.nowMs);
  if (typeof next === 'string') return next;
  if (!setState(changes, array, next)) return null;
  const version = ++array.version;
  changes.event(array, { kind: 'job.released', job: array.id, version, by, sinceMs: changes.nowMs });
  return null;
}

export function stopAll(changes: Changes, array: ArrayRecord, by: string): void {
  if (!setState(changes, array, stopArray(array.state, by))) return;
  changes.event(array, { kind: 'job.stopping', job: array.id, version: ++array.version, by });
}

/** Last of all: arrays whose members are all over end. */
export function settleArrays(changes: Changes): void {
  for (const array of changes.arrays) {
    const { state } = array;
    array.state = settledArray(state, array.size, changes.nowMs);
    if (array.state.state !== 'ended' || state.state === 'ended') continue;
    const version = ++array.version;
    changes.event(array, { kind: 'job.ended', job: array.id, version, result: array.state.result });
  }
}

function setState(changes: Changes, array: ArrayRecord, next: ArrayState): boolean {
  if (next === array.state) return false;
  array.state = next;
  changes.arrays.add(array);
  return true;
}
