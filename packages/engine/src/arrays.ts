// What events do to arrays. A member gets a slot of its own when it is first planned or gets a claim, and is a job like any
// other from then on; here is what the others of its array notice of that.
import {
  countOf,
  hasIndex,
  type IndexRanges,
  invariant,
  type JobId,
  parseMemberId,
  within,
  without,
} from '@muster/model';
import { held } from './jobs.ts';
import { isFull, type Pool } from './pool.ts';
import { enqueue, type State } from './state.ts';

/** The job's slot. A member that never started gets one, and waits in no line yet. */
export function slotFor(state: State, id: JobId): number {
  const { jobs, queue } = state;
  const known = jobs.slots.get(id);
  if (known !== undefined) return known;
  const member = parseMemberId(id);
  invariant(member, `unknown job ${id}`);
  const array = jobs.slotOf(member.array);
  const pool = jobs.pools.get(array);
  invariant(pool && hasIndex(pool.waiting, member.index), `${id} is no member that waits`);
  const job = jobs.addMember(id, array, member.index);
  queue.split(array, job);
  pool.again.add(job);
  pool.waiting = without(pool.waiting, [member.index, member.index]);
  pool.count--;
  if (pool.count === 0) enqueue(state, array);
  return job;
}

/** The member is placed, or has a claim: others of its array may have to wait for that. */
export function goOut(state: State, job: number): void {
  const pool = state.jobs.poolOf(job);
  if (pool?.again.delete(job)) changeOut(state, pool, 1);
}

/** The member waits again. */
export function comeBack(state: State, job: number): void {
  const pool = state.jobs.poolOf(job);
  if (!pool || pool.again.has(job)) return;
  pool.again.add(job);
  changeOut(state, pool, -1);
}

/** The member is over. */
export function endMember(state: State, job: number): void {
  const pool = state.jobs.poolOf(job);
  if (!pool || pool.slot === job || pool.again.delete(job)) return;
  changeOut(state, pool, -1);
}

function changeOut(state: State, pool: Pool, by: 1 | -1): void {
  const before = isFull(pool);
  pool.out += by;
  if (isFull(pool) !== before) lineUp(state, pool);
}

/** Everybody of the array that waits stands where it should: in line, or out of it. */
export function lineUp(state: State, pool: Pool): void {
  enqueue(state, pool.slot);
  for (const job of pool.again) enqueue(state, job);
}

export function holdArray(state: State, pool: Pool): void {
  for (const job of [pool.slot, ...pool.again]) state.queue.unqueue(job, held);
}

/** Those that wait begin to wait anew. */
export function releaseArray(state: State, pool: Pool, sinceMs: number): void {
  for (const job of [pool.slot, ...pool.again]) state.jobs.sinceMs[job] = sinceMs;
  lineUp(state, pool);
}

/** Members that never started will not. */
export function dropMembers(state: State, array: number, members: IndexRanges): void {
  const { jobs, queue } = state;
  const pool = jobs.pools.get(array);
  invariant(pool, `${jobs.ids[array]} is no array`);
  for (const range of members) {
    const dropped = countOf(within(pool.waiting, range));
    invariant(
      dropped === range[1] - range[0] + 1,
      `members of ${jobs.ids[array]} are dropped that do not wait`,
    );
    pool.waiting = without(pool.waiting, range);
    pool.count -= dropped;
    queue.thin(array, dropped);
  }
  if (pool.count === 0) enqueue(state, array);
}
