// What an outside hand did to a run in its cluster, so that it does not begin or go on: held, delayed, suspended. The run keeps its state
// and its room, is not given back and not started again; it is told, with what lets it go on. No agent tells of such a thing: there
// nobody can come between.
import type { RunId } from './ids.ts';
import type { Reason } from './outcome.ts';

export type Halt = Reason;

/** Null: nobody keeps it any more. */
export interface HaltSeen {
  readonly kind: 'halt';
  readonly run: RunId;
  readonly rank: number;
  readonly halt: Halt | null;
}
