// What becomes of a run when its tasks start, end or are to be stopped. Every observation, expiry, refusal and cancel
// comes through here, so that capacity is released in one place only: when every task of the run is over.
import {
  type Checkpoint,
  checkpointEveryMs,
  type Halt,
  movedCode,
  type NodeId,
  type RunResult,
  type RunState,
  type RunStateEvent,
  type Stop,
  stepRun,
  stepTask,
  type TaskExit,
} from '@muster/model';
import { jobRunEnded, jobRunStarted } from './job-rules.ts';
import type { Changes, RunRecord, StopRow, StopWish, TaskRecord } from './records.ts';

export function isOver(task: TaskRecord): boolean {
  return task.state.state === 'ended';
}

/** The state it is in now; null when it does not take this event. */
function stepRunRecord(changes: Changes, run: RunRecord, event: RunStateEvent): RunState | null {
  const stepped = stepRun(run.state, event);
  if (!stepped.ok) return null;
  if (stepped.next !== run.state) {
    run.state = stepped.next;
    changes.runs.add(run);
  }
  return stepped.next;
}

function stepTaskRecord(
  changes: Changes,
  run: RunRecord,
  task: TaskRecord,
  event: Parameters<typeof stepTask>[1],
): boolean {
  const stepped = stepTask(task.state, event);
  if (!stepped.ok) return false;
  if (stepped.next !== task.state) {
    task.state = stepped.next;
    if (!task.changed) changes.tasks.push({ run, task });
    task.changed = true;
  }
  return true;
}

/** Its start command is on its way: from here on only looking tells whether it exists. */
export function attemptRun(changes: Changes, run: RunRecord): void {
  const first = run.state.state === 'planned';
  if (stepRunRecord(changes, run, { kind: 'attempt' }) && first)
    changes.event(run.job, { kind: 'run.starting', run: run.id, job: run.job.id });
}

/** The agent holds it, so its start row has done its work. */
export function acceptTask(changes: Changes, run: RunRecord, task: TaskRecord): void {
  closeStart(changes, task);
  stepTaskRecord(changes, run, task, { kind: 'accept' });
}

export function startTask(changes: Changes, run: RunRecord, task: TaskRecord): void {
  closeStart(changes, task);
  if (!stepTaskRecord(changes, run, task, { kind: 'start', nowMs: changes.nowMs })) return;
  attemptRun(changes, run);
  runStarted(changes, run);
}

/** A run runs once no task of it is still to start. */
function runStarted(changes: Changes, run: RunRecord): void {
  if (!run.tasks.every((one) => one.state.state === 'running' || isOver(one))) return;
  if (stepRunRecord(changes, run, { kind: 'start', nowMs: changes.nowMs })) jobRunStarted(changes, run);
}

export function endTask(changes: Changes, run: RunRecord, task: TaskRecord, exit: TaskExit): void {
  endTasks(changes, run, [task], exit);
}

/** Tasks of one node that are over for one reason: all of them first, so that none is asked to stop. */
export function endTasks(
  changes: Changes,
  run: RunRecord,
  tasks: readonly TaskRecord[],
  exit: TaskExit,
): void {
  const ended = tasks.filter((task) => {
    closeStart(changes, task);
    return stepTaskRecord(changes, run, task, { kind: 'end', exit, nowMs: changes.nowMs });
  });
  const first = ended[0];
  if (first === undefined) return;
  if (!exit.ok && run.tasks.length > 1 && stopOf(run.state) === null) failGang(changes, run, first, exit);
  if (run.tasks.every(isOver)) endRun(changes, run);
  // The last one that was awaited may have come and gone before anybody heard of its start.
  else runStarted(changes, run);
}

/** A gang runs whole or not at all (S2): the first failure stops the others and is the run's result. */
function failGang(
  changes: Changes,
  run: RunRecord,
  task: TaskRecord,
  exit: Extract<TaskExit, { ok: false }>,
): void {
  const { rank, node } = task;
  changes.event(run.job, { kind: 'task.failed', run: run.id, job: run.job.id, rank, node, exit });
  stopRun(changes, run, resultOf(task, exit), {
    code: 'peer-failed',
    message: `task ${rank} failed: ${exit.reason.message}`,
    class: 'cancelled',
  });
}

function closeStart(changes: Changes, task: TaskRecord): void {
  if (task.start === null) return;
  changes.closedRows.add(task.start.id);
  task.start = null;
}

/**
 * Stops what may run and ends at once what cannot: tasks whose start command never left the database. The first
 * reason given stays, and so does its result.
 */
export function stopRun(changes: Changes, run: RunRecord, result: RunResult, wish: StopWish): void {
  if (run.state.state === 'ended') return;
  const { preemptor = null, goesOn = preemptor !== null } = wish;
  const askedMs = goesOn && run.job.checkpoint ? changes.nowMs : null;
  const reason = { code: wish.code, message: wish.message };
  const before = stopOf(run.state);
  // Who goes nowhere else needs no checkpoint: what it was asked for is waited for no longer.
  if (before !== null && (askedMs !== null || !awaitsCheckpoint(run))) return;
  if (!stepRunRecord(changes, run, { kind: 'stop', stop: { reason, result, preemptor, askedMs } })) return;
  if (before !== null) {
    tellNodes(changes, run, before.reason.message, stopClass(before));
    return;
  }
  changes.event(run.job, { kind: 'run.stopping', run: run.id, job: run.job.id, reason, preemptor });
  tellNodes(changes, run, wish.message, wish.class);
  for (const task of run.tasks) if (neverSent(task)) endUnsent(changes, run, task, wish);
}

/** A node that was stopping a run and still holds it is told again: the word may have been lost with the agent. */
export function repeatStop(changes: Changes, run: RunRecord, node: NodeId): void {
  const stop = stopOf(run.state);
  if (stop === null) return;
  changes.stop({ ...stopRow(run, node, stop.reason.message, stopClass(stop)), again: true });
}

/** Everything it may run on is told to stop it. */
function tellNodes(changes: Changes, run: RunRecord, reason: string, errorClass: StopWish['class']): void {
  const sent = run.tasks.filter((task) => !isOver(task) && !neverSent(task));
  for (const node of new Set(sent.map((task) => task.node)))
    changes.stop(stopRow(run, node, reason, errorClass));
}

function stopRow(run: RunRecord, node: NodeId, reason: string, errorClass: StopWish['class']): StopRow {
  const { signal, graceMs } = run.job.stop;
  const ask = awaitsCheckpoint(run) ? run.job.checkpoint : null;
  return { node, run: run.id, stop: { reason, class: errorClass, signal, graceMs, ask }, again: false };
}

/** It was asked for a checkpoint and has not told of one since. */
function awaitsCheckpoint(run: RunRecord): boolean {
  const askedMs = stopOf(run.state)?.askedMs ?? null;
  return askedMs !== null && (run.checkpoint === null || run.checkpoint.atMs < askedMs);
}

/** The run told that its work was saved, so long ago. Old news changes nothing; the first after asking ends the wait. */
export function checkpointRun(
  changes: Changes,
  run: RunRecord,
  { step, path }: Checkpoint,
  agoMs: number,
): void {
  if (run.state.state === 'ended') return;
  const { nowMs } = changes;
  const startedMs = 'startedMs' in run.state ? run.state.startedMs : null;
  const atMs = Math.max(nowMs - agoMs, startedMs ?? nowMs);
  if (run.checkpoint !== null && atMs <= run.checkpoint.atMs) return;
  const awaited = awaitsCheckpoint(run);
  run.checkpoint = { step, path, atMs };
  changes.checkpoints.add(run);
  const heard = awaited && !awaitsCheckpoint(run);
  if (heard || run.checkpointMs === null || atMs - run.checkpointMs >= checkpointEveryMs) {
    run.checkpointMs = atMs;
    changes.event(run.job, {
      kind: 'run.checkpointed',
      run: run.id,
      job: run.job.id,
      checkpointMs: atMs,
      step,
      path,
    });
  }
  const stop = stopOf(run.state);
  if (heard && stop) tellNodes(changes, run, stop.reason.message, stopClass(stop));
}

/** Somebody holds or suspends it in its cluster, or lets it go. It changes nothing of what the run is: it is only told. */
export function haltRun(changes: Changes, run: RunRecord, halt: Halt | null): void {
  if (run.state.state === 'ended' || run.halt?.message === halt?.message) return;
  run.halt = halt;
  changes.halts.add(run);
  const which = { run: run.id, job: run.job.id };
  changes.event(run.job, halt ? { kind: 'run.halted', ...which, halt } : { kind: 'run.unhalted', ...which });
}

function stopClass({ preemptor, reason }: Stop): StopWish['class'] {
  return preemptor === null && reason.code !== movedCode ? 'cancelled' : 'preemption';
}

/** Its start command never left the database. */
export function neverSent(task: TaskRecord): boolean {
  return task.start !== null && task.start.attemptedSession === null;
}

/** A start that will not be sent: nothing runs, so nothing has to be proven. */
export function endUnsent(changes: Changes, run: RunRecord, task: TaskRecord, wish: StopWish): void {
  const reason = { code: wish.code, message: wish.message };
  endTask(changes, run, task, { ok: false, class: wish.class, code: null, signal: null, reason });
}

export function silenceRun(changes: Changes, run: RunRecord, node: TaskRecord['node']): void {
  const known = run.state.state !== 'unknown';
  if (stepRunRecord(changes, run, { kind: 'silence', nowMs: changes.nowMs }) && known)
    changes.event(run.job, { kind: 'run.unknown', run: run.id, job: run.job.id, node });
}

/** All nodes of the run speak again. */
export function seenRun(changes: Changes, run: RunRecord): void {
  if (run.state.state !== 'unknown') return;
  const allStarted = run.tasks.every((task) => task.state.state === 'running' || isOver(task));
  const wasStarted = run.state.startedMs !== null;
  const next = stepRunRecord(changes, run, { kind: 'seen', allStarted, nowMs: changes.nowMs });
  if (next?.state !== 'starting' && next?.state !== 'running' && next?.state !== 'stopping') return;
  changes.event(run.job, { kind: 'run.seen', run: run.id, job: run.job.id, state: next.state });
  if (next.state === 'running' && !wasStarted) jobRunStarted(changes, run);
}

function endRun(changes: Changes, run: RunRecord): void {
  const result = runResult(run);
  const preemptor = stopOf(run.state)?.preemptor ?? null;
  if (!stepRunRecord(changes, run, { kind: 'end', result, nowMs: changes.nowMs })) return;
  changes.endedRuns.push(run);
  changes.usage.push({ project: run.job.project, uses: run.uses, sign: -1 });
  const { nowMs: endedMs } = changes;
  changes.event(run.job, { kind: 'run.ended', run: run.id, job: run.job.id, result, endedMs });
  jobRunEnded(changes, run, result, preemptor);
}

export function stopOf(state: RunState): Stop | null {
  return state.state === 'stopping' || state.state === 'unknown' ? state.stop : null;
}

/** Success counts even when a stop came too late; else the reason for the stop decides, else the first failure. */
function runResult(run: RunRecord): RunResult {
  const failed = run.tasks.find((task) => task.state.state === 'ended' && !task.state.exit.ok);
  if (failed === undefined) return { outcome: 'succeeded' };
  const own = failed.state.state === 'ended' && !failed.state.exit.ok ? failed.state.exit : null;
  const stop = stopOf(run.state);
  if (stop === null || stop.result.outcome === 'succeeded')
    return own ? resultOf(failed, own) : { outcome: 'succeeded' };
  // Somebody's wish has no exit status of its own; the command's is worth knowing.
  if (stop.result.outcome !== 'cancelled' || own === null) return stop.result;
  return { ...stop.result, code: own.code, signal: own.signal };
}

function resultOf(task: TaskRecord, exit: Extract<TaskExit, { ok: false }>): RunResult {
  return {
    outcome: exit.class === 'cancelled' ? 'cancelled' : 'failed',
    class: exit.class,
    code: exit.code,
    signal: exit.signal,
    reason: exit.reason,
    rank: task.rank,
    node: task.node,
  };
}
