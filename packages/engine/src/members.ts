// Which members of arrays a plan takes while it is being made.
import { type IndexRange, type JobId, memberId } from '@muster/model';
import type { JobTable } from './jobs.ts';
import type { Pool } from './pool.ts';

/** The lowest that wait, as many as may run at once. One object serves one walk. */
export class Members {
  readonly #jobs: JobTable;
  readonly #taken = new Map<Pool, Taken>();

  constructor(jobs: JobTable) {
    this.#jobs = jobs;
  }

  /** Whether there are arrays at all. */
  get any(): boolean {
    return this.#jobs.pools.size > 0;
  }

  /** Nobody more of the job's array may start. */
  isFull(job: number): boolean {
    const pool = this.#jobs.poolOf(job);
    if (!pool || pool.size.parallel === null) return false;
    return pool.out + (this.#taken.get(pool)?.out ?? 0) >= pool.size.parallel;
  }

  /** Whether the slot stands for another member after those taken. */
  hasMore(job: number): boolean {
    const pool = this.#jobs.poolOf(job);
    return pool?.slot === job && pool.count > (this.#taken.get(pool)?.passed ?? 0);
  }

  /** The job that starts in this turn: the job itself, or the array's next member. */
  take(job: number): JobId {
    const pool = this.#jobs.poolOf(job);
    if (!pool) return this.#jobs.ids[job]!;
    const id = this.next(job);
    const taken = this.#of(pool);
    taken.out++;
    if (pool.slot === job) taken.fresh++;
    this.pass(job);
    return id;
  }

  /** The job's turn is over; of an array, the next member has the next one. */
  pass(job: number): void {
    const pool = this.#jobs.poolOf(job);
    if (pool?.slot === job) pass(pool, this.#of(pool));
  }

  /** The job that would start if this slot had its turn now. */
  next(job: number): JobId {
    const id = this.#jobs.ids[job]!;
    const pool = this.#jobs.poolOf(job);
    return pool?.slot === job ? memberId(id, this.#of(pool).next) : id;
  }

  /** Whether the slot stands for a member that this plan does not start. */
  #isLeft(job: number): boolean {
    const pool = this.#jobs.poolOf(job);
    return pool?.slot === job && pool.count > (this.#taken.get(pool)?.fresh ?? 0);
  }

  #of(pool: Pool): Taken {
    let taken = this.#taken.get(pool);
    if (!taken) {
      taken = { out: 0, fresh: 0, passed: 0, range: 0, next: pool.waiting[0]?.[0] ?? 0 };
      this.#taken.set(pool, taken);
    }
    return taken;
  }

  /** Slots of which nothing is left to start in this plan, of those taken. */
  exhausted(taken: Iterable<number>): Set<number> {
    const slots = new Set<number>();
    for (const job of taken) if (!this.#isLeft(job)) slots.add(job);
    for (const pool of this.#taken.keys()) {
      if (!this.isFull(pool.slot)) continue;
      slots.add(pool.slot);
      for (const job of pool.again) slots.add(job);
    }
    return slots;
  }
}

interface Taken {
  /** Members that go out by this plan, and those of them that never started before. */
  out: number;
  fresh: number;
  /** How many had their turn, and the position of the next. */
  passed: number;
  range: number;
  next: number;
}

/** On to the next index that waits. */
function pass({ waiting }: Pool, taken: Taken): void {
  taken.next++;
  taken.passed++;
  if (taken.next > (waiting[taken.range] as IndexRange)[1]) taken.next = waiting[++taken.range]?.[0] ?? 0;
}
