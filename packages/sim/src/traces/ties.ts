// Who is first of those that came at the same moment. A trace does not say; the file's order is taken, and other simulators take other
// orders. Under strict policies one such pair may decide what everybody behind waits for.
import type { Trace } from './trace.ts';

/** A job's rank among those of its moment; the least is first. Of equal ones the file's order. */
export type TieRule = (trace: Trace, job: number) => number;

export const shorterFirst: TieRule = (trace, job) => trace.runMs[job]!;

/** The same trace with ties broken by the rule. Jobs have other numbers in it; their lines are the same. */
export function withTies(trace: Trace, rule: TieRule): Trace {
  const { submitMs } = trace;
  const order = Int32Array.from(submitMs.keys()).sort(
    (a, b) => submitMs[a]! - submitMs[b]! || rule(trace, a) - rule(trace, b) || a - b,
  );
  const times = (column: Float64Array): Float64Array => Float64Array.from(order, (job) => column[job]!);
  const counts = (column: Int32Array): Int32Array => Int32Array.from(order, (job) => column[job]!);
  return {
    ...trace,
    submitMs: times(submitMs),
    runMs: times(trace.runMs),
    askedMs: times(trace.askedMs),
    size: counts(trace.size),
    milli: counts(trace.milli),
    user: counts(trace.user),
    project: counts(trace.project),
    program: counts(trace.program),
    line: counts(trace.line),
  };
}

/** Jobs that came at the same moment as the one before them. */
export function tieCount({ submitMs }: Trace): number {
  return submitMs.reduce((ties, ms, job) => ties + (job > 0 && ms === submitMs[job - 1] ? 1 : 0), 0);
}
