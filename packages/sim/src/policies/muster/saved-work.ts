// When runs save their work, as the engine is told of it: the first time of each run at that moment, because from then on it may be stopped for another; later ones before
// something is decided, because until then nobody asks.
import { KeyedHeap } from '../../replay/keyed-heap.ts';
import type { Holding } from '../../replay/room.ts';
import type { Stage } from '../../replay/stage.ts';

export class SavedWork {
  readonly #stage: Stage<Holding>;
  /** Runs by when they save next; an entry of an earlier run has another time. */
  readonly #due = new KeyedHeap();
  readonly #dueMs: Float64Array;
  /** The same of runs that have saved nothing yet. */
  readonly #firsts = new KeyedHeap();

  constructor(stage: Stage<Holding>) {
    this.#stage = stage;
    this.#dueMs = new Float64Array(stage.trace.count).fill(-1);
  }

  started(job: number): void {
    const { costs, nowMs, preemptions } = this.#stage;
    if (costs.checkpointMs === 0) return;
    const restartMs = preemptions[job]! > 0 ? costs.restartMs : 0;
    this.#await(job, nowMs + restartMs + costs.checkpointMs);
    this.#firsts.push(this.#dueMs[job]!, job);
  }

  ended(job: number): void {
    this.#dueMs[job] = -1;
  }

  /** When a run saves its work for the first time; null when none is about to. */
  firstMs(): number | null {
    const firsts = this.#firsts;
    while (firsts.size > 0 && this.#dueMs[firsts.top] !== firsts.topKey) firsts.pop();
    return firsts.size > 0 ? firsts.topKey : null;
  }

  /** Tells of every run that has saved its work since it was last told, and when it last did. */
  tell(told: (job: number, savedMs: number) => void): void {
    const { nowMs, costs } = this.#stage;
    const due = this.#due;
    while (due.size > 0 && due.topKey <= nowMs) {
      const dueMs = due.topKey;
      const job = due.pop();
      if (this.#dueMs[job] !== dueMs) continue;
      const savedMs = nowMs - ((nowMs - dueMs) % costs.checkpointMs);
      this.#await(job, savedMs + costs.checkpointMs);
      told(job, savedMs);
    }
  }

  #await(job: number, ms: number): void {
    this.#dueMs[job] = ms;
    this.#due.push(ms, job);
  }
}
