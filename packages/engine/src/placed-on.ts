// What a walk has placed, by node: rows of the fleet's ledger, chained in typed arrays. No run yet, but room that will be free
// again when such a job ends.
import type { PlacedJobs } from './placed-jobs.ts';
import type { State } from './state.ts';

export class PlacedOn {
  readonly #first = new Map<number, number>();
  readonly #next: Int32Array;
  /** When the job of a row ends, which of the walk's jobs it is, and whether it has its nodes alone. */
  readonly endMs: Float64Array;
  readonly of: Int32Array;
  readonly alone: Uint8Array;

  constructor({ fleets }: State, placed: PlacedJobs) {
    const { ledger } = fleets.live;
    this.#next = new Int32Array(ledger.size);
    this.endMs = new Float64Array(ledger.size);
    this.of = new Int32Array(ledger.size);
    this.alone = new Uint8Array(ledger.size);
    for (let i = 0; i < placed.length; i++) {
      const alone = placed.alikeAt(i).lane.shape.demand.exclusive ? 1 : 0;
      for (let pick = placed.from[i]!; pick < placed.to[i]!; pick++) {
        const slot = ledger.slot[pick]!;
        this.#next[pick] = this.#first.get(slot) ?? -1;
        this.#first.set(slot, pick);
        this.endMs[pick] = placed.endMs[i]!;
        this.of[pick] = i;
        this.alone[pick] = alone;
      }
    }
  }

  /** The last row on the node, or -1; go on with `next`. */
  first(slot: number): number {
    return this.#first.get(slot) ?? -1;
  }

  next(pick: number): number {
    return this.#next[pick]!;
  }
}
