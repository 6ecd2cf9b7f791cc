// The engine's logical state as rows: what `loadEngine` makes the same engine of, by state hash, at any point. It is the
// form of a snapshot, and where a replay starts. What the engine does not keep (a job's name, when its attempt started)
// is not in them: these rows are for engines, not for people.
import { type EngineRows, type NodeFacts, runId } from '@muster/model';
import { held, queued } from './jobs.ts';
import { compareText } from './order.ts';
import type { State } from './state.ts';

type JobRow = EngineRows['jobs'][number];

export function rowsOf(state: State): EngineRows {
  const { sequence, policyVersion, policy, jobs, fleets, runs } = state;
  const nodes: NodeFacts[] = [];
  for (const slot of fleets.live.slots.values()) {
    const facts = fleets.live.facts[slot]!;
    if (facts.state !== 'removed') nodes.push(facts);
  }
  const rows: JobRow[] = [];
  for (const slot of jobs.slots.values()) rows.push(jobRow(state, slot));
  return {
    sequence,
    policyVersion,
    policy,
    nodes: nodes.sort((a, b) => compareText(a.node, b.node)),
    jobs: rows.sort((a, b) => a.submittedSequence - b.submittedSequence || compareText(a.job, b.job)),
    usage: state.projects.usage(),
    runs: [...runs.values()].sort((a, b) => compareText(a.run, b.run)),
  };
}

function jobRow(state: State, slot: number): JobRow {
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
    state: jobState(state, slot),
  };
}

function jobState({ jobs, claims }: State, slot: number): JobRow['state'] {
  const attempt = jobs.attempt[slot]!;
  const past = jobs.past(slot);
  const waiting = { attempt, ...past, sinceMs: jobs.sinceMs[slot]!, notBeforeMs: jobs.notBeforeMs[slot]! };
  if (jobs.state[slot] === queued)
    return { state: 'queued', claim: claims.byJob.get(jobs.ids[slot]!)?.claim ?? null, ...waiting };
  if (jobs.state[slot] === held) return { state: 'held', by: jobs.heldBy(slot) ?? '', ...waiting };
  return { state: 'starting', attempt, ...past, run: runId(jobs.ids[slot]!, attempt) };
}
