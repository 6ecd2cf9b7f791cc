// The longest time limit with which a job starts now, for one that finds only room that is kept for others: it ends before they
// start, or stands before them in line where a policy takes a job to be as long as its limit. Between two such moments one limit
// is as good as another, so that only the longest before each need be tried; and one for each moment from which a job is
// treated otherwise for how long it runs.
import { type Change, taskCount } from '@muster/model';
import { limitsWithin, standsByLimit } from './expected-run.ts';
import { inLine, type Steps, walkTo } from './starts-now.ts';
import type { State } from './state.ts';
import { fitsNow } from './verdict.ts';

const second = 1000;
/** More limits than that are not tried one by one: where one starts the job, shorter ones are taken to. */
const triedMax = 32;

export function helpfulTimeLimit(state: State, job: number, steps: Steps): Change | null {
  const { queue, fleets, clockMs } = state;
  const { facts, lane, duration } = queue.entryOf(job);
  const { shape } = lane;
  if (shape.blocked !== null || lane.gated !== null) return null;
  if (!steps.take(1 + taskCount(shape.demand)) || !fitsNow(fleets, shape)) return null;
  let { kept, turnsMs } = look(state, job, steps);
  if (!kept) return null;
  let bestMs = 0;
  for (let ms = duration.ms; ; ) {
    const between = secondsBetween(turnsMs, bestMs, ms);
    const toMs = between[between.length > triedMax ? between.length >>> 1 : 0];
    if (toMs === undefined) break;
    const putBack = queue.suppose(job, { ...facts, durationMs: toMs }, shape.demand, clockMs);
    const looked = look(state, job, steps);
    putBack();
    if (looked.started) bestMs = toMs;
    else {
      ms = toMs;
      ({ turnsMs } = looked);
    }
  }
  return bestMs === 0 ? null : { kind: 'time-limit', fromMs: facts.durationMs, toMs: bestMs, victims: 0 };
}

/** Those that are told, longest first, without either end. */
function secondsBetween(limitsMs: readonly number[], fromMs: number, toMs: number): readonly number[] {
  const whole = limitsMs.map((ms) => Math.floor(ms / second) * second);
  return [...new Set(whole)].filter((ms) => fromMs < ms && ms < toMs).sort((a, b) => b - a);
}

interface Looked {
  readonly started: boolean;
  /** There is only room that is kept for others, and somebody may pass them. */
  readonly kept: boolean;
  /** The longest durations with which the answer may be another. */
  readonly turnsMs: readonly number[];
}

const nothing: Looked = { started: false, kept: false, turnsMs: [] };

function look(state: State, job: number, steps: Steps): Looked {
  const { queue, policy, clockMs } = state;
  const entry = queue.entryOf(job);
  const { shape } = entry.lane;
  if (!steps.take(inLine(state))) return nothing;
  let looked = nothing;
  const ahead: number[] = [];
  const saw = (other: number): void => {
    if (other !== job) ahead.push(other);
  };
  walkTo(state, job, { steps, preempts: false, saw }, ({ placed, kept, keptFromMs, reservations }) => {
    const turnsMs = reservations.startsMs.map((startMs) => startMs - clockMs);
    // Whoever runs longer than one of its kind that found only such room is not tried.
    const fromMs = keptFromMs.get(shape) ?? entry.duration.ms;
    if (fromMs < entry.duration.ms) turnsMs.push(fromMs - 1);
    const { deadlineMs } = entry.facts;
    if (deadlineMs !== null) turnsMs.push(deadlineMs - policy.deadline.marginMs - clockMs - 1);
    if (standsByLimit(policy, entry.facts) && !queue.isStarved(job))
      for (const other of ahead) turnsMs.push(...limitsBefore(state, job, other));
    const isKept = (kept.get(entry)?.startMs ?? null) !== null;
    looked = { started: placed.last()?.job === job, kept: isKept, turnsMs };
  });
  return looked;
}

/** The longest limits with which the job may stand before another that is ahead of it. */
function limitsBefore({ queue, jobs }: State, job: number, other: number): readonly number[] {
  const own = queue.entryOf(job);
  const theirs = queue.entryOf(other);
  if (own.rank !== theirs.rank || queue.isStarved(other)) return [];
  const sinceMs = jobs.turnMs[other]! - jobs.submittedMs[job]!;
  const savedMs = jobs.savedMs(job);
  // Inside a project priorities count, between projects they do not.
  if (own.lane.project === theirs.lane.project)
    return limitsWithin(sinceMs - theirs.aheadMs + own.aheadMs + own.behindMs, savedMs);
  return queue.expectedFirst ? limitsWithin(sinceMs + theirs.behindMs, savedMs) : [];
}
