// The engine's one interface. Deterministic: the same events and times give the same plans, byte for byte. `decide` changes
// nothing; committed plans come back as events.
import type {
  EngineRows,
  EntryFacts,
  EventBody,
  Explanation,
  JobDemand,
  JobId,
  Ledger,
  LogEvent,
  Plan,
  PlannedJob,
  Score,
  Verdict,
  WhatIf,
} from '@muster/model';

export interface Engine {
  /** The last event applied. */
  readonly sequence: number;
  /** Events must come in order without gaps; one already applied is ignored. */
  apply(event: LogEvent): void;
  /** The plan says the time it was made for, which never goes back: the latest this engine was asked about. */
  decide(nowMs: number): Plan;
  /** The whole answer for one job: why it waits, who is ahead, and what would start it now, each tried; null for a job the
   * engine does not know (ended or never seen). Bounded in steps. */
  explain(job: JobId, nowMs: number): Explanation | null;
  /** Its verdict alone, counts computed now. */
  verdict(job: JobId, nowMs: number): Verdict | null;
  /** What the queue entry in which it waits was last told by `decide`, found without looking at anything; null for nothing. */
  told(job: JobId): Verdict | null;
  /** What a job like this would be told if it were submitted now; changes nothing. */
  consider(request: JobRequest, nowMs: number): Explanation;
  /** Every kind of place where a request could run, with the terms of its score, best first; changes nothing. `known`: a
   * job that is not over asks for just this, so that it is not counted twice. */
  score(request: JobRequest, known: boolean, nowMs: number): Score;
  /** What these events would change in what is decided next; changes nothing. Bounded in cycles, not in time. */
  whatIf(changes: readonly EventBody[], nowMs: number, cyclesMax: number): WhatIf;
  /** Every project's guarantee, ceiling, use and share by resource, and who lent what to whom. */
  ledger(nowMs: number): Ledger;
  /** Jobs with a planned start, in the order; changes nothing. */
  planned(nowMs: number): readonly PlannedJob[];
  /** An independent copy. */
  fork(): Engine;
  /** Forgets what was told and tried, so that the next plan is that of an engine loaded from these rows: a new life. */
  forget(): void;
  /** The logical state as rows: loading them gives an engine of the same state hash. */
  rows(): EngineRows;
  /** Equal for equal states, however they came about: rebuilt = live. */
  stateHash(): string;
}

export interface JobRequest extends EntryFacts {
  readonly demand: JobDemand;
}

/** How an engine is made: from rows read in one snapshot. An empty fleet is rows with nothing in them. */
export type LoadEngine = (rows: EngineRows) => Engine;
