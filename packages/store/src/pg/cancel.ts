// Cancel, hold and release by a person: of a job, of an array, of a member or a range of members.
import type { ArrayState, IndexRange, JobId, JobRefusal, JobState } from '@muster/model';
import { parseMemberId } from '@muster/model';
import type { ChangeRefusal, Outcome } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { holdAll, releaseAll } from '../rules/array-rules.ts';
import { cancelArray, cancelJob, cancelMembers, holdJob, releaseJob } from '../rules/cancel-rules.ts';
import { unclaimJob } from '../rules/claim-rules.ts';
import { type ArrayRecord, Changes, type JobRecord } from '../rules/records.ts';
import { applyChanges } from './apply.ts';
import { loadRuns, lockJobs, lockMembers } from './load.ts';

type Change = 'cancel' | 'hold' | 'release';
type Refusal = ChangeRefusal | JobRefusal;

export async function changeJob(
  database: Database,
  change: Change,
  id: JobId,
  by: string,
  versions: readonly number[] | undefined,
): Promise<Outcome<JobState | ArrayState, Refusal>> {
  return written(database, async (tx, changes) => {
    const { jobs, arrays } = await lockJobs(tx, [id]);
    const member = parseMemberId(id);
    const array = arrays.get(member?.array ?? id);
    const job = jobs.get(id);
    if (!job && !array) return 'not-found';
    if (versions && !versions.includes((job ?? array)!.version)) return 'stale-version';
    if (member && change !== 'cancel') return 'member';
    if (job) return (await changeOne(tx, changes, change, job, by)) ?? job;
    if (!array) return 'not-found';
    if (member && member.index >= array.size.count) return 'not-found';
    if (member) cancelMembers(changes, array, [member.index, member.index], new Map(), new Map(), by);
    else return (await changeAll(tx, changes, change, array, by)) ?? array;
    return array;
  });
}

/** Of an array; those that are over already are over. */
export async function cancelRange(
  database: Database,
  id: JobId,
  range: IndexRange,
  by: string,
  versions: readonly number[] | undefined,
): Promise<Outcome<JobState | ArrayState, Refusal>> {
  return written(database, async (tx, changes) => {
    const array = (await lockJobs(tx, [id])).arrays.get(id);
    if (!array || range[1] >= array.size.count) return 'not-found';
    if (versions && !versions.includes(array.version)) return 'stale-version';
    const { members, runs } = await loadMembers(tx, array, range);
    cancelMembers(changes, array, range, members, runs, by);
    return array;
  });
}

async function written(
  database: Database,
  body: (tx: Tx, changes: Changes) => Promise<JobRecord | ArrayRecord | Refusal>,
): Promise<Outcome<JobState | ArrayState, Refusal>> {
  const { value, sequence } = await database.write(
    async (tx) => {
      const changes = new Changes(tx.nowMs);
      const changed = await body(tx, changes);
      if (typeof changed === 'string') return changed;
      await applyChanges(tx, changes);
      return changed.state;
    },
    { fenced: true },
  );
  return typeof value === 'string'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

async function changeOne(
  tx: Tx,
  changes: Changes,
  change: Change,
  job: JobRecord,
  by: string,
): Promise<JobRefusal | null> {
  if (change === 'hold') return holdJob(changes, job, by);
  if (change === 'release') return releaseJob(changes, job, by);
  const run = 'run' in job.state ? job.state.run : null;
  const runs = await loadRuns(tx, new Map([[job.id, job]]), run === null ? [] : [run]);
  cancelJob(changes, job, run === null ? null : (runs.get(run) ?? null), by);
  return null;
}

async function changeAll(
  tx: Tx,
  changes: Changes,
  change: Change,
  array: ArrayRecord,
  by: string,
): Promise<JobRefusal | null> {
  if (change === 'release') return releaseAll(changes, array, by);
  const { members, runs } = await loadMembers(tx, array, [0, array.size.count - 1]);
  if (change === 'cancel') {
    cancelArray(changes, array, members, runs, by);
    return null;
  }
  const reason = { code: 'held', message: `held by ${by}` };
  for (const member of members.values()) unclaimJob(changes, member, reason);
  return holdAll(changes, array, by);
}

async function loadMembers(tx: Tx, array: ArrayRecord, range: IndexRange) {
  const members = await lockMembers(tx, array, range);
  const placed = [...members.values()].flatMap(({ state }) => ('run' in state ? [state.run] : []));
  return { members, runs: await loadRuns(tx, members, placed) };
}
