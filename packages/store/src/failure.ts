// What an error from the driver means for the caller. Translated once, here: `again` is weather inside the database (deadlock,
// serialization) and is retried; `unavailable` is the world outside; everything else is an item the database will
// never take, or a bug of ours.
import { OperationalError } from '@muster/model';

export type Failure = 'again' | 'no-partition' | 'unavailable' | 'rejected';

// 08 connection, 25P03 idle in transaction too long, 25006 read-only (a standby), 28 authentication, 3D no such
// database, 53 out of resources, 55P03 lock timeout, 57 operator intervention (shutdown, statement timeout), 58 system.
const unavailableStates = /^(08|25P03|25006|28|3D|53|55P03|57|58|XX)/;

export function failureOf(error: unknown): Failure {
  const state = sqlState(error);
  if (state === null) return 'unavailable';
  if (state === '40001' || state === '40P01') return 'again';
  if (state === '23514' && /no partition/.test((error as Error).message)) return 'no-partition';
  return unavailableStates.test(state) ? 'unavailable' : 'rejected';
}

/** Null for errors that did not come from the server: sockets, timeouts, the driver itself. */
function sqlState(error: unknown): string | null {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && typeof severity === 'string' ? code : null;
}

/** Whether the server itself said no; a cut connection or a timeout of ours says nothing. */
export function wasAnswered(error: unknown): boolean {
  return sqlState(error) !== null;
}

/** COMMIT was sent and no answer came: the transaction took effect or did not, and only looking tells. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
}

export function unavailable(cause: unknown): OperationalError {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new OperationalError('unavailable', `the database cannot be used now: ${text}; try again`, {
    cause,
  });
}

/** For intentions that have no `unknown` of their own. */
export function outcomeUnknown(cause: unknown): OperationalError {
  return new OperationalError(
    'outcome-unknown',
    'the database did not answer whether this was committed; look before doing it again',
    { cause },
  );
}

/** The form in which an error leaves the store. */
export function translated(error: unknown): unknown {
  if (error instanceof OperationalError || error instanceof CommitUnknown) return error;
  if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError)
    return error;
  if ((error as Error)?.name === 'InvariantError') return error;
  const failure = failureOf(error);
  if (failure === 'rejected')
    return new OperationalError('internal', `the database refused a statement: ${(error as Error).message}`, {
      cause: error,
    });
  return unavailable(error);
}
