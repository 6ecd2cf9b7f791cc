// What each event of the log changes in the engine. Nothing else changes it. An event that contradicts the state is a bug
// somewhere and stops the process; kinds that do not concern the engine only advance the sequence.
import {
  allIndices,
  type EntryFacts,
  type EventBody,
  invariant,
  type JobDemand,
  type LogEvent,
  type NodeFacts,
  type NodeId,
} from '@muster/model';
import { comeBack, dropMembers, endMember, goOut, holdArray, releaseArray, slotFor } from './arrays.ts';
import type { Fleet } from './fleet.ts';
import { held, placed, queued } from './jobs.ts';
import { makePool } from './pool.ts';
import {
  changeRun,
  dropClaim,
  endRun,
  enqueue,
  holdClaim,
  plannedRun,
  rateOf,
  retimeRuns,
  runUses,
  type State,
  startRun,
} from './state.ts';

export function apply(state: State, event: LogEvent): void {
  if (event.sequence <= state.sequence) return;
  invariant(
    event.sequence === state.sequence + 1,
    `event ${event.sequence} after ${state.sequence}: the log has a gap`,
  );
  const { body } = event;
  if (isJobBody(body)) applyJob(state, body, event.sequence);
  else if (isNodeBody(body)) applyNode(state, body);
  else applyOther(state, body);
  state.sequence = event.sequence;
}

type JobBody = Extract<EventBody, { kind: `job.${string}` }>;
type NodeBody = Extract<EventBody, { kind: `node.${string}` }>;

function isJobBody(body: EventBody): body is JobBody {
  return body.kind.startsWith('job.');
}

function isNodeBody(body: EventBody): body is NodeBody {
  return body.kind.startsWith('node.');
}

function applyOther(state: State, body: Exclude<EventBody, JobBody | NodeBody>): void {
  switch (body.kind) {
    case 'run.planned':
      applyPlanned(state, body);
      break;
    case 'run.running':
      state.jobs.version[state.jobs.slotOf(body.job)] = body.version;
      changeRun(state, body.run, { startedMs: body.startedMs });
      break;
    case 'run.checkpointed':
      changeRun(state, body.run, { checkpointMs: body.checkpointMs });
      break;
    case 'run.stopping':
      changeRun(state, body.run, { stopping: true });
      break;
    case 'run.ended':
      endRun(state, body.run, body.endedMs);
      break;
    case 'policy.changed':
      state.policy = body.policy;
      state.policyVersion = body.version;
      state.fleets.setPolicy(body.policy);
      state.projects.setPolicy(body.policy);
      state.projects.countUsers(runUses(state));
      state.queue.setPolicy(body.policy, state.clockMs);
      for (const run of state.runs.values())
        state.table.setRate(run.run, rateOf(state, run, state.jobs.slotOf(run.job)));
      state.wanting.clear();
      // Whoever is behind a ceiling may have a right now, or was about to look for victims.
      state.againMs = 0;
      state.vain.clear();
      state.claims.policyChanged();
      retimeRuns(state);
      break;
  }
}

function applyJob(state: State, body: JobBody, sequence: number): void {
  const { jobs, queue } = state;
  if (body.kind === 'job.submitted') {
    const job = jobs.add(body.job, sequence, body.submittedMs);
    jobs.version[job] = body.version;
    if (body.array) jobs.addPool(makePool(job, body.array, allIndices(body.array.count)));
    queue.enter(job, factsOf(body), body.demand);
    jobs.setHeldBy(job, body.held ? body.by : null);
    if (body.held) queue.unqueue(job, held);
    else enqueue(state, job);
    return;
  }
  const job = slotFor(state, body.job);
  const pool = jobs.pools.get(job);
  jobs.version[job] = body.version;
  if (body.kind === 'job.held' || body.kind === 'job.ended') dropClaim(state, job);
  switch (body.kind) {
    case 'job.held':
      invariant(jobs.state[job] !== placed, `job ${body.job} is held while placed`);
      jobs.setHeldBy(job, body.by);
      if (pool) holdArray(state, pool);
      else queue.unqueue(job, held);
      break;
    case 'job.released':
      invariant(jobs.state[job] === held, `job ${body.job} is released and was not held`);
      jobs.setHeldBy(job, null);
      jobs.sinceMs[job] = body.sinceMs;
      if (pool) releaseArray(state, pool, body.sinceMs);
      else enqueue(state, job);
      break;
    case 'job.dropped':
      dropMembers(state, job, body.members);
      break;
    case 'job.requeued':
      jobs.attempt[job] = body.attempt;
      jobs.sinceMs[job] = body.sinceMs;
      jobs.notBeforeMs[job] = body.notBeforeMs;
      jobs.setPast(job, body);
      if (body.demand) askAnew(state, job, body.demand);
      comeBack(state, job);
      enqueue(state, job);
      break;
    case 'job.claimed':
      invariant(jobs.state[job] === queued, `job ${body.job} claims and was not queued`);
      holdClaim(state, job, body.claim);
      goOut(state, job);
      break;
    case 'job.unclaimed':
      dropClaim(state, job);
      comeBack(state, job);
      enqueue(state, job);
      break;
    case 'job.unmoved':
      if (!body.demand) break;
      queue.unqueue(job);
      askAnew(state, job, body.demand);
      if (jobs.state[job] === queued) enqueue(state, job);
      break;
    case 'job.ended':
      endMember(state, job);
      leaveQueue(state, job);
      break;
  }
}

/** The number of an entry that is gone may be another's next, and that one has not looked for victims yet. */
function leaveQueue({ jobs, queue, wanting }: State, job: number): void {
  const entry = jobs.entry[job]!;
  queue.leave(job);
  if (queue.entries[entry] === undefined) wanting.delete(entry);
}

/** In no line; the same holds for its entry, when it was the last one there. */
function askAnew({ jobs, queue, wanting }: State, job: number, demand: JobDemand): void {
  const entry = jobs.entry[job]!;
  queue.ask(job, demand);
  if (queue.entries[entry] === undefined) wanting.delete(entry);
}

function applyPlanned(state: State, body: Extract<EventBody, { kind: 'run.planned' }>): void {
  const { jobs, queue } = state;
  const job = slotFor(state, body.job);
  invariant(jobs.state[job] === queued, `job ${body.job} is planned and was not queued`);
  const { run, attempt, exclusive, tasks, port, uses } = body;
  dropClaim(state, job);
  startRun(
    state,
    plannedRun({ run, job: body.job, attempt, exclusive, tasks, port, uses }, body.plannedMs),
    body.plannedMs,
  );
  jobs.version[job] = body.version;
  jobs.attempt[job] = attempt;
  queue.unqueue(job, placed);
  goOut(state, job);
  jobs.notBeforeMs[job] = 0;
}

/** What is done to a machine that has enrolled and never spoken: it joins with whatever came of that. */
const byOperator: ReadonlySet<string> = new Set([
  'node.drained',
  'node.undrained',
  'node.lost',
  'node.removed',
]);

function applyNode(state: State, body: NodeBody): void {
  // Only its consequence concerns the engine, and that is a drain.
  if (body.kind === 'node.struck') return;
  const fleet = state.fleets.live;
  const known = fleet.slots.get(body.node);
  if (known === undefined && byOperator.has(body.kind)) return;
  state.projects.addNode(factsOfNode(fleet, body.node), -1);
  const { reclassed } = fleet;
  if (known !== undefined) state.freed.add(fleet.classOf[known]!);
  const holdsRuns = known !== undefined && state.table.first(known) >= 0;
  if (body.kind === 'node.removed' && known !== undefined) state.claims.leaveNode(fleet, known);
  changeNode(fleet, body);
  if (known !== undefined) state.claims.nodeChanged(known);
  state.projects.addNode(factsOfNode(fleet, body.node), 1);
  const slot = fleet.slots.get(body.node);
  if (slot !== undefined) state.freed.add(fleet.classOf[slot]!);
  state.nodesChanged = true;
  state.touched = true;
  if (fleet.reclassed !== reclassed) state.allChanged = true;
  state.vain.clear();
  // Whose nodes answer may be a victim; and guarantees follow healthy capacity.
  if (state.looking && (holdsRuns || state.policy.quotas.length > 0)) state.againMs = 0;
}

function factsOfNode(fleet: Fleet, node: NodeId): NodeFacts | undefined {
  const slot = fleet.slots.get(node);
  return slot === undefined ? undefined : fleet.facts[slot];
}

function changeNode(fleet: Fleet, body: NodeBody): void {
  switch (body.kind) {
    case 'node.joined':
    case 'node.changed': {
      const { kind: _, ...facts } = body;
      fleet.put(facts);
      break;
    }
    case 'node.ready':
      fleet.setState(body.node, 'ready');
      break;
    case 'node.silent':
      fleet.setState(body.node, 'silent');
      break;
    case 'node.lost':
      fleet.setState(body.node, 'lost');
      break;
    case 'node.removed':
      fleet.setState(body.node, 'removed');
      break;
    case 'node.drained':
      fleet.setDrain(body.node, body.drain);
      break;
    case 'node.undrained':
      fleet.setDrain(body.node, null);
      break;
    case 'node.trusted':
      fleet.put({ ...fleet.facts[fleet.slotOf(body.node)]!, trustMilli: body.trustMilli });
      break;
  }
}

/** What the queue wants to know of a job beside its demand. */
export function factsOf(facts: EntryFacts): EntryFacts {
  const { project, user, tier, priority, durationMs, deadlineMs, estimate, restoreMs } = facts;
  return {
    project,
    user,
    tier,
    priority,
    durationMs,
    deadlineMs,
    ...(estimate && { estimate }),
    ...(restoreMs !== undefined && { restoreMs }),
  };
}
