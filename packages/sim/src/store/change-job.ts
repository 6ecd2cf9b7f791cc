// Cancel, hold, release and move by a person, and a run's word that its work is saved.
import {
  type ArrayState,
  type Checkpoint,
  type IndexRange,
  type JobId,
  type JobRefusal,
  type JobState,
  type MoveOrder,
  parseRunId,
} from '@muster/model';
import type { ChangeRefusal, Outcome, OwnRun } from '@muster/store';
import {
  type ArrayRecord,
  Changes,
  cancelMembers,
  changeTarget,
  checkpointRun,
  isOneOf,
  type JobChange,
  type JobRecord,
  moveJob,
  runOfToken,
  targetOf,
  targetRefusal,
  unmoveJob,
  wholeArray,
} from '@muster/store/rules';
import { applyChanges } from './apply.ts';
import type { MemoryDatabase, Tx } from './database.ts';
import { loadJobs, loadMembers, loadWithRuns, placedRuns } from './load.ts';

type Refusal = ChangeRefusal | JobRefusal;
type Changed = Outcome<JobState | ArrayState, Refusal>;

export function changeJob(
  database: MemoryDatabase,
  change: JobChange,
  id: JobId,
  by: string,
  versions: readonly number[] | undefined,
): Changed {
  return written(database, ({ tables }, changes) => {
    const { jobs, arrays } = loadJobs(tables, [id]);
    const target = targetOf(jobs, arrays, id);
    const refusal = targetRefusal(target, change, versions);
    if (refusal) return refusal;
    const array = wholeArray(target, change);
    const members = array ? loadMembers(tables, array, [0, array.size.count - 1]) : new Map();
    const runs = placedRuns(tables, target.job ? [target.job] : members.values());
    return changeTarget(changes, change, target, by, members, runs);
  });
}

export function cancelRange(
  database: MemoryDatabase,
  id: JobId,
  range: IndexRange,
  by: string,
  versions: readonly number[] | undefined,
): Changed {
  return written(database, ({ tables }, changes) => {
    const array = loadJobs(tables, [id]).arrays.get(id);
    if (!array || range[1] >= array.size.count) return 'not-found';
    if (versions && !versions.includes(array.version)) return 'stale-version';
    const members = loadMembers(tables, array, range);
    cancelMembers(changes, array, range, members, placedRuns(tables, members.values()), by);
    return array;
  });
}

/** Null takes a move back. */
export function moveOne(database: MemoryDatabase, id: JobId, order: MoveOrder | null, by: string): Changed {
  return written(database, ({ tables }, changes) => {
    const { jobs, arrays } = loadJobs(tables, [id]);
    const job = jobs.get(id);
    if (!job) return arrays.has(id) ? 'not-now' : 'not-found';
    if (order === null) return unmoveJob(changes, job, by) ?? job;
    return moveJob(changes, job, placedRuns(tables, [job]).get(order.run) ?? null, order, by) ?? job;
  });
}

function written(
  database: MemoryDatabase,
  body: (tx: Tx, changes: Changes) => JobRecord | ArrayRecord | Refusal,
): Changed {
  const { value, sequence } = database.write((tx) => {
    const changes = new Changes(tx.nowMs);
    const changed = body(tx, changes);
    if (typeof changed === 'string') return changed;
    applyChanges(tx, changes);
    return changed.state;
  });
  return typeof value === 'string'
    ? { outcome: 'refused', refusal: value }
    : { outcome: 'committed', sequence, value };
}

export function checkpoint(
  database: MemoryDatabase,
  token: string,
  saved: Checkpoint,
): Outcome<null, 'bad-token'> {
  const id = runOfToken(token);
  const { value, sequence } = database.write((tx) => {
    const run = id === null ? undefined : loadWithRuns(tx.tables, [id]).runs.get(id);
    if (!run || !isOneOf(token, tx.tables.runs.get(run.id)?.tokens ?? [])) return false;
    const changes = new Changes(tx.nowMs);
    checkpointRun(changes, run, saved, 0);
    applyChanges(tx, changes);
    return true;
  });
  return value
    ? { outcome: 'committed', sequence, value: null }
    : { outcome: 'refused', refusal: 'bad-token' };
}

/** Whose the token is, while its run is not over. */
export function ownRun({ tables }: MemoryDatabase, token: string): OwnRun | null {
  const run = runOfToken(token);
  const of = run && parseRunId(run);
  const live = run === null ? undefined : tables.liveRuns.get(run);
  return of && live && isOneOf(token, live.tokens) ? { run, ...of } : null;
}
