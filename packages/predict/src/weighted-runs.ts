// A distribution of run times: some that were seen, each with a weight.

/** More than ten runs of each of eight kins. */
const runsMax = 128;

/** A single old run of a wide kin is chance. */
const tellingPart = 0.02;

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
    return this.meanAbove(0)!;
  }

  /** The mean of those above; null when they are too small a part to tell. */
  meanAbove(ranMs: number): number | null {
    let sum = 0;
    let weight = 0;
    for (let i = this.#count - 1; i >= 0 && this.#ranMs[i]! > ranMs; i--) {
      sum += this.#ranMs[i]! * this.#weight[i]!;
      weight += this.#weight[i]!;
    }
    return weight < tellingPart * this.#total ? null : sum / weight;
  }
}
