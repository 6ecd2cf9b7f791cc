// Which runs are left alone for now, whoever asks (decision 0007, section 5): those that have not run long enough, whose end is
// near, and those on nodes that do not answer. Asked of every run in every search of a plan, and the same all through it, so that
// it is worked out once. And those whose job was stopped often enough, for rights that may cost it its work.
import type { Right } from '@muster/model';
import type { State } from './state.ts';
import type { TierBook } from './tier-book.ts';
import { isNear, never } from './victims.ts';

const unknown = -1;

export class Shields {
  readonly #state: State;
  readonly #tiers: TierBook;
  readonly #nowMs: number;
  /** By run. */
  readonly #endMs: Float64Array;

  constructor(state: State, tiers: TierBook, nowMs: number) {
    this.#state = state;
    this.#tiers = tiers;
    this.#nowMs = nowMs;
    this.#endMs = new Float64Array(state.table.live.length).fill(unknown);
  }

  /** From when on the run may be stopped; never where that does not come with time alone. */
  endMs(run: number): number {
    if (this.#endMs[run] === unknown) this.#endMs[run] = this.#find(run);
    return this.#endMs[run]!;
  }

  #find(run: number): number {
    const { table, policy } = this.#state;
    if (this.#isFresh(run) || !this.answers(run)) return never;
    if (isNear(table.endMs[run]!, this.#nowMs, policy.preemption.nearEndMs)) return never;
    return this.#leastTimeEnds(run);
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
  #leastTimeEnds(run: number): number {
    const { table } = this.#state;
    const minRunMs = this.#tiers.of(table.job[run]!)?.minRunMs ?? 0;
    return minRunMs === 0 ? 0 : table.startedMs[run]! + minRunMs;
  }

  /** When the job's budget of preemptions in the window allows one more by this right. */
  budgetEndMs(run: number, right: Right): number {
    // Such a run has saved its work since it started, so that each of these stops leaves it further than the last.
    if (right === 'shorter' || right === 'move') return 0;
    const { jobs, table, policy } = this.#state;
    const job = table.job[run]!;
    const most = this.#tiers.of(job)?.preemptionsMax ?? never;
    if (most === 0) return never;
    const past = jobs.preempted(job);
    return past.length < most ? 0 : past[past.length - most]!.atMs + policy.preemption.windowMs;
  }
}
