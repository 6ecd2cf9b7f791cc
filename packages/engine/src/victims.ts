// Which runs may be a job's victims: by a right (rights.ts), unless shielded (shields.ts); and the guard against circles. And the total
// order in which they are considered on a node, and in which they are spared.
import { type Right, submittedJob } from '@muster/model';
import { lostBy } from './damage.ts';
import type { Gone } from './gates.ts';
import { compareText } from './order.ts';
import { isWithin } from './projects.ts';
import type { Rights } from './rights.ts';
import type { Shields } from './shields.ts';
import type { State } from './state.ts';
import type { TierBook } from './tier-book.ts';

/** A known end is near shortly before it; and shortly after it, because a stop takes its time. */
export function isNear(endMs: number, nowMs: number, nearEndMs: number): boolean {
  return endMs - nearEndMs <= nowMs && nowMs < endMs + nearEndMs;
}

/** No time at all: nothing becomes possible by waiting. */
export const never = Number.POSITIVE_INFINITY;

export class Victims {
  readonly #state: State;
  readonly #tiers: TierBook;
  readonly rights: Rights;
  readonly shields: Shields;
  readonly nowMs: number;
  /** What each run would lose; below 0 before it was worked out. */
  #damages: Float64Array | null = null;
  /** When the first run may be stopped that may not yet, because a shield lasts for a time or the right to it comes with time. */
  againMs = never;

  constructor(state: State, tiers: TierBook, rights: Rights, shields: Shields, nowMs: number) {
    this.#state = state;
    this.#tiers = tiers;
    this.rights = rights;
    this.shields = shields;
    this.nowMs = nowMs;
  }

  /** By what right the run may be stopped for such a job now; null when it may not. What else is between the two: `tookFrom`. */
  right(job: number, run: number): Right | null {
    const { table } = this.#state;
    if (table.stopping[run] === 1 || table.doomed[run] === 1) return null;
    const shieldedMs = this.shields.endMs(run);
    if (shieldedMs > this.nowMs && shieldedMs >= this.againMs) return null;
    const right = this.rights.mayTake(job, run);
    const allowedMs = right === null ? this.rights.dueMs(job, run) : this.shields.budgetEndMs(run, right);
    const freeMs = Math.max(shieldedMs, allowedMs);
    if (freeMs <= this.nowMs) return right;
    if (freeMs < this.againMs) this.againMs = freeMs;
    return null;
  }

  /** Whether the job may stop the run; `own` when what was between the two counts. */
  isVictim(run: number, job: number, own: boolean): boolean {
    if (this.#state.table.gone[run] === 1 || this.right(job, run) === null) return false;
    return !own || !this.tookFrom(run, job);
  }

  /** What projects would use less of a key without these runs. */
  goneOf(runs: Iterable<number>): Gone {
    return (at, key) => {
      let gone = 0;
      for (const run of runs) {
        const { keys, amounts } = this.rights.usesOf(run);
        const i = keys.indexOf(key);
        if (i >= 0 && isWithin(this.rights.projectOf(run), at)) gone += amounts[i]!;
      }
      return gone;
    };
  }

  damage(run: number): number {
    const { table } = this.#state;
    this.#damages ??= new Float64Array(table.live.length).fill(-1);
    const known = this.#damages[run]!;
    if (known >= 0) return known;
    const { lostMicro } = lostBy(table, run, this.nowMs);
    this.#damages[run] = lostMicro;
    return lostMicro;
  }

  /** On one node: lowest tier, least damage, youngest, run id. */
  compare = (a: number, b: number): number => {
    const { table } = this.#state;
    return (
      this.#rank(a) - this.#rank(b) ||
      this.damage(a) - this.damage(b) ||
      table.startedMs[b]! - table.startedMs[a]! ||
      compareText(table.live[a]!.run, table.live[b]!.run)
    );
  };

  /** To be spared first: most damage, oldest, run id. */
  compareSparing = (a: number, b: number): number => {
    const { table } = this.#state;
    return (
      this.damage(b) - this.damage(a) ||
      table.startedMs[a]! - table.startedMs[b]! ||
      compareText(table.live[a]!.run, table.live[b]!.run)
    );
  };

  #rank(run: number): number {
    return this.#tiers.of(this.#state.table.job[run]!)?.rank ?? Number.MIN_SAFE_INTEGER;
  }

  /** The guard against circles: whoever took the job's room is not its victim. */
  tookFrom(run: number, job: number): boolean {
    const { jobs, table } = this.#state;
    const past = jobs.preempted(job);
    return (
      past.length > 0 && past.some(({ by }) => submittedJob(by) === submittedJob(jobs.ids[table.job[run]!]!))
    );
  }
}
