// The right to stop what is expected to be longer (decision 0007, section 5; 0012): a run of the job's own tier rank that has saved
// its work once and is expected to be twice as long as the job. What is expected of a run doubles when it has done that much, so
// the right to it may come with time alone: `dueMs` says when it first does.
import { lengthMs, reachesMs, stopsFromMs } from './expected-run.ts';
import type { State } from './state.ts';
import { never } from './victims.ts';

export class LongerRuns {
  readonly #state: State;
  /** How long a run is expected to be at least for the job that asks; never where it may stop none. */
  fromMs = never;
  /** When a run is first expected to be long enough for somebody who asked and may not stop it yet. */
  dueMs = never;

  constructor(state: State) {
    this.#state = state;
  }

  /** From here on the job asks. */
  askFor(job: number): void {
    this.fromMs = this.fromOf(job);
  }

  fromOf(job: number): number {
    const { policy, queue, jobs } = this.#state;
    return stopsFromMs(policy, queue.entryOf(job).facts, jobs.savedMs(job));
  }

  /** Whether the job that asks might ever have this right to the run, however long that is. */
  mightHave(job: number, run: number): boolean {
    const { queue, table } = this.#state;
    return this.fromMs !== never && queue.entryOf(job).rank === queue.entryOf(table.job[run]!).rank;
  }

  has(job: number, run: number): boolean {
    const { table, queue, jobs, clockMs } = this.#state;
    const other = table.job[run]!;
    const { estimate } = queue.entryOf(other).facts;
    const hasSaved = table.startedMs[run]! >= 0 && table.live[run]!.checkpointMs !== null;
    if (!estimate || !hasSaved || !this.mightHave(job, run)) return false;
    const doneMs = jobs.savedMs(other) + clockMs - table.startedMs[run]!;
    if (lengthMs(estimate, doneMs) >= this.fromMs) return true;
    this.dueMs = Math.min(this.dueMs, clockMs + reachesMs(estimate, this.fromMs) - doneMs);
    return false;
  }
}
