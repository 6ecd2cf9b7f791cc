// What would start a job now: single changes of the job or of one ceiling, each tried on the state as it is.
import type { Change, OverCeiling } from '@muster/model';
import { type Candidate, type Ladder, laddersOf } from './demand-changes.ts';
import { allOver, allOverAny } from './gates.ts';
import { helpfulTimeLimit } from './helpful-time-limit.ts';
import { none } from './project-amounts.ts';
import type { Project } from './projects.ts';
import { preemptsNow, type Started, type Steps, startsNow, walkTo } from './starts-now.ts';
import type { State } from './state.ts';
import { type CeilingAt, supposeCeiling } from './suppose.ts';

/** Longer ladders are not climbed step by step: where a step starts the job, later ones are taken to. */
const climbedMax = 32;

/** `roomFor` is how many tasks there is room for, where the job has only one group; else null. */
export function helpfulChanges(state: State, job: number, roomFor: number | null, steps: Steps): Change[] {
  const { facts, lane } = state.queue.entryOf(job);
  const found: Change[] = [];
  for (const ladder of laddersOf(state.fleets.live, state.policy, facts, lane.shape.demand)) {
    const change = climb(state, job, ladder, roomFor, steps);
    if (change) found.push(change);
  }
  const limit = helpfulTimeLimit(state, job, steps);
  if (limit) found.push(limit);
  return [...found, ...helpfulCeilings(state, job, steps)];
}

function climb(
  state: State,
  job: number,
  ladder: Ladder,
  roomFor: number | null,
  steps: Steps,
): Change | null {
  const tryStep = (step: number): Change | null => {
    const candidate = ladder.at(step);
    const started = tryCandidate(state, job, candidate, steps);
    return started && { ...candidate.change, ...started };
  };
  if (ladder.steps <= climbedMax) {
    for (let step = 0; step < ladder.steps; step++) {
      const change = tryStep(step);
      if (change) return change;
    }
    return null;
  }
  let low = 0;
  const first = ladder.at(0).change;
  if (first.kind === 'tasks' && roomFor !== null) {
    if (roomFor === 0) return null;
    low = Math.max(0, first.to - roomFor);
    const change = tryStep(low);
    if (change) return change;
    low++;
  }
  let best: Change | null = null;
  for (let high = ladder.steps - 1; low <= high; ) {
    const middle = (low + high) >>> 1;
    const change = tryStep(middle);
    if (change) {
      best = change;
      high = middle - 1;
    } else low = middle + 1;
  }
  return best;
}

/** Another tier may give the right to stop others; with other changes that is not looked for. */
function tryCandidate(state: State, job: number, candidate: Candidate, steps: Steps): Started | null {
  const { change, facts, demand } = candidate;
  const putBack = state.queue.suppose(job, facts, demand, state.clockMs);
  const started =
    startsNow(state, job, steps) ?? (change.kind === 'tier' ? preemptsNow(state, job, steps) : null);
  putBack();
  return started;
}

/** More than any use. */
const unlimited = Number.MAX_SAFE_INTEGER;

function helpfulCeilings(state: State, job: number, steps: Steps): Change[] {
  const { projects, queue } = state;
  const { project, user, shape } = queue.entryOf(job).lane;
  // What the nodes it would get make it use may be more than it is sure to use; and a ceiling that is not in its own way may
  // be in that of a job that room is kept for.
  const over = [
    ...allOver(projects, project, user, shape.ask),
    ...lateOver(state, job),
    ...ceilingsAbove(state, project, user),
  ];
  const found: Change[] = [];
  const seen = new Set<string>();
  for (const each of over) {
    const name = `${each.project}|${each.user}|${each.key}`;
    if (seen.has(name)) continue;
    seen.add(name);
    const change = raise(state, job, each, steps);
    if (change) found.push(change);
  }
  return found;
}

/** The ceilings that its turn ended at, with the use of jobs that were served before it. */
function lateOver(state: State, job: number): OverCeiling[] {
  const { projects, queue } = state;
  const { lane } = queue.entryOf(job);
  let over: OverCeiling[] = [];
  if (lane.shape.blocked !== null || lane.gated !== null) return over;
  walkTo(state, job, { steps: null, preempts: false }, (pass) => {
    const asks = pass.over.get(lane);
    if (asks) over = allOverAny(projects, lane.project, lane.user, asks);
  });
  return over;
}

function ceilingsAbove({ projects }: State, from: Project, user: string): OverCeiling[] {
  const found: OverCeiling[] = [];
  for (let at: Project | null = from; at !== null; at = at.parent) {
    if (!at.limits) continue;
    for (const [key, text] of projects.keys.texts.entries()) {
      const add = (who: string | null, ceiling: number, use: number): void => {
        if (ceiling === none) return;
        found.push({ code: 'over-ceiling', project: at!.path, user: who, key: text, ceiling, use, asks: 0 });
      };
      add(null, at.ceiling(key), at.use(key));
      add(user, at.userCeiling(key), at.userUse?.get(user)?.[key] ?? 0);
    }
  }
  return found;
}

/** To the least that can be enough; else to what is used when nothing limits it; else without the ceiling. */
function raise(state: State, job: number, over: OverCeiling, steps: Steps): Change | null {
  const { project: path, user, key, ceiling: from } = over;
  const project = state.projects.find(path)!;
  const at: CeilingAt = { project, ofUser: user !== null, key };
  const tell = (to: number | null, started: Started): Change => ({
    kind: 'ceiling',
    project: path,
    user,
    key,
    from,
    to,
    ...started,
  });
  const least = over.use + over.asks;
  const started = least > from ? tryCeiling(state, job, at, least, steps) : null;
  if (started) return tell(least, started);
  let used = unlimited;
  const free = tryCeiling(state, job, at, unlimited, steps, () => {
    used = useAt(state, project, user, key);
  });
  if (!free) return null;
  const enough = used > Math.max(from, least) ? tryCeiling(state, job, at, used, steps) : null;
  return enough ? tell(used, enough) : tell(null, free);
}

function tryCeiling(
  state: State,
  job: number,
  at: CeilingAt,
  to: number,
  steps: Steps,
  look: () => void = () => {},
): Started | null {
  const putBack = supposeCeiling(state, at, to);
  const started = startsNow(state, job, steps, look);
  putBack();
  return started;
}

function useAt({ projects }: State, project: Project, user: string | null, key: string): number {
  const id = projects.keys.id(key);
  return user === null ? project.use(id) : (project.userUse?.get(user)?.[id] ?? 0);
}
