// What is learned of run times while a trace is played: asked when a job comes, told when one has ended, and never of the future.
import type { RunEstimate } from '@muster/model';
import { type Coverage, type Estimate, RunTimes, saidOf } from '@muster/predict';
import type { Trace } from '../../traces/trace.ts';
import { askedMs } from '../beliefs.ts';
import { traitsOf } from '../traits.ts';

export class Learning {
  readonly #trace: Trace;
  readonly #times = new RunTimes();
  readonly #said: (Estimate | null)[] = [];

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  /** The job has come: what is said of it now counts from here on. */
  came(job: number): void {
    this.#said[job] = this.#times.estimate(traitsOf(this.#trace, job));
  }

  ended(job: number): void {
    this.#times.observe(traitsOf(this.#trace, job), this.#trace.runMs[job]!, this.#said[job] ?? null);
  }

  /** What was said of it when it came; nothing before anything was learned. */
  said(job: number): RunEstimate | undefined {
    const said = this.#said[job];
    return said ? saidOf(said) : undefined;
  }

  /** Before anything was learned, what was asked. */
  expectedMs(job: number): number {
    return this.#said[job]?.expectedMs ?? askedMs(this.#trace, job);
  }

  p90Ms(job: number): number {
    return this.#said[job]?.p90Ms ?? askedMs(this.#trace, job);
  }

  /** How much longer it will run, having done so much of its work; before anything was learned, what was asked. */
  remainingMs(job: number, doneMs: number): number {
    const traits = traitsOf(this.#trace, job);
    return this.#times.remainingMs(traits, doneMs) ?? Math.max(doneMs, askedMs(this.#trace, job) - doneMs);
  }

  coverage(): Coverage | null {
    return this.#times.coverage();
  }
}
