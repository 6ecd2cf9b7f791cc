// Which runs may be a job's victims, beside the right to them: shields, budgets, the guard against circles. And the total
// order in which they are considered on a node, and in which they are spared.
import { type Right, submittedJob } from '@muster/model';
import { lostBy } from './damage.ts';
import type { Gone } from './gates.ts';
import { compareText } from './order.ts';
import { isWithin } from './projects.ts';
import type { Rights, TierBook } from './rights.ts';
import type { State } from './state.ts';

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
  readonly nowMs: number;
  /** What each run would lose; below 0 before it was worked out. */
  #damages: Float64Array | null = null;
  /** When the first run that is only shielded for a time will be none any more. */
  againMs = never;

  constructor(state: State, tiers: TierBook, rights: Rights, nowMs: number) {
    this.#state = state;
    this.#tiers = tiers;
    this.rights = rights;
    this.nowMs = nowMs;
  }

  /** By what right the run may be stopped for such a job now; null when it may not. What else is between the two: `tookFrom`. */
  right(job: number, run: number): Right | null {
    const { table } = this.#state;
    if (table.stopping[run] === 1 || table.doomed[run] === 1 || this.#isFresh(run)) return null;
    const right = this.rights.mayTake(job, run);
    if (right === null || !this.answers(run)) return null;
    const { nearEndMs } = this.#state.policy.preemption;
    if (isNear(table.endMs[run]!, this.nowMs, nearEndMs)) return null;
    const shieldedMs = Math.max(this.#shieldEnds(run), this.#budgetEnds(run));
    if (shieldedMs <= this.nowMs) return right;
    if (shieldedMs < this.againMs) this.againMs = shieldedMs;
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

  /** Every node of it is ready: the end of a run on a silent node cannot be proven soon. */
  answers(run: number): boolean {
    const { table, fleets } = this.#state;
    for (let link = table.firstLink[run]!; link >= 0; link = table.linkOfRun[link]!)
      if (fleets.live.facts[table.linkNode[link]!]!.state !== 'ready') return false;
    return true;
  }

  /** One that has not started yet has all of its tier's least time before it. */
  #isFresh(run: number): boolean {
    const { table } = this.#state;
    return table.startedMs[run]! < 0 && (this.#tiers.of(table.job[run]!)?.minRunMs ?? 0) > 0;
  }

  /** A run may work for its tier's least time first. */
  #shieldEnds(run: number): number {
    const { table } = this.#state;
    const minRunMs = this.#tiers.of(table.job[run]!)?.minRunMs ?? 0;
    return minRunMs === 0 ? 0 : table.startedMs[run]! + minRunMs;
  }

  /** When the job's budget of preemptions in the window allows one more. */
  #budgetEnds(run: number): number {
    const { jobs, table, policy } = this.#state;
    const job = table.job[run]!;
    const most = this.#tiers.of(job)?.preemptionsMax ?? never;
    if (most === 0) return never;
    const past = jobs.preempted(job);
    return past.length < most ? 0 : past[past.length - most]!.atMs + policy.preemption.windowMs;
  }
}
