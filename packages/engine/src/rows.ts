// The engine's logical state as rows: what `loadEngine` makes the same engine of, by state hash, at any point. It is the
// form of a snapshot, and where a replay starts. What the engine does not keep (a job's name, when its attempt started)
// is not in them: these rows are for engines, not for people.
import { type EngineRows, type NodeFacts, runId } from '@muster/model';
import { held, queued } from './jobs.ts';
import { compareText } from './order.ts';
import type { Pool } from './pool.ts';
import type { State } from './state.ts';

type JobRow = EngineRows['jobs'][number];
type ArrayRow = EngineRows['arrays'][number];

export function rowsOf(state: State): EngineRows {
  const { sequence, policyVersion, policy, jobs, fleets, runs } = state;
  const nodes: NodeFacts[] = [];
  for (const slot of fleets.live.slots.values()) {
    const facts = fleets.live.facts[slot]!;
    if (facts.state !== 'removed') nodes.push(facts);
  }
  const rows: JobRow[] = [];
  const arrays: ArrayRow[] = [];
  for (const slot of jobs.slots.values()) {
    const pool = jobs.pools.get(slot);
    if (pool) arrays.push({ ...factsOf(state, slot), array: pool.size, state: arrayState(state, pool) });
    else rows.push({ ...factsOf(state, slot), state: jobState(state, slot) });
  }
  return {
    sequence,
    policyVersion,
    policy,
    nodes: nodes.sort((a, b) => compareText(a.node, b.node)),
    arrays: arrays.sort((a, b) => a.submittedSequence - b.submittedSequence || compareText(a.job, b.job)),
    jobs: rows.sort((a, b) => a.submittedSequence - b.submittedSequence || compareText(a.job, b.job)),
    usage: state.projects.usage(),
    runs: [...runs.values()].sort((a, b) => compareText(a.run, b.run)),
  };
}

function factsOf(state: State, slot: number) {
  const { jobs, queue } = state;
  const { facts, lane } = queue.entryOf(slot);
  return {
    job: jobs.ids[slot]!,
    version: jobs.version[slot]!,
    name: '',
    ...facts,
    demand: lane.shape.demand,
    submittedMs: jobs.submittedMs[slot]!,
    submittedSequence: jobs.submitted[slot]!,
  };
}

/** How its members ended is not for the engine. */
function arrayState({ jobs }: State, { slot, waiting, out, again }: Pool): ArrayRow['state'] {
  const ends = { dropped: [], droppedMs: null, succeeded: 0, failed: 0, cancelled: 0 };
  const progress = { waiting, again: again.size, live: out, ...ends, sinceMs: jobs.sinceMs[slot]! };
  const by = jobs.heldBy(slot);
  if (by !== null) return { state: 'held', by, ...progress };
  return { state: out > 0 ? 'running' : 'queued', ...progress };
}

function jobState({ jobs, claims }: State, slot: number): JobRow['state'] {
  const attempt = jobs.attempt[slot]!;
  const past = jobs.past(slot);
  const waiting = { attempt, ...past, sinceMs: jobs.sinceMs[slot]!, notBeforeMs: jobs.notBeforeMs[slot]! };
  // A member of an array that is held waits like one that is not.
  const isMember = jobs.array[slot]! >= 0;
  if (jobs.state[slot] === queued || (isMember && jobs.state[slot] === held))
    return { state: 'queued', claim: claims.byJob.get(jobs.ids[slot]!)?.claim ?? null, ...waiting };
  if (jobs.state[slot] === held) return { state: 'held', by: jobs.heldBy(slot) ?? '', ...waiting };
  return { state: 'starting', attempt, ...past, run: runId(jobs.ids[slot]!, attempt) };
}
