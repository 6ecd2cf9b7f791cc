// EASY as a reader of the paper would write it first: counted devices, one list of the waiting, everything looked at anew at every moment. The fast one must
// give the same starts.
import type { Trace } from '../traces/trace.ts';

interface Run {
  readonly job: number;
  readonly endMs: number;
  readonly believedEndMs: number;
}

export function naiveEasyStarts(trace: Trace, devices: number, shortestFirst: boolean): number[] {
  const starts = new Array<number>(trace.count).fill(-1);
  let running: Run[] = [];
  let waiting: number[] = [];
  const moments = new Set<number>(trace.submitMs);
  while (moments.size > 0) {
    const nowMs = Math.min(...moments);
    moments.delete(nowMs);
    running = running.filter(({ endMs }) => endMs > nowMs);
    for (let job = 0; job < trace.count; job++)
      if (trace.submitMs[job] === nowMs && trace.size[job]! <= devices) waiting.push(job);
    const free = () => devices - running.reduce((sum, { job }) => sum + trace.size[job]!, 0);
    const start = (job: number) => {
      starts[job] = nowMs;
      const endMs = nowMs + trace.runMs[job]!;
      running.push({ job, endMs, believedEndMs: nowMs + trace.askedMs[job]! });
      waiting = waiting.filter((other) => other !== job);
      moments.add(endMs);
    };
    while (waiting.length > 0 && trace.size[waiting[0]!]! <= free()) start(waiting[0]!);
    const [first, ...behind] = waiting;
    if (first === undefined) continue;
    const { atMs, spare } = reservation(trace, running, free(), trace.size[first]!, nowMs);
    let extra = spare;
    if (shortestFirst) behind.sort((a, b) => trace.askedMs[a]! - trace.askedMs[b]! || a - b);
    for (const job of behind) {
      const size = trace.size[job]!;
      if (size > free()) continue;
      const endsBefore = nowMs + trace.askedMs[job]! <= atMs;
      if (!endsBefore && size > extra) continue;
      if (!endsBefore) extra -= size;
      start(job);
    }
  }
  return starts;
}

function reservation(trace: Trace, running: readonly Run[], freeNow: number, size: number, nowMs: number) {
  const ends = [...new Set(running.map((run) => Math.max(nowMs, run.believedEndMs)))].sort((a, b) => a - b);
  for (const atMs of ends) {
    const back = running
      .filter((run) => Math.max(nowMs, run.believedEndMs) <= atMs)
      .reduce((sum, { job }) => sum + trace.size[job]!, 0);
    if (freeNow + back >= size) return { atMs, spare: freeNow + back - size };
  }
  throw new Error('the first in line never fits');
}
