// The run times of the last few jobs of one kin, newest first.

/** As many as tell a habit, and few enough that a habit that has changed is forgotten soon. */
export const runsKept = 10;

export class RecentRuns {
  readonly #ranMs = new Float64Array(runsKept);
  #next = 0;
  count = 0;

  add(ranMs: number): void {
    this.#ranMs[this.#next] = ranMs;
    this.#next = (this.#next + 1) % runsKept;
    if (this.count < runsKept) this.count++;
  }

  /** The run that many before the newest. */
  at(before: number): number {
    return this.#ranMs[(this.#next - 1 - before + runsKept) % runsKept]!;
  }
}
