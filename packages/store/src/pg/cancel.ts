// Cancel, hold, release and move by a person: of a job, and the first three also of an array, of a member or a range of members.
import type { ArrayState, IndexRange, JobId, JobRefusal, JobState, MoveOrder } from '@muster/model';
import type { ChangeRefusal, Outcome } from '../contract.ts';
import type { Database, Tx } from '../database.ts';
import { cancelMembers } from '../rules/cancel-rules.ts';
import { changeTarget, type JobChange, targetOf, targetRefusal, wholeArray } from '../rules/change-rules.ts';
import { moveJob, unmoveJob } from '../rules/move-rules.ts';
import { type ArrayRecord, Changes, type JobRecord } from '../rules/records.ts';
import { applyChanges } from './apply.ts';
import { loadRuns, lockJobs, lockMembers } from './load.ts';

type Refusal = ChangeRefusal | JobRefusal;

export async function changeJob(
  database: Database,
  change: JobChange,
  id: JobId,
  by: string,
  versions: readonly number[] | undefined,
): Promise<Outcome<JobState | ArrayState, Refusal>> {
  return written(database, async (tx, changes) => {
    const { jobs, arrays } = await lockJobs(tx, [id]);
    const target = targetOf(jobs, arrays, id);
    const refusal = targetRefusal(target, change, versions);
    if (refusal) return refusal;
    const array = wholeArray(target, change);
    const { members, runs } = array
      ? await loadMembers(tx, array, [0, array.size.count - 1])
      : { members: new Map(), runs: await placedRuns(tx, target.job ? [target.job] : []) };
    return changeTarget(changes, change, target, by, members, runs);
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

/** Null takes a move back. */
export async function moveOne(
  database: Database,
  id: JobId,
  order: MoveOrder | null,
  by: string,
): Promise<Outcome<JobState | ArrayState, Refusal>> {
  return written(database, async (tx, changes) => {
    const { jobs, arrays } = await lockJobs(tx, [id]);
    const job = jobs.get(id);
    if (!job) return arrays.has(id) ? 'not-now' : 'not-found';
    if (order === null) return unmoveJob(changes, job, by) ?? job;
    const runs = await placedRuns(tx, [job]);
    return moveJob(changes, job, runs.get(order.run) ?? null, order, by) ?? job;
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

async function loadMembers(tx: Tx, array: ArrayRecord, range: IndexRange) {
  const members = await lockMembers(tx, array, range);
  return { members, runs: await placedRuns(tx, [...members.values()]) };
}

/** The present runs of these jobs. */
function placedRuns(tx: Tx, jobs: readonly JobRecord[]) {
  const placed = jobs.flatMap(({ state }) => ('run' in state ? [state.run] : []));
  return loadRuns(tx, new Map(jobs.map((job) => [job.id, job])), placed);
}
