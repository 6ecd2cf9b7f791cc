// The naive engine's rights: who may end whose run, in the words of decision 0007, section 5. `rows` holds only the runs that
// count as being there.
import { type EngineRows, type LiveRun, leastUses, type Right, type Tier } from '@muster/model';
import { type JobRow, ReferenceTenancy, referenceLength } from './reference-tenancy.ts';

export function rightTo(
  rows: EngineRows,
  row: JobRow,
  victim: JobRow,
  run: LiveRun,
  nowMs: number,
): Right | null {
  const tenancy = new ReferenceTenancy(rows, nowMs);
  const tier = rows.policy.tiers.find(({ name }) => name === row.tier);
  const other = rows.policy.tiers.find(({ name }) => name === victim.tier);
  const [mine, theirs] = children(row.project, victim.project);
  const same = row.project === victim.project;
  const guaranteed = (path: string | null, key: string): number | null =>
    path === null ? null : tenancy.guaranteed(path, key);
  const used = Object.keys(run.uses);

  const bound = used.filter((key) => guaranteed(theirs, key) !== null);
  const within = bound.every((key) => tenancy.use(theirs!, key) <= guaranteed(theirs, key)!);
  const isProtected = !same && other?.guaranteed === true && bound.length > 0 && within;
  const names = (by: Tier, of: Tier | undefined): boolean =>
    of ? of.rank < by.rank && by.preempts.includes(of.name) : by.preempts.length > 0;
  if (tier && names(tier, other) && !isProtected) return 'tier';

  const ask = leastUses(row.demand);
  const asked = Object.keys(ask).filter((key) => guaranteed(mine, key) !== null);
  const stays =
    asked.length > 0 && asked.every((key) => tenancy.use(mine!, key) + ask[key]! <= guaranteed(mine, key)!);
  const shared = asked.filter((key) => used.includes(key));
  const borrows = shared.some(
    (key) => theirs === null || tenancy.use(theirs, key) > (guaranteed(theirs, key) ?? 0),
  );
  const unborrowed = tier?.guaranteed === true && !other?.guaranteed;
  // By its tier the other would take it again, because nobody guarantees it.
  const takenAgain = !tier?.guaranteed && other !== undefined && names(other, tier);
  if (!same && stays && shared.length > 0 && (borrows || unborrowed) && !takenAgain) return 'reclaim';

  const quota = rows.policy.quotas.find(({ project }) => project === row.project);
  const equal = (tier?.rank ?? null) === (other?.rank ?? null);
  if (same && quota?.preemptWithin === 'lower-priority' && equal && victim.priority < row.priority)
    return 'priority';
  const longer = equal && !isProtected && mayStopLonger(rows) && isLonger(rows, row, victim, run, nowMs);
  return longer ? 'shorter' : null;
}

/** Whether the policy lets jobs stop runs that are expected to be longer. */
export function mayStopLonger({ policy }: EngineRows): boolean {
  return policy.runTimes.use === 'learned' && policy.runTimes.stop === 'longer';
}

/** The run has saved its work, and is expected to be at least twice as long as the job. */
function isLonger(rows: EngineRows, row: JobRow, victim: JobRow, run: LiveRun, nowMs: number): boolean {
  if (run.startedMs === null || run.checkpointMs === null) return false;
  const doneMs = victim.state.savedMs + nowMs - run.startedMs;
  return referenceLength(rows, victim, doneMs) >= 2 * referenceLength(rows, row, row.state.savedMs);
}

/** The children of the lowest common project towards each; null for that project's own jobs. */
function children(mine: string, theirs: string): [string | null, string | null] {
  const [a, b] = [mine.split('/'), theirs.split('/')];
  let common = 0;
  while (common < a.length && common < b.length && a[common] === b[common]) common++;
  const child = (parts: string[]): string | null =>
    parts.length > common ? parts.slice(0, common + 1).join('/') : null;
  return [child(a), child(b)];
}
