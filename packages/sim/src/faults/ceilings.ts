// S7: what is given keeps every ceiling above it, by the policy of that moment. A job that is given a claim has it from then on,
// in place of its victims: its start adds nothing, and a ceiling that was lowered meanwhile stops it no more than it stops a run.
import type { Amounts, Claim, JobId, Policy, RunId, Uses } from '@muster/model';
import { must } from './job-log.ts';

interface Use {
  readonly project: string;
  readonly uses: Uses;
}

export class Ceilings {
  readonly #runs = new Map<RunId, Use>();
  readonly #claims = new Map<JobId, Use & { readonly victims: readonly RunId[] }>();
  policy: Policy | null = null;

  planned(job: JobId, run: RunId, use: Use): void {
    this.#runs.set(run, use);
    if (!this.#claims.delete(job)) this.#keep(run, use, [...this.#runs.values()]);
  }

  claimed(job: JobId, project: string, { uses, victims }: Claim): void {
    const use = { project, uses, victims: victims.map(({ run }) => run) };
    this.#claims.set(job, use);
    const leaving = new Set([...this.#claims.values()].flatMap((claim) => claim.victims));
    const staying = [...this.#runs].flatMap(([run, one]) => (leaving.has(run) ? [] : [one]));
    this.#keep(`the claim of ${job}`, use, [...staying, ...this.#claims.values()]);
  }

  /** Its claim is given up, if it has one. */
  unclaimed(job: JobId): void {
    this.#claims.delete(job);
  }

  ended(run: RunId): void {
    this.#runs.delete(run);
  }

  #keep(what: string, { project, uses }: Use, all: readonly Use[]): void {
    for (const path of pathsUp(project)) {
      const ceiling = this.policy?.quotas.find((quota) => quota.project === path)?.ceiling ?? {};
      const below = all.filter((use) => pathsUp(use.project).includes(path));
      for (const key of Object.keys(uses)) {
        const most = limitOf(ceiling, key);
        if (most === Number.POSITIVE_INFINITY) continue;
        const sum = below.reduce((total, use) => total + (use.uses[key] ?? 0), 0);
        must(
          sum <= most,
          'S7',
          () => `${what} takes ${path} to ${sum} of ${key}, and its ceiling is ${most}`,
        );
      }
    }
  }
}

function limitOf(ceiling: Amounts, key: string): number {
  const amount = ceiling[key];
  return typeof amount === 'number' ? amount : Number.POSITIVE_INFINITY;
}

/** A project and those above it. */
function pathsUp(project: string): string[] {
  const parts = project.split('/');
  return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
}
