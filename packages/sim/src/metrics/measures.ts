// The figures of one policy on one trace, as the report, the table and the JSON have them. Jobs that could never start are in
// none of them but `impossible`.
//
// A *wait* is all of a job's time in the system beyond its run time: after a preemption the queueing, the restart and the work done
// again count as waiting too, so that stopping runs is never free.
import type { Played } from '../replay/replay.ts';
import { finishTimeFairness } from './fairness.ts';
import { mean, percentile, sorted } from './order-statistics.ts';
import { shareError } from './share-error.ts';

export interface Measures {
  readonly policy: string;
  readonly durations: string | null;
  readonly jobs: number;
  /** Jobs that ask for more than the machine has. */
  readonly impossible: number;
  readonly avgWaitS: number;
  readonly medianWaitS: number;
  readonly p90WaitS: number;
  readonly p99WaitS: number;
  readonly maxWaitS: number;
  /** From submit to the first start. */
  readonly avgFirstStartS: number;
  /** From submit to end. */
  readonly avgJctS: number;
  readonly medianJctS: number;
  readonly p99JctS: number;
  /** Mean of max(1, JCT / max(10 s, run time)). */
  readonly boundedSlowdown: number;
  /** From the first submit to the last end. */
  readonly makespanS: number;
  /** Part of the devices' time that was held by runs. */
  readonly utilisation: number;
  /** Part of the free device-time that lay on nodes partly in use. */
  readonly fragmentation: number;
  /** JCT beside what an equal share of the machine would have given; above 1 is later than that. */
  readonly finishTimeFairnessP95: number;
  readonly unfairPart: number;
  /** Part of the machine that projects lacked of their equal share, mean over time. */
  readonly shareError: number;
  readonly preemptions: number;
  readonly lostDeviceHours: number;
  /** Part of the held device-time that was work kept. */
  readonly goodput: number;
  readonly heldDeviceHours: number;
  /** What the held device-time costs; null where the fleet has no prices. */
  readonly cost: number | null;
  /** Part of the jobs that stayed within the P50 and the P90 learned for them; null where nothing was learned. */
  readonly coverageP50: number | null;
  readonly coverageP90: number | null;
}

export interface MeasureOptions {
  readonly durations?: string | null;
  readonly pricePerDeviceHour?: number | null;
  /** The bound of bounded slowdown. */
  readonly boundMs?: number;
}

const hourMs = 3_600_000;

export function measure(played: Played, options: MeasureOptions = {}): Measures {
  const { trace, devices } = played;
  const done = doneJobs(played);
  const of = (value: (job: number) => number) => Float64Array.from(done, value);
  const jctMs = of((job) => played.endMs[job]! - trace.submitMs[job]!);
  const waitMs = of((job) => played.endMs[job]! - trace.submitMs[job]! - trace.runMs[job]!);
  const bound = options.boundMs ?? 10_000;
  const slowdowns = of((job) => boundedSlowdown(played, job, bound));
  const [waits, jcts] = [sorted(waitMs), sorted(jctMs)];
  const makespanMs = makespan(played, done);
  const held = heldDeviceMs(played);
  const lost = sum(done, (job) => played.lostMs[job]! * trace.size[job]!);
  const fairness = finishTimeFairness(played, done);
  const price = options.pricePerDeviceHour ?? null;
  const s = (ms: number): number => ms / 1000;
  return {
    policy: played.policy,
    durations: options.durations ?? null,
    jobs: done.length,
    impossible: played.impossible.length,
    avgWaitS: s(mean(waitMs)),
    medianWaitS: s(percentile(waits, 0.5)),
    p90WaitS: s(percentile(waits, 0.9)),
    p99WaitS: s(percentile(waits, 0.99)),
    maxWaitS: s(percentile(waits, 1)),
    avgFirstStartS: s(mean(of((job) => played.firstStartMs[job]! - trace.submitMs[job]!))),
    avgJctS: s(mean(jctMs)),
    medianJctS: s(percentile(jcts, 0.5)),
    p99JctS: s(percentile(jcts, 0.99)),
    boundedSlowdown: mean(slowdowns),
    makespanS: s(makespanMs),
    utilisation: makespanMs === 0 ? 0 : held / (devices * makespanMs),
    fragmentation: played.freeMs === 0 ? 0 : played.scatteredMs / played.freeMs,
    finishTimeFairnessP95: percentile(sorted(fairness), 0.95),
    unfairPart: fairness.length === 0 ? 0 : fairness.filter((rho) => rho > 1).length / fairness.length,
    shareError: shareError(played),
    preemptions: sum(done, (job) => played.preemptions[job]!),
    lostDeviceHours: lost / hourMs,
    goodput: held === 0 ? 1 : 1 - lost / held,
    heldDeviceHours: held / hourMs,
    cost: price === null ? null : (held / hourMs) * price,
    coverageP50: played.coverage?.p50 ?? null,
    coverageP90: played.coverage?.p90 ?? null,
  };
}

/** Jobs that came to their end, in order of arrival. */
export function doneJobs({ endMs }: Played): Int32Array {
  return Int32Array.from(endMs.keys()).filter((job) => endMs[job]! >= 0);
}

export function boundedSlowdown({ trace, endMs }: Played, job: number, boundMs: number): number {
  const jctMs = endMs[job]! - trace.submitMs[job]!;
  return Math.max(1, jctMs / Math.max(boundMs, trace.runMs[job]!));
}

function makespan({ endMs, trace }: Played, done: Int32Array): number {
  if (done.length === 0) return 0;
  let last = 0;
  for (const job of done) last = Math.max(last, endMs[job]!);
  return last - trace.submitMs[0]!;
}

function heldDeviceMs({ stretches, trace }: Played): number {
  const { job, fromMs, toMs } = stretches;
  let total = 0;
  for (let i = 0; i < stretches.count; i++) total += (toMs[i]! - fromMs[i]!) * trace.size[job[i]!]!;
  return total;
}

function sum(jobs: Int32Array, value: (job: number) => number): number {
  let total = 0;
  for (const job of jobs) total += value(job);
  return total;
}
