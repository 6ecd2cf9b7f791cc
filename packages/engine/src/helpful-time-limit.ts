// The longest time limit with which a job starts now, for one that finds only room that is kept for others: it ends before they
// start. Between two planned starts one limit is as good as another, so that only those need be tried which end just before one
// of them; and one for each moment from which a job is treated otherwise for how long it runs.
import { type Change, taskCount } from '@muster/model';
import { inLine, type Steps, walkTo } from './starts-now.ts';
import type { State } from './state.ts';
import { fitsNow } from './verdict.ts';

const second = 1000;

export function helpfulTimeLimit(state: State, job: number, steps: Steps): Change | null {
  const { queue, fleets, clockMs } = state;
  const { facts, lane, duration } = queue.entryOf(job);
  const { shape } = lane;
  if (shape.blocked !== null || lane.gated !== null) return null;
  if (!steps.take(1 + taskCount(shape.demand)) || !fitsNow(fleets, shape)) return null;
  let looked = look(state, job, steps);
  for (let ms = duration.ms; looked.kept; ) {
    const shorter = looked.turnsMs.map(wholeSeconds).filter((each) => each < ms);
    const toMs = Math.max(0, ...shorter);
    if (toMs < second) return null;
    const putBack = queue.suppose(job, { ...facts, durationMs: toMs }, shape.demand, clockMs);
    looked = look(state, job, steps);
    putBack();
    if (looked.started) return { kind: 'time-limit', fromMs: facts.durationMs, toMs, victims: 0 };
    ms = toMs;
  }
  return null;
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / second) * second;
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
  walkTo(state, job, { steps, preempts: false }, ({ placed, kept, keptFromMs, reservations }) => {
    const turnsMs = reservations.startsMs.map((startMs) => startMs - clockMs);
    // Whoever runs longer than one of its kind that found only such room is not tried.
    const fromMs = keptFromMs.get(shape) ?? entry.duration.ms;
    if (fromMs < entry.duration.ms) turnsMs.push(fromMs - 1);
    const { deadlineMs } = entry.facts;
    if (deadlineMs !== null) turnsMs.push(deadlineMs - policy.deadline.marginMs - clockMs - 1);
    const isKept = (kept.get(entry)?.startMs ?? null) !== null;
    looked = { started: placed.last()?.job === job, kept: isKept, turnsMs };
  });
  return looked;
}
