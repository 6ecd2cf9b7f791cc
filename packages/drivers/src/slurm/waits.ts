// Which jobs of ours wait in Slurm for longer than they should. A plan names nodes with room, so Slurm starts a job at once; or they are not
// what we took them for, and it is given back. The time during which an outside hand kept it (halts.ts) is not counted, also that which
// nobody saw, because this server looks only since a while.
import { isRunId, type RunId } from '@muster/model';
import { haltOf } from './halts.ts';
import type { SlurmJob } from './listing.ts';

/** By so many times. */
const partsWaitLonger = 10;

export class Waits {
  readonly #maxS: number;
  /** When the first look was. */
  #openedS: number | null = null;
  /** When each was last seen to be kept by somebody. */
  #halted = new Map<number, number>();

  constructor(maxS: number) {
    this.#maxS = maxS;
  }

  /** To be called once a look: the runs that are overdue, and why Slurm lets them wait. */
  overdue(ours: ReadonlySet<SlurmJob>, nowS: number): Map<RunId, string> {
    this.#openedS ??= nowS;
    const halted = new Map<number, number>();
    const found = new Map<RunId, string>();
    for (const job of ours) {
      const haltedS = haltOf(job, nowS) ? nowS : this.#halted.get(job.id);
      if (haltedS !== undefined) halted.set(job.id, haltedS);
      if (job.phase !== 'waits' || haltedS === nowS || !isRunId(job.name)) continue;
      const sinceS = Math.max(job.submittedS, job.eligibleS, haltedS ?? this.#openedS);
      if (nowS - sinceS > this.#maxS * (job.partOf !== null ? partsWaitLonger : 1))
        found.set(job.name, job.reason);
    }
    this.#halted = halted;
    return found;
  }
}
