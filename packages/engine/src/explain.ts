// Answers to questions: the verdict of one job and what would start it now, and what a job would be told if it were submitted
// now. They walk the queue as `decide` would, stop at the job in question, and leave everything as it was.
import {
  countOf,
  type Explanation,
  explainBound,
  hasIndex,
  type JobId,
  type NodeId,
  noEnds,
  type OverCeiling,
  onlyVerdict,
  type PlannedJob,
  parseMemberId,
  runId,
  type Verdict,
  within,
} from '@muster/model';
import { aheadOf, countAhead } from './ahead.ts';
import { factsOf } from './apply.ts';
import { bringUp } from './bring-up.ts';
import { type HeldClaim, whyLost } from './claims.ts';
import type { JobRequest } from './engine.ts';
import { slotsOf } from './fit.ts';
import type { Fleet } from './fleet.ts';
import { allOver, overAt } from './gates.ts';
import { helpfulChanges } from './helpful-changes.ts';
import { helpfulEnds } from './helpful-ends.ts';
import { impossibleNow } from './impossible.ts';
import { failureCount, held, placed, queued, spent } from './jobs.ts';
import { ceilingReason, keptReason, overReason } from './judge.ts';
import type { Placement } from './ledger.ts';
import { Members } from './members.ts';
import { compareText } from './order.ts';
import { type Kept, type Pass, type Stop, undoPass, walk } from './pass.ts';
import { isFull } from './pool.ts';
import { Preemptions } from './preempt.ts';
import type { Planned } from './reservations.ts';
import type { Ask } from './resource-keys.ts';
import { mightPreempt } from './rights.ts';
import { roomReport } from './room-report.ts';
import type { Shape } from './shape.ts';
import { Steps, walkTo } from './starts-now.ts';
import type { State } from './state.ts';
import { type PutBack, supposeJudged, supposeTrying } from './suppose.ts';
import { supposed } from './supposed-job.ts';
import { behindReason } from './tell.ts';
import { fitsNow, whyNot } from './verdict.ts';
import type { NearEnd } from './victim-search.ts';

/** For changes of the job and of ceilings, and for ends of runs: together a few dozen milliseconds. */
const { changeSteps, endSteps } = explainBound;

export function explain(state: State, id: JobId, nowMs: number): Explanation | null {
  let putBack: PutBack = () => {};
  const verdict = verdictOf(state, id, nowMs, () => {
    putBack = supposeJudged(state);
  });
  const explanation = verdict && explained(state, id, verdict);
  putBack();
  return explanation;
}

function explained(state: State, id: JobId, verdict: Verdict): Explanation {
  const job = slotToExplain(state, id)!;
  // What would start a member behind others of its array starts those first: ask about them.
  const { count, member } = laterMember(state, job, id);
  if (!state.queue.stands(job))
    return { ...onlyVerdict(verdict), ...(member === undefined && endsOfArray(state, job)) };
  if (member === undefined) return whole(state, job, verdict);
  const ahead = aheadOf(state, job);
  return { ...onlyVerdict(verdict), ahead: ahead && { ...ahead, count: ahead.count + count } };
}

/** Of a job that waits because enough members of its array are out: whose end lets it start. */
function endsOfArray(state: State, job: number): Pick<Explanation, 'ends' | 'complete'> {
  const { jobs } = state;
  const pool = jobs.poolOf(job);
  const isOut = jobs.state[job] !== queued || state.claims.byJob.has(jobs.ids[job]!);
  if (!pool || !isFull(pool) || isOut || jobs.notBeforeMs[job]! > state.clockMs)
    return { ends: noEnds, complete: true };
  const putBack = supposeTrying(state);
  const tried = new Steps(endSteps);
  const ends = helpfulEnds(state, job, tried);
  putBack();
  return { ends, complete: !tried.ranOut };
}

function whole(state: State, job: number, verdict: Verdict): Explanation {
  if (verdict.kind === 'placed') return { ...onlyVerdict(verdict), ahead: aheadOf(state, job) };
  const { fleets, queue } = state;
  const { shape } = queue.entryOf(job).lane;
  const noRoom = verdict.reasons.find((reason) => reason.code === 'no-room');
  // Without a port for the first task none is counted, whatever room there is.
  const counted = noRoom?.lacks.every(({ lack }) => lack !== 'ports-busy') && shape.groups.length === 1;
  const roomFor = noRoom && counted ? noRoom.tasksFit : null;
  const putBack = supposeTrying(state);
  const tried = new Steps(changeSteps);
  const changes = helpfulChanges(state, job, roomFor, tried);
  const triedEnds = new Steps(endSteps);
  const ends = helpfulEnds(state, job, triedEnds);
  putBack();
  return {
    verdict,
    ahead: aheadOf(state, job),
    room: noRoom ? roomReport(fleets.live, shape) : null,
    changes,
    ends,
    complete: !tried.ranOut && !triedEnds.ranOut,
  };
}

/** The verdict alone; `look` is called before anything is looked at for a job that stands in line. */
export function verdictOf(
  state: State,
  id: JobId,
  nowMs: number,
  look: () => void = () => {},
): Verdict | null {
  const { jobs } = state;
  const job = slotToExplain(state, id);
  if (job === undefined) return null;
  if (jobs.state[job] === spent) return { kind: 'placed', nodes: arrayNodes(state, job) };
  if (jobs.state[job] === placed) return { kind: 'placed', nodes: runNodes(state, job) };
  if (jobs.state[job] === held) return { kind: 'waits', reasons: [{ code: 'held', by: heldBy(state, job) }] };
  const claim = state.claims.byJob.get(jobs.ids[job]!);
  if (claim) return claimVerdict(state, claim);
  bringUp(state, nowMs);
  const pool = jobs.poolOf(job);
  if (pool && isFull(pool))
    return {
      kind: 'waits',
      reasons: [{ code: 'parallel', running: pool.out, parallel: pool.size.parallel! }],
    };
  if (!state.queue.stands(job)) return notBefore(state, job);
  look();
  return whyWaits(state, job, id);
}

/** What its entry was last told, for a job that waits in line and holds no claim. */
export function toldOf({ jobs, queue, claims }: State, id: JobId): Verdict | null {
  const job = jobs.slots.get(id);
  if (job === undefined || !queue.stands(job) || claims.byJob.has(id)) return null;
  return queue.entryOf(job).told?.verdict ?? null;
}

/**
 * The slot that answers for the job. Members that never started stand together, so the first of them speaks for all; and when
 * none is left, the first of those that wait again speaks for the array.
 */
function slotToExplain({ jobs, queue }: State, id: JobId): number | undefined {
  const known = jobs.slots.get(id);
  if (known === undefined) {
    const member = parseMemberId(id);
    const array = member ? jobs.slots.get(member.array) : undefined;
    const pool = array === undefined ? undefined : jobs.pools.get(array);
    return member && pool && hasIndex(pool.waiting, member.index) ? array : undefined;
  }
  if (jobs.state[known] !== spent) return known;
  const again = [...jobs.pools.get(known)!.again].sort(queue.compareJobs);
  return again[0] ?? known;
}

/** A member that never started and is not the first of those: which, and how many are before it. */
function laterMember({ jobs }: State, job: number, id: JobId): { count: number; member?: JobId } {
  const index = parseMemberId(id)?.index;
  const pool = jobs.pools.get(job);
  if (!pool || index === undefined) return { count: 0 };
  const count = countOf(within(pool.waiting, [0, index - 1]));
  return count === 0 ? { count } : { count, member: id };
}

function heldBy({ jobs }: State, job: number): string {
  return jobs.heldBy(jobs.poolOf(job)?.slot ?? job) ?? '';
}

/** Where the members of an array are. */
function arrayNodes({ jobs, table }: State, array: number): NodeId[] {
  const nodes = new Set<NodeId>();
  for (const [slot, run] of table.live.entries())
    if (run && jobs.array[table.job[slot]!] === array) for (const { node } of run.tasks) nodes.add(node);
  return [...nodes].sort(compareText);
}

function notBefore(state: State, job: number): Verdict {
  const { jobs } = state;
  const failures = failureCount(jobs.failures(job));
  return {
    kind: 'waits',
    reasons: [{ code: 'not-before', untilMs: jobs.notBeforeMs[job]!, failures }],
  };
}

function runNodes(state: State, job: number): NodeId[] {
  const run = state.runs.get(runId(state.jobs.ids[job]!, state.jobs.attempt[job]!));
  return [...new Set(run?.tasks.map((task) => task.node))];
}

/** Every ceiling in the way and what the fleet lacks; if neither, whether its turn comes in time. */
function whyWaits(state: State, job: number, id: JobId): Verdict {
  const { queue, fleets, projects } = state;
  const { lane } = queue.entryOf(job);
  const { shape, project, user } = lane;
  const over = allOver(projects, project, user, shape.ask);
  // A blocked shape does not fit, whoever else is served first.
  const fits = shape.blocked === null && fitsNow(fleets, shape);
  const mayPreempt = over.length === 0 && !fits && mightPreempt(state, job);
  if (over.length > 0 && mightPreempt(state, job)) {
    // Victims below the ceilings may ease them.
    const { victims } = new Preemptions(state, state.clockMs, new Members(state.jobs)).alone(job);
    if (victims > 0) return preempting(victims, victims);
  }
  if (over.length > 0) return together(over, shape, fits ? null : whyNot(fleets, shape).verdict);
  if (!fits && !mayPreempt) return withStart(state, job, whyNot(fleets, shape).verdict);
  // Nothing is worth a try: a decision would not look for victims either, and only the end that it waits for is of interest.
  if (shape.blocked !== null && queue.open.size === 0) {
    const { nearEnd } = new Preemptions(state, state.clockMs, new Members(state.jobs)).alone(job);
    return withStart(state, job, withNearEnd(whyNot(fleets, shape).verdict, nearEnd));
  }
  let asks: readonly Ask[] = [];
  let kept: Kept | undefined;
  let verdict: Verdict | null = null;
  // What was tried in vain is tried again for the answer.
  const open = queue.open.has(shape);
  queue.open.add(shape);
  const { count, member } = laterMember(state, job, id);
  walkTo(state, job, { steps: null, preempts: true, member }, (pass) => {
    const last = pass.placed.last();
    const isMeant = (of: { job: number; id: JobId } | undefined): boolean =>
      of !== undefined && (member === undefined ? of.job === job : of.id === member);
    if (last && isMeant(last)) verdict = placedOn(fleets.live, last.placement);
    const claim = pass.preemptions.claims.at(-1);
    if (claim && isMeant(claim)) verdict = preempting(claim.claim.victims.length, claim.claim.victims.length);
    asks = pass.over.get(lane) ?? [];
    kept = pass.kept.get(queue.entryOf(job));
  });
  if (!open) queue.open.delete(shape);
  if (verdict) return verdict;
  if (!fits) {
    const { nearEnd } = new Preemptions(state, state.clockMs, new Members(state.jobs)).alone(job);
    return withStart(state, job, withNearEnd(whyNot(fleets, shape).verdict, nearEnd));
  }
  if (kept) return withStart(state, job, keptReason(kept).verdict);
  const isLate = asks.length > 0 && asks.every((ask) => overAt(project, user, ask) !== null);
  if (isLate) return overReason(state, lane, asks).verdict;
  // Members of its own array that are before it are ahead too.
  return behindReason(countAhead(state, job, impossibleNow(state)) + count).verdict;
}

/** A job that would preempt may wait for an end instead. */
function withNearEnd(verdict: Verdict, nearEnd: NearEnd | null): Verdict {
  if (verdict.kind !== 'waits' || !nearEnd) return verdict;
  return { ...verdict, reasons: [...verdict.reasons, { code: 'near-end', ...nearEnd }] };
}

/** Runs of others are stopped for it, or would be. */
function preempting(victims: number, left: number): Verdict {
  return { kind: 'waits', reasons: [{ code: 'preempting', victims, left }] };
}

/** It waits for its victims, or starts in their place now. */
function claimVerdict(state: State, held: HeldClaim): Verdict {
  const { claim, victimsLeft } = held;
  if (victimsLeft > 0 || whyLost(state.fleets.live, held) !== null)
    return preempting(claim.victims.length, victimsLeft);
  return { kind: 'placed', nodes: [...new Set(claim.tasks.map((task) => task.node))] };
}

/** Adds when it is planned to start, where it is among the jobs for which that is planned. */
function withStart(state: State, job: number, verdict: Verdict): Verdict {
  if (verdict.kind !== 'waits') return verdict;
  const isFound = ({ reservations }: Pass): boolean => !reservations.open || reservations.jobs.includes(job);
  const found = plannedIn(state, (_, pass) => isFound(pass)).find((each) => each.job === job);
  return found ? { ...verdict, planned: found.start } : verdict;
}

/** All planned starts, in the order of the jobs. */
export function plannedStarts(state: State, nowMs: number): PlannedJob[] {
  bringUp(state, nowMs);
  const planned = plannedIn(state, (_, { reservations }) => !reservations.open);
  return planned.map(({ id, start }) => ({ job: id, ...start }));
}

function plannedIn(state: State, stop: Stop): readonly Planned[] {
  const pass = walk(state, stop, { all: true });
  const planned = pass.reservations.planned();
  undoPass(state, pass);
  return planned;
}

/** Ceilings that are in the way and what the fleet lacks, if anything. What is possible has to be so for both. */
function together(over: readonly OverCeiling[], shape: Shape, noRoom: Verdict | null): Verdict {
  const quota = ceilingReason(over, shape).verdict;
  if (!noRoom) return quota;
  if (noRoom.kind === 'impossible') {
    const allowed = quota.kind === 'impossible' ? quota.nearest : [];
    return { ...noRoom, reasons: [...over, ...noRoom.reasons], nearest: [...noRoom.nearest, ...allowed] };
  }
  if (quota.kind === 'waits' && noRoom.kind === 'waits')
    return { kind: 'waits', reasons: [...quota.reasons, ...noRoom.reasons] };
  return quota;
}

/** Puts such a job in line, looks, and takes it out again. */
export function consider(state: State, request: JobRequest, nowMs: number): Explanation {
  bringUp(state, nowMs);
  return supposed(state, factsOf(request), request.demand, (job) => {
    state.queue.queue(job, state.clockMs);
    const putBack = supposeJudged(state);
    const explanation = whole(state, job, whyWaits(state, job, state.jobs.ids[job]!));
    putBack();
    return explanation;
  });
}

function placedOn(fleet: Fleet, placement: Placement): Verdict {
  const slots = new Set(slotsOf(fleet, placement));
  return { kind: 'placed', nodes: [...slots].map((slot) => fleet.facts[slot]!.node) };
}
