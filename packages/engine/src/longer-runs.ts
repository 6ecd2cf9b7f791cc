// The right to stop what is expected to be longer (decision 0007, section 5; 0012): a run of the job's own tier rank that has saved
// its work once and is expected to be twice as long as the job. What is expected of a run doubles when it has done that much, so
// the right to it may come with time alone: `dueMs` says when.
import { expectedMsOf, lengthMs, reachesMs, stopsFromMs } from './expected-run.ts';
import type { State } from './state.ts';
import { never } from './victims.ts';

const unknown = -1;

export class LongerRuns {
  readonly #state: State;
  /** How long a run is expected to be at least for the job that asks; never where it may stop none. */
  fromMs = never;
  /** By run. */
  readonly #lengthMs: Float64Array;

  constructor(state: State) {
    this.#state = state;
    const runs = state.policy.runTimes.stop === 'longer' ? state.table.live.length : 0;
    this.#lengthMs = new Float64Array(runs).fill(unknown);
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
    const ms = this.#lengthOf(run);
    return ms > 0 && ms >= this.fromMs && this.mightHave(job, run);
  }

  /** When a run that is not long enough yet is first expected to be, though nothing else changes; never for one that is none. */
  dueMs(job: number, run: number): number {
    const ms = this.#lengthOf(run);
    if (ms === 0 || ms >= this.fromMs || !this.mightHave(job, run)) return never;
    return this.#state.clockMs + reachesMs(this.#expectedMs(run)!, this.fromMs) - this.#doneMs(run);
  }

  /** How long the run is expected to be, worked out once a plan; 0 where nothing is expected of it, or it has saved nothing yet. */
  #lengthOf(run: number): number {
    if (this.#lengthMs[run] === unknown) {
      const { table } = this.#state;
      const hasSaved = table.startedMs[run]! >= 0 && table.live[run]!.checkpointMs !== null;
      const expectedMs = hasSaved ? this.#expectedMs(run) : null;
      this.#lengthMs[run] = expectedMs === null ? 0 : lengthMs(expectedMs, this.#doneMs(run));
    }
    return this.#lengthMs[run]!;
  }

  #expectedMs(run: number): number | null {
    const { table, queue, policy } = this.#state;
    return expectedMsOf(policy, queue.entryOf(table.job[run]!).facts);
  }

  #doneMs(run: number): number {
    const { table, jobs, clockMs } = this.#state;
    return jobs.savedMs(table.job[run]!) + clockMs - table.startedMs[run]!;
  }
}
