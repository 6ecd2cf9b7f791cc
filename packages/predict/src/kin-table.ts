// The recent runs of every kin, in bounded memory. Two generations: what is used moves to the younger one, and when that is full
// the older one is forgotten whole. So the longest unused go first, and forgetting costs nothing.
import { RecentRuns } from './recent-runs.ts';

/** With ten runs each both generations together stay below 50 MB. */
export const kinsMax = 100_000;

export class KinTable {
  #young = new Map<string, RecentRuns>();
  #old = new Map<string, RecentRuns>();

  /** Only looks. */
  find(key: string): RecentRuns | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** The runs of this kin, to add to. */
  use(key: string): RecentRuns {
    const known = this.#young.get(key);
    if (known) return known;
    const runs = this.#old.get(key) ?? new RecentRuns();
    if (this.#young.size * 2 >= kinsMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, runs);
    return runs;
  }
}
