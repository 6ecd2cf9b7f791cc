// Who gains and who loses: the same jobs played twice, before and after a change, side by side for each project and each user.
import type { Played } from '../replay/replay.ts';
import type { LiveTrace } from './live-trace.ts';

/** Waits are all time in the system beyond the run time, so that being preempted is never free. */
export interface Gain {
  readonly name: string;
  /** That come to their end both before and after. */
  readonly jobs: number;
  readonly beforeWaitS: number;
  readonly afterWaitS: number;
  /** Of those, how many wait at least a second less, and more. */
  readonly sooner: number;
  readonly later: number;
  readonly preemptionsBefore: number;
  readonly preemptionsAfter: number;
  /** That never start after the change, and did before; and the other way round. */
  readonly lost: number;
  readonly won: number;
}

/** From submit to the first start: as it was, and as it is played with nothing changed. How far the two differ says how far to trust the rest. */
export interface Fidelity {
  readonly realS: number;
  readonly playedS: number;
}

export interface Gains {
  readonly firstStart: Fidelity;
  readonly all: Gain;
  readonly projects: readonly Gain[];
  readonly users: readonly Gain[];
  /** The jobs whose waits change most, the greatest change first. */
  readonly most: readonly {
    readonly job: string;
    readonly beforeWaitS: number;
    readonly afterWaitS: number;
  }[];
}

const mostTold = 10;
const second = 1000;

export function gainsOf({ trace, facts, ids, waitedMs }: LiveTrace, before: Played, after: Played): Gains {
  const all = facts.map((_, job) => job);
  const wait = ({ endMs }: Played, job: number): number | null =>
    endMs[job]! < 0 ? null : endMs[job]! - trace.submitMs[job]! - trace.runMs[job]!;

  const gain = (name: string, jobs: readonly number[]): Gain => {
    const both = jobs.filter((job) => wait(before, job) !== null && wait(after, job) !== null);
    const change = (job: number): number => wait(after, job)! - wait(before, job)!;
    const sum = (of: (job: number) => number, over = jobs): number =>
      over.reduce((total, job) => total + of(job), 0);
    const mean = (of: (job: number) => number): number =>
      both.length === 0 ? 0 : sum(of, both) / both.length / second;
    const count = (of: (job: number) => boolean): number => jobs.filter(of).length;
    return {
      name,
      jobs: both.length,
      beforeWaitS: mean((job) => wait(before, job)!),
      afterWaitS: mean((job) => wait(after, job)!),
      sooner: both.filter((job) => change(job) <= -second).length,
      later: both.filter((job) => change(job) >= second).length,
      preemptionsBefore: sum((job) => before.preemptions[job]!),
      preemptionsAfter: sum((job) => after.preemptions[job]!),
      lost: count((job) => wait(before, job) !== null && wait(after, job) === null),
      won: count((job) => wait(before, job) === null && wait(after, job) !== null),
    };
  };
  const by = (column: Int32Array, names: readonly string[]): Gain[] => {
    const jobs = names.map((): number[] => []);
    for (const job of all) jobs[column[job]!]!.push(job);
    return names.map((name, i) => gain(name, jobs[i]!)).sort(worstFirst);
  };
  const changed = all
    .filter((job) => wait(before, job) !== null && wait(after, job) !== null)
    .map((job) => ({ job, changeMs: Math.abs(wait(after, job)! - wait(before, job)!) }))
    .filter(({ changeMs }) => changeMs >= second)
    .sort((a, b) => b.changeMs - a.changeMs || a.job - b.job)
    .slice(0, mostTold);
  const started = all.filter((job) => before.firstStartMs[job]! >= 0);
  const meanS = (of: (job: number) => number): number =>
    started.length === 0 ? 0 : started.reduce((sum, job) => sum + of(job), 0) / started.length / second;
  return {
    firstStart: {
      realS: meanS((job) => waitedMs[job]!),
      playedS: meanS((job) => before.firstStartMs[job]! - trace.submitMs[job]!),
    },
    all: gain('all', all),
    projects: by(trace.project, trace.names.projects),
    users: by(trace.user, trace.names.users),
    most: changed.map(({ job }) => ({
      job: ids[job]!,
      beforeWaitS: wait(before, job)! / second,
      afterWaitS: wait(after, job)! / second,
    })),
  };
}

/** Whoever loses most stands first: that is who will call. */
function worstFirst(a: Gain, b: Gain): number {
  return b.lost - a.lost || b.afterWaitS - b.beforeWaitS - (a.afterWaitS - a.beforeWaitS);
}
