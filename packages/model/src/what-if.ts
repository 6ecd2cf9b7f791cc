// The answer to "what if": the difference that a change would make to what is decided next, as values. Two copies of one
// engine decide until nothing more happens, one with the change and one without; what both do is not told.
import type { JobFacts } from './event.ts';
import type { JobId, NodeId, RunId } from './ids.ts';
import type { Right } from './plan.ts';
import type { Policy } from './policy.ts';
import type { Verdict, VerdictView } from './verdict.ts';

export type WhatIfQuestion =
  | { readonly kind: 'submit'; readonly jobs: readonly JobFacts[] }
  /** New work is kept off these nodes; what runs there goes on. */
  | { readonly kind: 'drain'; readonly nodes: readonly NodeId[] }
  /** These nodes are gone, and what runs there ends. */
  | { readonly kind: 'lose'; readonly nodes: readonly NodeId[] }
  | { readonly kind: 'add'; readonly like: NodeId; readonly count: number }
  | { readonly kind: 'policy'; readonly policy: Policy };

interface OfJob {
  readonly job: JobId;
  readonly project: string;
}

export interface WhatIfStart extends OfJob {
  /** By name. */
  readonly nodes: readonly string[];
  /** What an hour of it costs there, at the policy's prices and its tier's, in millionths. */
  readonly hourMicro: number;
}

/**
 * Work that a stopped run loses: since its last checkpoint with the time to go on from there, or since its start; and its price in
 * millionths of money.
 */
export interface LostWork {
  readonly lostMs: number;
  readonly lostMicro: number;
}

/** What the change costs, in millionths of money. */
export interface WhatIfCost {
  /** Lost work of everything that is stopped or preempted with the change and not without it. */
  readonly lostMicro: number;
  /** Lost work of everything that is spared by it. */
  readonly sparedMicro: number;
  /** How much more all that runs costs an hour in the end; below 0 when it is less. */
  readonly hourMicro: number;
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
  readonly moves: readonly WhatIfMove[];
  /** Runs that the change itself ends, and whether their job waits again. */
  readonly stops: readonly WhatIfStop[];
  /** Runs that are stopped for another job with the change and not without it. */
  readonly preempts: readonly WhatIfPreemption[];
  /** Runs that would be stopped for another job without the change and are spared with it. */
  readonly spares: readonly WhatIfPreemption[];
  readonly cost: WhatIfCost;
  /** Queue entries that are told another reason in the end. */
  readonly verdicts: readonly WhatIfVerdict[];
}

export interface WhatIfMove extends OfJob {
  readonly from: readonly string[];
  readonly to: readonly string[];
}

export interface WhatIfStop extends OfJob, LostWork {
  readonly run: RunId;
  readonly requeued: boolean;
  /** Why its job waits in the end; null when it ends or starts again. */
  readonly after: Verdict | null;
}

/** As the API tells it, with the reason in words beside it. */
export interface WhatIfStopView extends Omit<WhatIfStop, 'after'> {
  readonly after: VerdictView | null;
  readonly afterText: string | null;
}

export interface WhatIfPreemption extends OfJob, LostWork {
  readonly run: RunId;
  /** Null when it is of a project that the asker does not see. */
  readonly by: JobId | null;
  readonly right: Right;
}

/** The reason of jobs that differ in nothing but their place in line, and wait in the end; null when none of them waited or was told. */
export interface WhatIfVerdict extends OfJob {
  /** How many they are; `job` is the first of them. */
  readonly jobs: number;
  readonly before: Verdict | null;
  readonly after: Verdict | null;
}

/** As the API tells it, with the reasons in words beside it. */
export interface WhatIfVerdictView extends Omit<WhatIfVerdict, 'before' | 'after'> {
  readonly before: VerdictView | null;
  readonly after: VerdictView | null;
  readonly beforeText: string | null;
  readonly afterText: string | null;
}

/** A list of the answer as its asker may see it: all are counted, and those of their own projects are named. */
export interface WhatIfList<T> {
  readonly count: number;
  /** The first of those the asker sees. */
  readonly items: readonly (T & { readonly name: string })[];
}

export interface WhatIfView extends Pick<WhatIf, 'sequence' | 'cycles' | 'settled' | 'cost'> {
  readonly at: string;
  readonly starts: WhatIfList<WhatIfStart>;
  readonly startsNot: WhatIfList<WhatIfStart>;
  readonly moves: WhatIfList<WhatIfMove>;
  readonly stops: WhatIfList<WhatIfStopView>;
  readonly preempts: WhatIfList<WhatIfPreemption>;
  readonly spares: WhatIfList<WhatIfPreemption>;
  /** Counts queue entries. */
  readonly verdicts: WhatIfList<WhatIfVerdictView>;
}
