// Small traces for tests, written as sentences: who comes when, for how long, on how many devices. Seconds, because they are worked out by hand.
import type { Played } from '../replay/replay.ts';
import type { Trace } from '../traces/trace.ts';
import { TraceBuilder } from '../traces/trace-builder.ts';

export interface Line {
  readonly at: number;
  readonly run: number;
  readonly size: number;
  readonly asked?: number;
  readonly user?: string;
  readonly project?: string;
}

export function traceOf(...lines: readonly Line[]): Trace {
  const builder = new TraceBuilder();
  for (const [i, { at, run, size, asked, user, project }] of lines.entries())
    builder.take(i + 1, {
      submitMs: at * 1000,
      runMs: run * 1000,
      askedMs: (asked ?? run) * 1000,
      size,
      milli: 1000,
      user: user ?? 'ada',
      project: project ?? 'lab',
      program: 'job',
    });
  return builder.build('by hand', 'test');
}

/** When each job began for the first time, in seconds. */
export function starts({ firstStartMs }: Played): number[] {
  return [...firstStartMs].map((ms) => ms / 1000);
}

export function ends({ endMs }: Played): number[] {
  return [...endMs].map((ms) => ms / 1000);
}
