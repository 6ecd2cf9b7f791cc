// Finish-time fairness (Themis; in the form of Shockwave): how much later than under an equal share a job came to its end. Its ideal is its
// run time stretched by the contention it met, the mean over its life of what all present jobs ask for, in machines, at least 1.
import type { Played } from '../replay/replay.ts';
import { eachChange } from './changes.ts';

/** JCT / ideal for each of the jobs. */
export function finishTimeFairness(played: Played, jobs: Int32Array): Float64Array {
  const { trace, devices, endMs } = played;
  // Integral of the contention up to each job's submit, and then up to its end.
  const upTo = new Float64Array(trace.count);
  const over = new Float64Array(trace.count);
  let demand = 0;
  let integral = 0;
  let lastMs = 0;
  eachChange(played, (atMs, job, kind) => {
    integral += Math.max(1, demand / devices) * (atMs - lastMs);
    lastMs = atMs;
    if (kind === 'comes') {
      demand += trace.size[job]!;
      upTo[job] = integral;
    } else if (kind === 'leaves') {
      demand -= trace.size[job]!;
      over[job] = integral - upTo[job]!;
    }
  });
  return Float64Array.from(jobs, (job) => {
    const jctMs = endMs[job]! - trace.submitMs[job]!;
    const contention = over[job]! / jctMs;
    return jctMs / (trace.runMs[job]! * contention);
  });
}
