// What each entry is told after a plan: its binding reason, when that is another than it was last told.
import { type EntryVerdict, invariant } from '@muster/model';
import { countAhead } from './ahead.ts';
import { type Entry, waitingOf } from './entry.ts';
import { type Impossible, impossibleAsJudged } from './impossible.ts';
import { behind, type Judged, startedJobs, type Why } from './judge.ts';
import { compareText } from './order.ts';
import type { Pass } from './pass.ts';
import type { Queue } from './queue.ts';
import { type Reason, reasonOf } from './reason.ts';
import type { State } from './state.ts';

/**
 * `behind` lasts one cycle, so it is told only to entries that know nothing yet; they stay fresh until a lasting reason
 * replaces it. Telling it to all would write every entry's verdict twice for each job that starts. A lane in its gate
 * keeps that reason, whatever becomes of its shape, until the ceiling lets it out.
 */
export function tell(state: State, pass: Pass, judged: Judged): EntryVerdict[] {
  const { queue } = state;
  const { lanes, shapes, entries } = judged;
  if (lanes.size + shapes.size + entries.size + queue.fresh.size + queue.ungated.size === 0) return [];
  const verdicts: EntryVerdict[] = [];
  let started: ReadonlyMap<Entry, number> | null = null;
  let exhausted: ReadonlySet<number> | null = null;
  let impossible: Impossible | null = null;
  const tellEntry = (entry: Entry, why: Why, lasting: boolean): void => {
    started ??= startsByEntry(queue, pass);
    const left = waitingOf(entry) - (started.get(entry) ?? 0);
    // All its jobs are in this plan; should a unit be dropped, the entry is told next time.
    if (left === 0 || why === behind || !lasting) queue.fresh.add(entry);
    else queue.fresh.delete(entry);
    if (left === 0 || (why === behind && entry.told !== null)) return;
    const reason = why === behind ? behindReason(ahead(firstLeft(entry, jobsThatStart()))) : why;
    if (entry.told?.binding === reason.binding) return;
    entry.told = reason;
    verdicts.push({ entry: queue.keyOf(entry), verdict: reason.verdict });
  };
  function jobsThatStart(): ReadonlySet<number> {
    exhausted ??= pass.members.exhausted(startedJobs(pass));
    return exhausted;
  }
  function ahead(job: number): number {
    impossible ??= impossibleAsJudged(state);
    return countAhead(state, job, impossible);
  }
  for (const lane of queue.ungated)
    if (lane.gated === null) for (const entry of queue.waitingIn(lane)) queue.fresh.add(entry);
  queue.ungated.clear();
  for (const [lane, why] of judged.lanes) {
    if (lane.gated === null && lane.shape.blocked !== null) continue;
    for (const entry of queue.waitingIn(lane)) tellEntry(entry, why, lane.gated !== null);
  }
  for (const [shape, why] of judged.shapes) {
    if (why === behind || shape.told === why.binding) continue;
    shape.told = why.binding;
    for (const lane of shape.lanes) for (const entry of queue.waitingIn(lane)) tellEntry(entry, why, true);
  }
  for (const [entry, why] of judged.entries) {
    entry.lane.shape.told = null;
    tellEntry(entry, why, why !== behind);
  }
  for (const entry of queue.fresh) {
    const { lane } = entry;
    const { shape } = lane;
    if (judged.entries.has(entry)) continue;
    if (lane.gated === null && judged.lanes.has(lane) && shape.blocked === null) continue;
    const why = lane.gated?.reason ?? judged.shapes.get(shape) ?? shape.blocked;
    if (why) tellEntry(entry, why, true);
  }
  return verdicts.sort((a, b) => compareText(a.entry, b.entry));
}

function startsByEntry(queue: Queue, pass: Pass): Map<Entry, number> {
  const started = new Map<Entry, number>();
  const jobs = startedJobs(pass);
  for (const job of pass.members.any ? pass.members.exhausted(jobs) : jobs) {
    if (!queue.stands(job)) continue;
    const entry = queue.entryOf(job);
    started.set(entry, (started.get(entry) ?? 0) + 1);
  }
  return started;
}

/** The first job of the entry that does not start in this plan. */
function firstLeft({ starved, jobs }: Entry, started: ReadonlySet<number>): number {
  for (const list of starved ? [starved, jobs] : [jobs])
    for (let p = list.first(); p >= 0; p = list.next(p)) if (!started.has(list.at(p))) return list.at(p);
  invariant(false, 'an entry that is told something has a job left');
}

export function behindReason(ahead: number): Reason {
  return reasonOf({ kind: 'waits', reasons: [{ code: 'behind', ahead }] });
}
