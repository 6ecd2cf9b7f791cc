// The seam to learned run times. Whoever learns them is told of every run that came to its end and is asked about jobs that have
// not started; it never sees the future. `predict` gives such estimates; a replay only carries them to beliefs and to the engine.
import type { Trace } from '../traces/trace.ts';

/** What is known of a job before it runs. */
export interface JobTraits {
  readonly user: string;
  readonly project: string;
  readonly name: string;
  readonly devices: number;
  /** How long its user said it may run; null when nobody said. */
  readonly askedMs: number | null;
}

/** Run times that the job will stay below with that chance. */
export interface Quantiles {
  readonly p50Ms: number;
  readonly p90Ms: number;
}

export interface Estimates {
  readonly observe: (traits: JobTraits, ranMs: number) => void;
  /** Null while nothing is known of such jobs. */
  readonly estimate: (traits: JobTraits) => Quantiles | null;
}

export type EstimatesMaker = () => Estimates;

export function traitsOf(trace: Trace, job: number): JobTraits {
  const { names, user, project, program, size, askedMs } = trace;
  return {
    user: names.users[user[job]!]!,
    project: names.projects[project[job]!]!,
    name: names.programs[program[job]!]!,
    devices: size[job]!,
    askedMs: askedMs[job]! > 0 ? askedMs[job]! : null,
  };
}
