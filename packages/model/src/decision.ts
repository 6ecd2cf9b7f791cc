// The decision log: what is kept of every committed decision so that it can be made again. A plan follows from the events
// and from what its engine had tried and told before, which no row holds. So a decision also says which *life* of an engine
// it came from (a life begins with an engine that has told nobody anything), its turn in that life, and the decides since
// the turn before that gave an empty plan: they wrote nothing, but what they tried in vain is not tried again.

/** When a decide that gave an empty plan was made: the engine's sequence, and its time. */
export type QuietDecide = readonly [sequence: number, nowMs: number];

/** What a plan itself does not say and a replay needs. */
export interface DecisionTrace {
  /** With the epoch, names the life. */
  readonly life: number;
  /** 0 is the first decision of its life. */
  readonly turn: number;
  readonly quiet: readonly QuietDecide[];
}

export interface Decision extends DecisionTrace {
  /** Ascending in the order of commits. */
  readonly id: number;
  readonly epoch: number;
  readonly sequence: number;
  readonly nowMs: number;
  readonly policyVersion: number;
  readonly engineVersion: string;
  readonly hash: string;
  readonly units: number;
  readonly verdicts: number;
  /** Units that were applied; the others were dropped. */
  readonly applied: number;
}
