// The one reservation of EASY backfill: the earliest moment at which believed ends leave room for a job, and what else is free then.
import type { Shadow } from '../replay/room.ts';
import type { Stage } from '../replay/stage.ts';
import type { RunningByEnd } from './running-by-end.ts';

export interface Reservation {
  /** The machine at that moment, without what the job takes. */
  readonly shadow: Shadow;
  readonly atMs: number;
}

export function reservation(stage: Stage, running: RunningByEnd, size: number): Reservation {
  const { room, trace, nowMs } = stage;
  const shadow = room.shadow();
  let atMs = nowMs;
  for (let i = 0; i < running.size; i++) {
    const endMs = Math.max(nowMs, running.endMs(i));
    // All that end at one moment leave together.
    if (endMs > atMs && shadow.fits(size)) break;
    const job = running.job(i);
    shadow.give(job, trace.size[job]!);
    atMs = endMs;
  }
  shadow.take(size);
  return { shadow, atMs };
}
