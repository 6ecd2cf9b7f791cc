// The form in which a write's end leaves a store: an unknown COMMIT is an outcome where the intention has one, else an error.
import type { Outcome } from './contract.ts';
import { CommitUnknown, outcomeUnknown } from './failure.ts';
import type { Settled } from './group-commit.ts';

/** A second, large group of submits can be on its way while the first is made durable. */
export const lanes = {
  submit: { maxItems: 1000, behindFrom: 32 },
  observe: { maxItems: 500 },
  // Each may touch many runs, and holds their locks.
  hello: { maxItems: 200 },
  renew: { maxItems: 500 },
  outbox: { maxItems: 1000 },
};

export function outcomeOf<T, R>(settled: Settled<Outcome<T, R>>): Outcome<T, R> {
  return settled.kind === 'unknown' ? { outcome: 'unknown' } : resultOf(settled);
}

/**
 * Of the items of one call. What failed is an error only when all did: it would hide from the caller what was committed of the
 * rest, so then it is told as unknown.
 */
export function outcomesOf<T, R>(settled: readonly Settled<Outcome<T, R>>[]): Outcome<T, R>[] {
  if (settled.every(({ kind }) => kind === 'failed')) return settled.map(outcomeOf);
  return settled.map((one) => (one.kind === 'failed' ? { outcome: 'unknown' } : outcomeOf(one)));
}

/** The answer to one call of a group that only the session a node has now may make. */
export type SessionAnswer<T> = { readonly sequence: number; readonly value: T } | 'stale-session';

export function sessionOutcome<T>(settled: Settled<SessionAnswer<T>>): Outcome<T, 'stale-session'> {
  if (settled.kind === 'unknown') return { outcome: 'unknown' };
  const answer = resultOf(settled);
  return answer === 'stale-session'
    ? { outcome: 'refused', refusal: answer }
    : { outcome: 'committed', ...answer };
}

export function resultOf<T>(settled: Settled<T>): T {
  if (settled.kind === 'done') return settled.result;
  throw settled.kind === 'unknown' ? outcomeUnknown(settled.cause) : settled.error;
}

export async function known<T, R>(promise: Promise<Outcome<T, R>>): Promise<Outcome<T, R>> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof CommitUnknown) return { outcome: 'unknown' };
    throw error;
  }
}

export async function looked<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw error instanceof CommitUnknown ? outcomeUnknown(error) : error;
  }
}
