// A move that somebody ordered: the job's run is stopped and the next one is to be elsewhere. Where is one more constraint of the job,
// kept with it until that next run has started; the engine is told of it as of any demand, when the job waits again.
import type { Constraint, JobDemand } from './demand.ts';
import type { RunId } from './ids.ts';

export interface Move {
  /** The run that is stopped for it. */
  readonly run: RunId;
  /** Where the next one may be. */
  readonly place: Constraint;
  readonly by: string;
  readonly reason: string | null;
  /** The next run has started, or the move was taken back. Once the job waits again it may be anywhere. */
  readonly over: boolean;
  /** What the queue knows the job by without it: the head of its entry's key (`entryHead`), and its demand. */
  readonly base: { readonly head: string; readonly demand: JobDemand };
}

/** What somebody who orders a move says. */
export type MoveOrder = Omit<Move, 'by' | 'over'>;

/** What the job asks of the fleet. */
export function moveDemand({ place, base, over }: Move): JobDemand {
  return over ? base.demand : { ...base.demand, constraints: [...base.demand.constraints, place] };
}

/** Behind "moved", "moving" and "to be moved". */
export function placeText({ label, op, values }: Constraint): string {
  return `${op === 'in' ? 'to' : 'away from'} ${label} ${values.join(', ')}`;
}

/** What a job says that is on its way; empty for any other. */
export function movingText(state: { readonly state: string; readonly move?: Move }): string {
  const { move } = state;
  if (!move || move.over) return '';
  const waits = state.state === 'queued' || state.state === 'held';
  return waits ? moveText(move) : `being ${moveText(move)}; its run is being stopped`;
}

export function moveText({ place, by, reason }: Pick<Move, 'place' | 'by' | 'reason'>): string {
  return `moved ${placeText(place)} by ${by}${reason === null ? '' : `: ${reason}`}`;
}
