// The jobs that Slurm lists, by the key that they have for a name and, with the mark of our installation, for a comment. Identity is both
// together, with the id that claimed the key: a name is taken any number of times, also by another Muster in the same Slurm, and ids are used again after the controller was killed. Both can also be edited by
// an outside hand while the job runs, so one that claimed its key is known by either of them, and by its id.
import { isRunId, type RunId } from '@muster/model';
import type { SlurmJob } from './listing.ts';

/** The comment of a job of this run. */
export const commentOf = (run: RunId, installation: string): string => `${run} ${installation}`;

/** Whose run a comment names; null where it names none. */
function installationIn(comment: string): string | null {
  const [run = '', installation] = comment.split(' ');
  return isRunId(run) && installation !== undefined ? installation : null;
}

/** Whether a comment is that of a run of another installation. */
export function isOthers(comment: string, installation: string): boolean {
  const whose = installationIn(comment);
  return whose !== null && whose !== installation;
}

export class KeyedJobs {
  readonly all: readonly SlurmJob[];
  readonly #installation: string;
  readonly #byName = new Map<string, SlurmJob[]>();
  readonly #byId = new Map<number, SlurmJob>();

  constructor(jobs: readonly SlurmJob[], installation: string) {
    this.all = jobs;
    this.#installation = installation;
    for (const job of jobs) {
      this.#byId.set(job.id, job);
      const named = this.#byName.get(job.name);
      if (named) named.push(job);
      else this.#byName.set(job.name, [job]);
    }
  }

  /** Those of the key. */
  of(run: RunId): SlurmJob[] {
    return (this.#byName.get(run) ?? []).filter((job) => this.isKeyed(job));
  }

  /** Whether it is a job of some run of ours, by both its marks. */
  isKeyed({ name, comment }: SlurmJob): boolean {
    return isRunId(name) && comment === commentOf(name, this.#installation);
  }

  /** The one that claimed the key, also where somebody changed its name or its comment since. */
  claimant(run: RunId, id: number): SlurmJob | undefined {
    const job = this.#byId.get(id);
    if (!job || isOthers(job.comment, this.#installation)) return undefined;
    return job.name === run || job.comment === commentOf(run, this.#installation) ? job : undefined;
  }

  /** One of this id lives on this node that has nobody's key: it may be the claimant, without any mark that it had. */
  mayLive(id: number, node: string): boolean {
    const job = this.#byId.get(id);
    if (job?.phase !== 'holds' || isRunId(job.name)) return false;
    if (installationIn(job.comment) !== null) return false;
    return job.uses.some((use) => use.node === node);
  }
}
