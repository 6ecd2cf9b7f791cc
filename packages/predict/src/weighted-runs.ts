// A distribution of run times: some that were seen, each with a weight.

/** More than ten runs of each of eight kins. */
const runsMax = 128;

export class WeightedRuns {
  readonly #ranMs = new Float64Array(runsMax);
  readonly #weight = new Float64Array(runsMax);
  #count = 0;
  #total = 0;

  clear(): void {
    this.#count = 0;
    this.#total = 0;
  }

  /** Keeps them in order of run time. */
  add(ranMs: number, weight: number): void {
    let at = this.#count++;
    for (; at > 0 && this.#ranMs[at - 1]! > ranMs; at--) {
      this.#ranMs[at] = this.#ranMs[at - 1]!;
      this.#weight[at] = this.#weight[at - 1]!;
    }
    this.#ranMs[at] = ranMs;
    this.#weight[at] = weight;
    this.#total += weight;
  }

  /** The least run time that this part of them stays within. */
  quantile(part: number): number {
    let below = 0;
    for (let i = 0; i < this.#count; i++) {
      below += this.#weight[i]!;
      if (below >= part * this.#total) return this.#ranMs[i]!;
    }
    return this.#ranMs[this.#count - 1]!;
  }

  mean(): number {
    let sum = 0;
    for (let i = 0; i < this.#count; i++) sum += this.#ranMs[i]! * this.#weight[i]!;
    return sum / this.#total;
  }
}
