// The jobs that Slurm lists, by the key that they have for a name and a comment. Identity is both together, with the id that claimed
// the key: a name is taken any number of times, and ids are used again after the controller was killed. Both can also be edited by
// an outside hand while the job runs, so one that claimed its key is known by either of them, and by its id.
import { isRunId, type RunId } from '@muster/model';
import type { SlurmJob } from './listing.ts';

export class KeyedJobs {
  readonly all: readonly SlurmJob[];
  readonly #byMark = new Map<string, SlurmJob[]>();
  readonly #byId = new Map<number, SlurmJob>();

  constructor(jobs: readonly SlurmJob[]) {
    this.all = jobs;
    for (const job of jobs) {
      this.#byId.set(job.id, job);
      for (const mark of new Set([job.name, job.comment])) {
        const marked = this.#byMark.get(mark);
        if (marked) marked.push(job);
        else this.#byMark.set(mark, [job]);
      }
    }
  }

  /** Those of the key. */
  of(run: RunId): SlurmJob[] {
    return (this.#byMark.get(run) ?? []).filter(({ name, comment }) => name === run && comment === run);
  }

  /** The one that claimed the key, also where somebody changed its name or its comment since. */
  claimant(run: RunId, id: number): SlurmJob | undefined {
    const job = this.#byId.get(id);
    return job && (job.name === run || job.comment === run) ? job : undefined;
  }

  /** One of this id lives on this node that has nobody's key: it may be the claimant, without any mark that it had. */
  mayLive(id: number, node: string): boolean {
    const job = this.#byId.get(id);
    if (job?.phase !== 'holds' || isRunId(job.name) || isRunId(job.comment)) return false;
    return job.uses.some((use) => use.node === node);
  }
}
