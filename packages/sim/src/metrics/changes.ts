// What changes when, in order of time: jobs come, begin to run, stop running and leave. Timelines, contention and shares are read off one walk over it.
import type { Played } from '../replay/replay.ts';

export type ChangeKind = 'comes' | 'starts' | 'stops' | 'leaves';

/** Calls `step` for every change, earliest first; of one moment, those that leave before those that come. */
export function eachChange(
  played: Played,
  step: (atMs: number, job: number, kind: ChangeKind) => void,
): void {
  const { trace, stretches, endMs } = played;
  const comes = Int32Array.from(endMs.keys()).filter((job) => endMs[job]! >= 0);
  const leaves = comes.slice().sort((a, b) => endMs[a]! - endMs[b]! || a - b);
  const { job, fromMs, toMs } = stretches;
  const starts = Int32Array.from(job.keys()).sort((a, b) => fromMs[a]! - fromMs[b]! || a - b);
  const infinity = Number.POSITIVE_INFINITY;
  let [c, l, s, e] = [0, 0, 0, 0];
  for (;;) {
    // Stretches stand in the order in which they ended.
    const stopMs = e < stretches.count ? toMs[e]! : infinity;
    const leaveMs = l < leaves.length ? endMs[leaves[l]!]! : infinity;
    const comeMs = c < comes.length ? trace.submitMs[comes[c]!]! : infinity;
    const startMs = s < starts.length ? fromMs[starts[s]!]! : infinity;
    const atMs = Math.min(stopMs, leaveMs, comeMs, startMs);
    if (atMs === infinity) return;
    if (stopMs === atMs) step(atMs, job[e++]!, 'stops');
    else if (leaveMs === atMs) step(atMs, leaves[l++]!, 'leaves');
    else if (comeMs === atMs) step(atMs, comes[c++]!, 'comes');
    else step(atMs, job[starts[s++]!]!, 'starts');
  }
}
