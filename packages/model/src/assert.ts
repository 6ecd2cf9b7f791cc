// Bugs stop the process: an invariant that fails is never handled, only reported. Expected refusals are values,
// and failures of the world are operational errors (problem.ts); neither comes through here.

export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

export function assertNever(value: never): never {
  throw new InvariantError(`unexpected value ${JSON.stringify(value)}`);
}

/** Every amount the engine adds up is a whole number below 2^53, so that sums are exact. */
export function assertAmount(value: number, what: string): number {
  // Asked in inner loops: the words are made only when they are needed.
  if (!Number.isSafeInteger(value) || value < 0)
    invariant(false, `${what} must be a whole number below 2^53, got ${value}`);
  return value;
}
