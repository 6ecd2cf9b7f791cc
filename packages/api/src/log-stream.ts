// Following the output of a task. The stream waits for a run that has not started, tells what it reads with the position
// to resume from, says what the size cap dropped, and moves on to the next attempt when the job is retried.
//
// The id of an event is `<attempt>.<next offset>`: after a retry offsets begin again, so an offset alone would resume in the
// wrong place. `offset` and Last-Event-ID take either form.
import type { TaskExit } from '@muster/model';
import { maxReadBytes, OperationalError } from '@muster/model';
import type { JobRow } from '@muster/store';
import { pause } from './changes.ts';
import type { Api } from './deps.ts';
import { type LogTask, taskOf } from './log-source.ts';
import { problemOf, refuse } from './problem.ts';
import type { Call } from './route.ts';
import type { EventStream } from './sse.ts';

const readWaitMs = 10_000;
const lookEveryMs = 2000;
const settleMs = 100;
/** Base64 of a piece must stay a modest event. */
const pieceBytes = Math.min(64 * 1024, maxReadBytes);

export interface Follow {
  readonly rank: number;
  /** The task to begin with; null while the job has no run. */
  readonly task: LogTask | null;
  readonly offset: number;
  /** The caller named an attempt: stay with it. */
  readonly pinned: boolean;
}

export function resumePoint(id: string | null): { attempt: number | null; offset: number } | null {
  if (id === null) return null;
  const match = /^(?:(\d{1,6})\.)?(\d{1,15})$/.exec(id);
  if (!match)
    throw refuse(
      'bad-cursor',
      'a place in the output is an offset in bytes, or the id of an event of its stream',
    );
  return { attempt: match[1] === undefined ? null : Number(match[1]), offset: Number(match[2]) };
}

export async function streamLogs(api: Api, call: Call, row: JobRow, follow: Follow): Promise<void> {
  const stream = api.streams.open(call.request, call.reply, call.caller);
  try {
    let task = follow.task ?? (await nextTask(api, stream, row, follow.rank, 0));
    let offset = follow.task ? follow.offset : 0;
    let last: LogTask | null = null;
    while (task && !stream.signal.aborted) {
      await stream.send('attempt', {
        attempt: task.attempt,
        run: task.run,
        rank: task.rank,
        node: task.nodeName,
      });
      await copy(api, stream, task, offset);
      last = task;
      task = follow.pinned ? null : await nextTask(api, stream, row, follow.rank, task.attempt);
      offset = 0;
    }
    await stream.send('end', { exit: last ? await exitOf(api, stream, row, last) : null });
  } catch (error) {
    await tellTrouble(api, stream, error);
  } finally {
    stream.end();
  }
}

/** From `offset` to the end of the task. */
async function copy(api: Api, stream: EventStream, task: LogTask, from: number): Promise<void> {
  const { node, run, rank, attempt } = task;
  let offset = from;
  while (!stream.signal.aborted) {
    const read = await api.control.agents.readOutput({
      node,
      run,
      rank,
      offset,
      maxBytes: pieceBytes,
      waitMs: readWaitMs,
    });
    if (read.offset > offset)
      await stream.send('dropped', { rank, from: offset, offset: read.offset }, `${attempt}.${read.offset}`);
    offset = read.offset;
    if (read.data.byteLength > 0) {
      const data = Buffer.from(read.data.buffer, read.data.byteOffset, read.data.byteLength).toString(
        'base64',
      );
      const next = offset + read.data.byteLength;
      await stream.send('output', { rank, offset, data }, `${attempt}.${next}`);
      offset = next;
    }
    if (read.end) return;
  }
}

/** Waits for an attempt after `attempt`; null when there will be none. */
async function nextTask(
  api: Api,
  stream: EventStream,
  row: JobRow,
  rank: number,
  attempt: number,
): Promise<LogTask | null> {
  while (!stream.signal.aborted) {
    const changed = api.changes.next(lookEveryMs, stream.signal);
    const job = await api.store.job(row.id);
    const task = taskOf(await api.store.runs(row.id), rank, null);
    if (task && task.attempt > attempt) return task;
    if (!job || job.state.state === 'ended') return null;
    await changed;
    await pause(settleMs, stream.signal);
  }
  return null;
}

const exitWithinMs = 5000;

/** The agent tells the end of the output and the end of the task apart; the second may come a moment later. */
async function exitOf(api: Api, stream: EventStream, row: JobRow, task: LogTask): Promise<TaskExit | null> {
  const endMs = performance.now() + exitWithinMs;
  for (;;) {
    const changed = api.changes.next(settleMs, stream.signal);
    const run = (await api.store.runs(row.id)).find((one) => one.id === task.run);
    const state = run?.tasks.find(({ placement }) => placement.rank === task.rank)?.state;
    if (state?.state === 'ended') return state.exit;
    if (!run || stream.signal.aborted || performance.now() > endMs) return null;
    await changed;
  }
}

/** The head is long sent, so trouble is an event of its own; the client comes back with its last id. */
async function tellTrouble(api: Api, stream: EventStream, error: unknown): Promise<void> {
  const known = error instanceof OperationalError ? error : null;
  if (!known) api.log.error({ err: error }, 'a log stream failed on a bug');
  const problem = known
    ? problemOf(known.code, known.message)
    : problemOf('internal', "this is a bug in Muster; the server's log has it");
  await stream.send('problem', problem);
}
