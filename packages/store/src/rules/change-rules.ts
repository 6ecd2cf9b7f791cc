// What a person asks of a job, an array or a member, by its id: who is meant, whether it may be, and what it does.
import { type JobId, type JobRefusal, parseMemberId, type RunId } from '@muster/model';
import type { ChangeRefusal } from '../contract.ts';
import { holdAll, releaseAll } from './array-rules.ts';
import { cancelArray, cancelJob, cancelMembers, holdJob, releaseJob } from './cancel-rules.ts';
import { unclaimJob } from './claim-rules.ts';
import type { ArrayRecord, Changes, JobRecord, RunRecord } from './records.ts';

export type JobChange = 'cancel' | 'hold' | 'release';

/** The job or member with a row, the array, and the index of a member, as far as there are such. */
export interface Target {
  readonly job: JobRecord | null;
  readonly array: ArrayRecord | null;
  readonly index: number | null;
}

export function targetOf(
  jobs: ReadonlyMap<JobId, JobRecord>,
  arrays: ReadonlyMap<JobId, ArrayRecord>,
  id: JobId,
): Target {
  const member = parseMemberId(id);
  const array = arrays.get(member?.array ?? id) ?? null;
  return { job: jobs.get(id) ?? null, array, index: member?.index ?? null };
}

export function targetRefusal(
  { job, array, index }: Target,
  change: JobChange,
  versions: readonly number[] | undefined,
): ChangeRefusal | JobRefusal | null {
  const found = job ?? array;
  if (!found) return 'not-found';
  if (versions && !versions.includes(found.version)) return 'stale-version';
  if (index !== null && change !== 'cancel') return 'member';
  return !job && array && index !== null && index >= array.size.count ? 'not-found' : null;
}

/** The array whose members are to be looked at: release needs none of them. */
export function wholeArray({ job, array, index }: Target, change: JobChange): ArrayRecord | null {
  return job === null && index === null && change !== 'release' ? array : null;
}

/** `members` are those of a whole array; `runs` the present ones of the job or of them. */
export function changeTarget(
  changes: Changes,
  change: JobChange,
  { job, array, index }: Target,
  by: string,
  members: ReadonlyMap<JobId, JobRecord>,
  runs: ReadonlyMap<RunId, RunRecord>,
): JobRecord | ArrayRecord | ChangeRefusal | JobRefusal {
  if (job) return changeOne(changes, change, job, by, runs) ?? job;
  if (!array) return 'not-found';
  if (index === null) return changeAll(changes, change, array, by, members, runs) ?? array;
  cancelMembers(changes, array, [index, index], members, runs, by);
  return array;
}

function changeOne(
  changes: Changes,
  change: JobChange,
  job: JobRecord,
  by: string,
  runs: ReadonlyMap<RunId, RunRecord>,
): JobRefusal | null {
  if (change === 'hold') return holdJob(changes, job, by);
  if (change === 'release') return releaseJob(changes, job, by);
  const run = 'run' in job.state ? runs.get(job.state.run) : undefined;
  cancelJob(changes, job, run ?? null, by);
  return null;
}

function changeAll(
  changes: Changes,
  change: JobChange,
  array: ArrayRecord,
  by: string,
  members: ReadonlyMap<JobId, JobRecord>,
  runs: ReadonlyMap<RunId, RunRecord>,
): JobRefusal | null {
  if (change === 'release') return releaseAll(changes, array, by);
  if (change === 'cancel') {
    cancelArray(changes, array, members, runs, by);
    return null;
  }
  const reason = { code: 'held', message: `held by ${by}` };
  for (const member of members.values()) unclaimJob(changes, member, reason);
  return holdAll(changes, array, by);
}
