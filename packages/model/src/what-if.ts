// The answer to "what if": the difference that a change would make to what is decided next, as values. Two copies of one
// engine decide until nothing more happens, one with the change and one without; what both do is not told.
import type { JobId, NodeId, RunId } from './ids.ts';
import type { Right } from './plan.ts';
import type { Verdict } from './verdict.ts';

export interface WhatIfStart {
  readonly job: JobId;
  readonly nodes: readonly NodeId[];
}

export interface WhatIf {
  /** The event at which the question was asked. */
  readonly sequence: number;
  readonly nowMs: number;
  /** Cycles that were looked at, the more of the two sides. */
  readonly cycles: number;
  /** False when there was still something to do after the last cycle that was looked at. */
  readonly settled: boolean;
  /** Jobs that start with the change and would not start without it. */
  readonly starts: readonly WhatIfStart[];
  /** Jobs that would start without the change and do not with it. */
  readonly startsNot: readonly WhatIfStart[];
  /** Jobs that start either way, on other nodes. */
  readonly moves: readonly {
    readonly job: JobId;
    readonly from: readonly NodeId[];
    readonly to: readonly NodeId[];
  }[];
  /** Runs that the change itself ends, and whether their job waits again. */
  readonly stops: readonly { readonly job: JobId; readonly run: RunId; readonly requeued: boolean }[];
  /** Runs that are stopped for another job with the change and not without it. */
  readonly preempts: readonly WhatIfPreemption[];
  /** Runs that would be stopped for another job without the change and are spared with it. */
  readonly spares: readonly WhatIfPreemption[];
  /** Queue entries that are told another reason in the end. */
  readonly verdicts: readonly WhatIfVerdict[];
}

export interface WhatIfPreemption {
  readonly job: JobId;
  readonly run: RunId;
  readonly by: JobId;
  readonly right: Right;
}

/** The reason of jobs that differ in nothing but their place in line, and wait in the end; null when none of them waited or was told. */
export interface WhatIfVerdict {
  readonly project: string;
  readonly jobs: number;
  /** The first of them. */
  readonly job: JobId;
  readonly before: Verdict | null;
  readonly after: Verdict | null;
}
