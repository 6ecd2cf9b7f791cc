// What the accounting (slurmdbd) knows of jobs that the controller has forgotten: how they ended, and who asked for it. It only
// explains an end that is proven without it: it may say "ended" of a job whose processes live, because a controller that lost its
// state or a node writes there too. It is asked beside the looks, never in them, because a database may be slow; until it has
// answered, or failed to, nothing is told of the end. Without it the end is told all the same, as one that nobody explains.
import type { RunId } from '@muster/model';
import type { Commands } from './commands.ts';
import { isOthers } from './keyed-jobs.ts';
import { type AccountedJob, parseAccounting } from './listing.ts';

export type Account =
  | { readonly kind: 'ended'; readonly job: AccountedJob }
  /** It keeps none, did not answer, or knows nothing of an end. */
  | { readonly kind: 'nothing'; readonly why: string };

export interface Accounting {
  /** Of the job with this id, or the last one of the key where no id is known. Null while it is being asked. */
  of(run: RunId, job: number | null): Account | null;
  /** The same, for who can wait. */
  ask(run: RunId, job: number | null): Promise<Account>;
  forget(run: RunId): void;
}

/** Runs in one question; the words of a command are limited. */
const together = 200;
/**
 * The controller tells slurmdbd of an end after it says so itself: of a job that began in the last five seconds when it next looks for such
 * (measured: up to 5 s on a quiet machine), and again after ten where it was not heard.
 */
const behindMs = 30_000;

export function accountingOf(
  commands: Commands,
  installation: string,
  nowMs = (): number => performance.now(),
): Accounting {
  const known = new Map<RunId, readonly AccountedJob[] | string>();
  /** Since when an answer without an end is not taken for the last word. */
  const behindSince = new Map<RunId, number>();
  const wanted = new Set<RunId>();
  let asking: Promise<void> | null = null;

  async function askAll(): Promise<void> {
    while (wanted.size > 0) {
      const runs = [...wanted].slice(0, together);
      const answer = await jobsOf(commands, runs).catch((error: Error) => error.message);
      for (const run of runs) {
        wanted.delete(run);
        known.set(run, typeof answer === 'string' ? answer : answer.filter((job) => isOf(run, job)));
      }
    }
  }

  /** Comments are there only where a site has the accounting keep them. */
  const isOf = (run: RunId, { name, comment }: AccountedJob): boolean =>
    name === run && !isOthers(comment, installation);

  function start(run: RunId): Promise<void> {
    wanted.add(run);
    asking ??= askAll().finally(() => {
      asking = null;
    });
    return asking;
  }

  function of(run: RunId, job: number | null): Account | null {
    const jobs = known.get(run);
    const account = jobs === undefined ? null : accountOf(jobs, job);
    if (account && !mayBeBehind(run, jobs, account)) return account;
    void start(run);
    return null;
  }

  function mayBeBehind(run: RunId, jobs: unknown, { kind }: Account): boolean {
    if (kind === 'ended' || typeof jobs === 'string') return false;
    const sinceMs = behindSince.get(run) ?? nowMs();
    behindSince.set(run, sinceMs);
    return nowMs() - sinceMs < behindMs;
  }

  return {
    of,
    async ask(run, job) {
      known.delete(run);
      for (;;) {
        await start(run);
        const jobs = known.get(run);
        if (jobs !== undefined) return accountOf(jobs, job);
      }
    },
    forget: (run) => {
      known.delete(run);
      behindSince.delete(run);
    },
  };
}

/** For a cluster that keeps none. */
export const noAccounting: Accounting = {
  of: () => ({ kind: 'nothing', why: 'it keeps no accounting' }),
  ask: async () => ({ kind: 'nothing', why: 'it keeps no accounting' }),
  forget: () => {},
};

async function jobsOf(commands: Commands, runs: readonly RunId[]): Promise<AccountedJob[]> {
  // Ids are used again after the controller was killed, and only the last job of each is told without --duplicates. A job is found
  // by when it could have run, and without a time that is today.
  const which = ['--allusers', '--duplicates', '--allocations', '--starttime=now-30days'];
  return parseAccounting(await commands('sacct', ['--json', ...which, `--name=${runs.join(',')}`]));
}

function accountOf(jobs: readonly AccountedJob[] | string, id: number | null): Account {
  if (typeof jobs === 'string') return { kind: 'nothing', why: `its accounting did not answer (${jobs})` };
  const [job] = jobs
    .filter((one) => id === null || one.id === id)
    .toSorted((a, b) => b.submittedS - a.submittedS || b.id - a.id);
  // A state without the time of its end is not the whole record yet: who asked for it comes with the end.
  if (job?.phase === 'over' && job.endS > 0) return { kind: 'ended', job };
  return { kind: 'nothing', why: 'its accounting knows of no end' };
}
