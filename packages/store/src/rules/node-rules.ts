// What a node's silence, return or loss means for the runs on it. A run keeps its capacity until its end is proven:
// by the agent's word, by the expiry of its lease, or by an operator's word.
import {
  type EventBody,
  type Inventory,
  type NodeId,
  type NodeState,
  neverStarted,
  type Reason,
  type RunId,
  type TaskExit,
} from '@muster/model';
import { type HeldTask, lostResult, type NodeSession, type Observed, type Seen } from '../contract.ts';
import type { Changes, NodeRecord, RunRecord, TaskRecord } from './records.ts';
import {
  acceptTask,
  checkpointRun,
  endTask,
  endTasks,
  haltRun,
  isOver,
  neverSent,
  repeatStop,
  seenRun,
  silenceRun,
  startTask,
} from './run-rules.ts';

export interface NodeNames {
  readonly id: NodeId;
  readonly name: string;
}

export function tasksOn(run: RunRecord, node: NodeId): TaskRecord[] {
  return run.tasks.filter((task) => task.node === node);
}

/** What is new about a node that says hello; its generation is a new one when its inventory changed. */
export function welcomeEvents(
  node: NodeRecord,
  state: NodeState,
  inventory: Inventory,
  generation: number,
): EventBody[] {
  const { id, name, cluster, pool, drain, trustMilli } = node;
  const facts = {
    node: id,
    name,
    cluster,
    pool,
    generation,
    inventory,
    state: state.state,
    drain,
    trustMilli,
  };
  const events: EventBody[] = [];
  if (generation > node.generation)
    events.push({ kind: node.generation === 0 ? 'node.joined' : 'node.changed', ...facts });
  if (node.generation > 0 && node.state.state !== 'ready')
    events.push({ kind: 'node.ready', node: id, name });
  return events;
}

/** The agent's whole knowledge against ours: what it does not hold does not run there, unless its start is still to be sent. */
export function reconcileNode(
  changes: Changes,
  node: NodeNames,
  runs: readonly RunRecord[],
  reports: readonly HeldTask[],
): void {
  const told = new Map(reports.map((report) => [`${report.run}/${report.rank}`, report]));
  for (const run of runs) {
    const missing: TaskRecord[] = [];
    const here = tasksOn(run, node.id);
    // A start command carries all of the node's tasks: when the agent holds one of them, it was delivered.
    const delivered = here.some((task) => told.has(`${run.id}/${task.rank}`));
    for (const task of here) {
      const report = told.get(`${run.id}/${task.rank}`);
      if (report) applyReport(changes, run, task, report);
      else if (!isOver(task) && (delivered || task.start === null)) missing.push(task);
    }
    endTasks(changes, run, missing, lostByAgent(node));
    if (here.some((task) => told.has(`${run.id}/${task.rank}`) && !isOver(task)))
      repeatStop(changes, run, node.id);
  }
}

function applyReport(changes: Changes, run: RunRecord, task: TaskRecord, report: HeldTask): void {
  if (report.state === 'accepted') acceptTask(changes, run, task);
  if (report.state === 'running') startTask(changes, run, task);
  if (report.state === 'ended') endTask(changes, run, task, report.exit ?? endedUnseen);
  else haltRun(changes, run, report.halt ?? null);
}

const endedUnseen: TaskExit = {
  ok: false,
  class: 'infrastructure',
  code: null,
  signal: null,
  reason: { code: 'exit-unknown', message: 'the task is over and its exit status was not seen' },
};

function lostByAgent(node: NodeNames): TaskExit {
  const message = `the agent on ${node.name} no longer knows this task`;
  return {
    ok: false,
    class: 'infrastructure',
    code: null,
    signal: null,
    reason: { code: 'lost-by-agent', message },
  };
}

/**
 * What was sent there is unknown from now on. A start that never left the database needs no proof: nothing runs, so its
 * run goes elsewhere at once and is charged nothing.
 */
export function silenceNode(changes: Changes, node: NodeNames, runs: readonly RunRecord[]): void {
  for (const run of runs) {
    const here = tasksOn(run, node.id);
    endTasks(changes, run, here.filter(neverSent), silentBeforeSent(node));
    if (here.some((task) => !isOver(task))) silenceRun(changes, run, node.id);
  }
}

function silentBeforeSent(node: NodeNames): TaskExit {
  const reason = { code: neverStarted, message: `node ${node.name} fell silent before it was told to start` };
  return { ok: false, class: 'infrastructure', code: null, signal: null, reason };
}

/** `isReady` tells of every other node a run touches. */
export function seeRuns(
  changes: Changes,
  runs: readonly RunRecord[],
  isReady: (node: NodeId) => boolean,
): void {
  for (const run of runs)
    if (run.tasks.every((task) => isOver(task) || isReady(task.node))) seenRun(changes, run);
}

/** The node's lease on this run has run out, or the operator says the machine is gone: its tasks are over. */
export function loseRun(changes: Changes, node: NodeNames, run: RunRecord, declared: Reason | null): void {
  const lost = tasksOn(run, node.id).filter((task) => !isOver(task));
  const result = lostResult(node.id, node.name, null);
  if (result.outcome === 'succeeded') return;
  const { class: errorClass, code, signal } = result;
  const reason = declared ?? result.reason;
  endTasks(changes, run, lost, { ok: false, class: errorClass, code, signal, reason });
}

export interface ObserveCall {
  readonly session: NodeSession;
  readonly items: readonly Seen[];
}

/** What each call is told; null for one whose session is not the node's any more, which changes nothing. */
export function observeCalls(
  changes: Changes,
  calls: readonly ObserveCall[],
  runs: ReadonlyMap<RunId, RunRecord>,
  sessionOf: (node: NodeId) => string | null | undefined,
): (Observed | null)[] {
  return calls.map(({ session: { node, session }, items }) => {
    if (sessionOf(node) !== session) return null;
    const foreign = items.filter((item) => !observeItem(changes, node, runs.get(item.run), item))[0];
    return { foreign: foreign ? { run: foreign.run, rank: foreign.rank } : null };
  });
}

/** False when the item is about a task that is not this node's. */
function observeItem(changes: Changes, node: NodeId, run: RunRecord | undefined, item: Seen): boolean {
  if (!run) return true;
  const task = run.tasks.find((one) => one.rank === item.rank);
  if (task?.node !== node) return false;
  if (item.kind === 'started') startTask(changes, run, task);
  else if (item.kind === 'checkpoint') checkpointRun(changes, run, item, item.agoMs);
  else if (item.kind === 'halt') haltRun(changes, run, item.halt);
  else endTask(changes, run, task, item.exit);
  return true;
}
