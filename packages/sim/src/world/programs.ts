// What users' programs do, as drawn when their job is submitted: how long they work, how they end, whether they save their work,
// heed a signal or hang. Work that was saved is not done again by the next attempt.
import { type JobId, parseRunId, type RunId, submittedJob, type TaskExit } from '@muster/model';

export interface Behaviour {
  readonly workMs: number;
  /** How each attempt ends, the last one again and again. */
  readonly ends: readonly ('ok' | 'user' | 'out-of-memory' | 'hang')[];
  /** Ignores the stop signal and is killed at the end of its grace. */
  readonly stubborn: boolean;
  readonly checkpointEveryMs: number | null;
  /** This rank takes three times as long. */
  readonly straggler: number | null;
  /** Writes only where an older attempt is refused: two attempts at once do no harm. */
  readonly fenced?: boolean;
}

export interface Program {
  readonly endsAfterMs: number | null;
  readonly exit: TaskExit;
  readonly stubborn: boolean;
  readonly checkpointEveryMs: number | null;
}

interface Saved {
  /** The highest that has begun. */
  readonly attempt: number;
  /** What was saved when it began. */
  readonly baseMs: number;
  readonly workMs: number;
}

export class Programs {
  readonly #behaviours = new Map<JobId, Behaviour>();
  /** Saved work by job, and the highest attempt that has begun: what an older one saves is refused. */
  readonly #saved = new Map<JobId, Saved>();
  /** How often that was. */
  refused = 0;

  add(job: JobId, behaviour: Behaviour): void {
    this.#behaviours.set(job, behaviour);
  }

  of(run: RunId, rank: number): Program {
    const { job, attempt } = parsed(run);
    const behaviour = this.#behaviours.get(submittedJob(job)) ?? plain;
    const end = behaviour.ends[Math.min(attempt, behaviour.ends.length) - 1] ?? 'ok';
    const left = Math.max(200, behaviour.workMs - this.#begin(job, attempt).workMs);
    const workMs = behaviour.straggler === rank ? 3 * left : left;
    const { stubborn, checkpointEveryMs } = behaviour;
    return {
      endsAfterMs: end === 'hang' ? null : end === 'ok' ? workMs : Math.ceil(workMs / 2),
      exit: exits[end],
      stubborn,
      checkpointEveryMs,
    };
  }

  /** What it has written; programs of worlds write nothing. */
  outputOf(_run: RunId): string {
    return '';
  }

  /** Whether two attempts of its job may be there at once. */
  isFenced(run: RunId): boolean {
    return this.#behaviours.get(submittedJob(parsed(run).job))?.fenced === true;
  }

  /** `workMs`: since the attempt began. */
  save(run: RunId, workMs: number): void {
    const { job, attempt } = parsed(run);
    const saved = this.#begin(job, attempt);
    if (saved.attempt > attempt) this.refused++;
    else this.#saved.set(job, { ...saved, workMs: Math.max(saved.workMs, saved.baseMs + workMs) });
  }

  #begin(job: JobId, attempt: number): Saved {
    const before = this.#saved.get(job) ?? { attempt: 0, baseMs: 0, workMs: 0 };
    if (before.attempt >= attempt) return before;
    const begun = { attempt, baseMs: before.workMs, workMs: before.workMs };
    this.#saved.set(job, begun);
    return begun;
  }
}

const plain: Behaviour = {
  workMs: 1000,
  ends: ['ok'],
  stubborn: false,
  checkpointEveryMs: null,
  straggler: null,
};

function parsed(run: RunId) {
  const of = parseRunId(run);
  if (!of) throw new Error(`${run} is not a run`);
  return of;
}

const failed = (
  errorClass: 'user' | 'out-of-memory',
  code: number | null,
  signal: string | null,
): TaskExit => ({
  ok: false,
  class: errorClass,
  code,
  signal,
  reason: { code: errorClass, message: `ended as ${errorClass}` },
});

const exits: Readonly<Record<Behaviour['ends'][number], TaskExit>> = {
  ok: { ok: true },
  hang: { ok: true },
  user: failed('user', 1, null),
  'out-of-memory': failed('out-of-memory', null, 'SIGKILL'),
};
