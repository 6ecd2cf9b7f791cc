// From a question to the events that would be written if it were really done. The engine is then asked about those events,
// so that there is one meaning of a drain or a lost node, and not a second one for questions.
import type { Engine } from '@muster/engine';
import {
  afterRun,
  type EngineRows,
  type EventBody,
  type NodeFacts,
  type NodeId,
  OperationalError,
  type RunResult,
  type WhatIfQuestion,
} from '@muster/model';
import { lostResult, type Store } from '@muster/store';

export interface ChangeDeps {
  readonly engine: Engine;
  readonly store: Pick<Store, 'job'>;
  readonly nowMs: number;
}

const who = 'what-if';
const noRetry = { user: 0, outOfMemory: 0, infrastructure: 0 };

export async function changesOf(deps: ChangeDeps, question: WhatIfQuestion): Promise<EventBody[]> {
  switch (question.kind) {
    case 'submit':
      return question.jobs.map((facts) => ({ kind: 'job.submitted', by: who, held: false, ...facts }));
    case 'drain': {
      const drain = { by: who, reason: who, sinceMs: deps.nowMs };
      return nodesOf(deps.engine.rows(), question.nodes).map(({ node, name }) => ({
        kind: 'node.drained',
        node,
        name,
        drain,
      }));
    }
    case 'lose':
      return lose(deps, question.nodes);
    case 'add':
      return add(deps.engine.rows(), question.like, question.count);
    case 'policy': {
      const version = deps.engine.rows().policyVersion + 1;
      return [{ kind: 'policy.changed', version, policy: question.policy, by: who }];
    }
  }
}

function nodesOf(rows: EngineRows, ids: readonly NodeId[]): NodeFacts[] {
  const known = new Map(rows.nodes.map((facts) => [facts.node, facts]));
  return ids.map((id) => {
    const facts = known.get(id);
    if (!facts) throw new OperationalError('not-found', `node ${id} has left the fleet`);
    return facts;
  });
}

/** As the operator's word that machines are gone: every run with a task there is over, and its job's retries decide. */
async function lose({ engine, store, nowMs }: ChangeDeps, ids: readonly NodeId[]): Promise<EventBody[]> {
  const rows = engine.rows();
  const nodes = new Map(nodesOf(rows, ids).map((facts) => [facts.node, facts]));
  const jobs = new Map(rows.jobs.map((row) => [row.job, row]));
  const bodies: EventBody[] = [];
  for (const { run, job, tasks } of rows.runs) {
    const task = tasks.find(({ node }) => nodes.has(node));
    const row = jobs.get(job);
    const known = task && row && (await store.job(job));
    if (!known) continue;
    const { node, rank } = task;
    const result: RunResult = lostResult(node, nodes.get(node)!.name, rank);
    const { state } = row;
    bodies.push({ kind: 'run.ended', run, job, result, endedMs: nowMs });
    const version = row.version + 1;
    // A job that is being cancelled ends either way.
    const retry = known.state.state === 'stopping' ? noRetry : known.spec.retry;
    const then = afterRun(retry, state.failures, state.avoid, result);
    if (then.kind === 'end') bodies.push({ kind: 'job.ended', job, version, result: then.result });
    else
      bodies.push({
        kind: 'job.requeued',
        job,
        version,
        because: result,
        attempt: state.attempt + 1,
        sinceMs: nowMs,
        notBeforeMs: then.delayMs === 0 ? 0 : nowMs + then.delayMs,
        failures: then.failures,
        failedMs: nowMs,
        avoid: then.avoid,
        preempted: state.preempted,
        savedMs: state.savedMs,
      });
  }
  const reason = { code: who, message: 'lost in a what-if' };
  for (const { node, name } of nodes.values()) bodies.push({ kind: 'node.lost', node, name, reason });
  return bodies;
}

function add(rows: EngineRows, like: NodeId, count: number): EventBody[] {
  const [model] = nodesOf(rows, [like]);
  return Array.from({ length: count }, (_, i) => ({
    kind: 'node.joined',
    ...model!,
    // Sorts after every real node, so that equal choices fall to real ones first.
    node: `node_~${String(i).padStart(6, '0')}` as NodeId,
    name: `new-${i + 1}`,
    state: 'ready',
    drain: null,
  }));
}
