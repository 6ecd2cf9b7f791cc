// Where two replays of the same jobs part: the first moment at which one starts a job that the other does not, told so that it can be checked by hand.
import type { Played } from '../replay/replay.ts';

export interface Difference {
  readonly atMs: number;
  /** The job's line in the file. */
  readonly line: number;
  readonly size: number;
  readonly submitMs: number;
  readonly runMs: number;
  readonly firstStartMs: readonly [one: number, other: number];
}

/** Null when every job starts alike. Jobs are told apart by their lines, because their numbers may differ. */
export function firstDifference(one: Played, other: Played): Difference | null {
  const byLine = new Map<number, number>();
  for (const [job, line] of other.trace.line.entries()) byLine.set(line, job);
  let first: Difference | null = null;
  for (const [job, line] of one.trace.line.entries()) {
    const twin = byLine.get(line);
    if (twin === undefined) continue;
    const starts = [one.firstStartMs[job]!, other.firstStartMs[twin]!] as const;
    const atMs = Math.min(...starts);
    if (starts[0] === starts[1] || (first && first.atMs <= atMs)) continue;
    const { size, submitMs, runMs } = one.trace;
    first = {
      atMs,
      line,
      size: size[job]!,
      submitMs: submitMs[job]!,
      runMs: runMs[job]!,
      firstStartMs: starts,
    };
  }
  return first;
}

export function differenceText({ line, size, submitMs, runMs, firstStartMs }: Difference): string {
  const s = (ms: number): string => `${(ms / 1000).toLocaleString('en-US')} s`;
  const [one, other] = firstStartMs;
  return `the job of line ${line} (${size} devices, submitted at ${s(submitMs)}, runs ${s(runMs)}) starts at ${s(one)} instead of ${s(other)}`;
}
