// Outbox rows: which are handed out as commands and which are not sent any more, and what an agent's answer to one means.
import type { NodeId, RunId, StopCommand, TaskExit } from '@muster/model';
import type { OutboxCommand, OutboxDone } from '../contract.ts';
import { tasksOn } from './node-rules.ts';
import type { Changes, RunRecord } from './records.ts';
import { acceptTask, attemptRun, endTasks, isOver, repeatStop, stopOf } from './run-rules.ts';

export interface TakenRow {
  readonly id: number;
  readonly epoch: number;
  readonly node: NodeId;
  readonly run: RunId;
  readonly kind: 'start' | 'stop';
  readonly stop: Omit<StopCommand, 'run'> | null;
  readonly session: string;
  /** What earlier sessions were handed can take effect no more. */
  readonly fenced: boolean;
}

export interface AnsweredRow extends Pick<TakenRow, 'id' | 'node' | 'run' | 'kind'> {
  /** The session that was handed the row. */
  readonly session: string | null;
}

/**
 * Starts that are sent, by row. One whose run is being stopped by now was handed out before (what never left was over at once) and
 * not answered. Where that can have no effect any more, nothing runs: the hello did not tell of it. Elsewhere it may still come, and
 * what is unknown keeps its capacity until proof: the same key is sent again, which starts at most once, and then stopped.
 */
export function sendableStarts(
  changes: Changes,
  rows: readonly TakenRow[],
  runs: ReadonlyMap<RunId, RunRecord>,
): ReadonlyMap<number, RunRecord> {
  const starts = new Map<number, RunRecord>();
  for (const row of rows.filter(({ kind }) => kind === 'start')) {
    const run = runs.get(row.run);
    const stopping = run !== undefined && stopOf(run.state) !== null;
    if (!run || (stopping && row.fenced)) dropStart(changes, row, run);
    else {
      attemptRun(changes, run);
      starts.set(row.id, run);
    }
  }
  return starts;
}

/** What leaves for the nodes, in the order of the rows; nothing of runs that ended on the way. */
export function commandsOf(
  changes: Changes,
  rows: readonly TakenRow[],
  starts: ReadonlyMap<number, Extract<OutboxCommand, { kind: 'start' }>['command']>,
): OutboxCommand[] {
  const over = new Set(changes.endedRuns.map((run) => run.id));
  return rows.flatMap((row): OutboxCommand[] => {
    const { id, epoch, node, session } = row;
    if (over.has(row.run)) return [];
    if (row.kind === 'stop')
      return row.stop
        ? [{ id, epoch, node, session, kind: 'stop', command: { run: row.run, ...row.stop } }]
        : [];
    const command = starts.get(id);
    return command ? [{ id, epoch, node, session, kind: 'start', command }] : [];
  });
}

function dropStart(changes: Changes, row: TakenRow, run: RunRecord | undefined): void {
  changes.closedRows.add(row.id);
  const stop = run ? stopOf(run.state) : null;
  if (!run || !stop) return;
  const unsent = run.tasks.filter((task) => task.node === row.node && !isOver(task));
  const errorClass = stop.result.outcome === 'succeeded' ? 'cancelled' : stop.result.class;
  endTasks(changes, run, unsent, {
    ok: false,
    class: errorClass,
    code: null,
    signal: null,
    reason: stop.reason,
  });
}

/** The answer of the session that has the row; any other changes nothing. */
export function closeRow(
  changes: Changes,
  item: OutboxDone,
  row: AnsweredRow | undefined,
  runs: ReadonlyMap<RunId, RunRecord>,
): void {
  if (!row || row.session !== item.session || item.outcome === 'stale-epoch') return;
  changes.closedRows.add(row.id);
  const run = row.kind === 'start' ? runs.get(row.run) : undefined;
  if (!run) return;
  const tasks = tasksOn(run, row.node);
  if (item.outcome === 'accepted') {
    for (const task of tasks) acceptTask(changes, run, task);
    // A stop that was under way may have come there before the start did.
    repeatStop(changes, run, row.node);
  } else endTasks(changes, run, tasks, refused(item.detail));
}

function refused(detail: string | null): TaskExit {
  const reason = { code: 'start-refused', message: detail ?? 'the agent refused to start this task' };
  return { ok: false, class: 'infrastructure', code: null, signal: null, reason };
}
