// The three outcomes of a write, at the edge: committed goes on, refused is the caller's to word, unknown is 503 with what
// to do about it. Nothing here guesses.
import type { Outcome } from '@muster/store';
import { type RefusedError, refuse } from './problem.ts';

export interface Committed<T> {
  readonly value: T;
  readonly sequence: number;
}

export function committed<T, Refusal>(
  outcome: Outcome<T, Refusal>,
  refusedAs: (refusal: Refusal) => RefusedError,
  whatToCheck: string,
): Committed<T> {
  if (outcome.outcome === 'committed') return outcome;
  if (outcome.outcome === 'refused') throw refusedAs(outcome.refusal);
  throw outcomeUnknown(whatToCheck);
}

export function outcomeUnknown(whatToCheck: string): RefusedError {
  return refuse('outcome-unknown', `the database did not say whether this took effect; ${whatToCheck}`, {
    headers: { 'retry-after': '1' },
  });
}
