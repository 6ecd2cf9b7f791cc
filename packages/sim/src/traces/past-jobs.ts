// What a log of events says of the jobs that it tells of from beginning to end: what each asked for, and how long it then ran. Of a job with
// several runs the last counts; what happened between (retries, preemptions) is the policy's doing and is left to the policy
// that is replayed. Each member of an array that ran is a job.
import { type JobFacts, parseMemberId } from '@muster/model';

export interface PastJob {
  /** Its own id: that of a member, not of its array. */
  readonly id: string;
  readonly facts: JobFacts;
  readonly runMs: number;
  /** When its first run really began. */
  readonly startedMs: number;
}

export type Told = PastJob | { readonly excluded: string };

/** An event as the log and the API have it. */
export interface PastEvent {
  readonly kind: string;
  readonly body: Readonly<Record<string, unknown>>;
}

interface LastRun {
  readonly firstMs: number | null;
  readonly startedMs: number | null;
  readonly endedMs: number | null;
}

export class PastJobs {
  readonly #submitted = new Map<string, JobFacts>();
  readonly #arrays = new Set<string>();
  readonly #runs = new Map<string, LastRun>();

  /** Tells of the job that ends with this event, and of nothing with any other. */
  take({ kind, body }: PastEvent): Told | null {
    const job = String(body.job ?? '');
    if (kind === 'job.submitted') {
      this.#submitted.set(job, body as unknown as JobFacts);
      if (body.array) this.#arrays.add(job);
    } else if (kind === 'run.running') {
      const startedMs = body.startedMs as number;
      const firstMs = this.#runs.get(job)?.firstMs ?? startedMs;
      this.#runs.set(job, { firstMs, startedMs, endedMs: null });
    } else if (kind === 'run.ended') {
      const run = this.#runs.get(job) ?? { firstMs: null, startedMs: null };
      this.#runs.set(job, { ...run, endedMs: body.endedMs as number });
    } else if (kind === 'job.ended' && !this.#arrays.has(job)) return this.#over(job);
    return null;
  }

  #over(job: string): Told {
    const told = this.#told(job, this.#runs.get(job));
    this.#runs.delete(job);
    // Other members of an array still need its facts.
    if (!parseMemberId(job)) this.#submitted.delete(job);
    return told;
  }

  #told(job: string, run: LastRun | undefined): Told {
    const facts = this.#submitted.get(parseMemberId(job)?.array ?? job);
    if (!facts) return { excluded: 'it was submitted before the log begins' };
    if (!run || run.startedMs === null || run.endedMs === null)
      return { excluded: 'it ended without running' };
    if (run.endedMs <= run.startedMs) return { excluded: 'it ran for 0 s' };
    const startedMs = run.firstMs ?? run.startedMs;
    return { id: job, facts, runMs: run.endedMs - run.startedMs, startedMs };
  }

  /** Jobs that the log has not told the end of: those that run at `nowMs` with the time they have run so far. */
  *unfinished(nowMs: number): Generator<{ readonly job: string; readonly told: Told }> {
    const running = new Set<string>();
    for (const [job, run] of this.#runs) {
      if (run.startedMs === null || run.endedMs !== null) continue;
      running.add(job);
      yield { job, told: this.#told(job, { ...run, endedMs: nowMs }) };
    }
    for (const job of this.#submitted.keys())
      if (!running.has(job) && !this.#arrays.has(job))
        yield { job, told: { excluded: 'it had not ended when the log was written' } };
  }
}
