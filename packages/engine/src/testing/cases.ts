// How many cases a property is tried on. The default run tries few and always the same, so that it fails only for what was
// changed since. MUSTER_CASES=10000 tries that many new ones; a failure is looked at again with the seed and the path
// it printed: MUSTER_SEED=... MUSTER_PATH=... What was tried is noted with the test, for `npm run test:properties` to tell.
import { defaultReportMessage, type Parameters, type RunDetails } from 'fast-check';
import { TestRunner } from 'vitest';

const { MUSTER_CASES: asked, MUSTER_SEED: seed, MUSTER_PATH: path } = process.env;
const sameSeed = 20_261_115;

export type Cases = Pick<Parameters, 'numRuns' | 'seed' | 'path' | 'endOnFailure'> & {
  readonly numRuns: number;
  readonly reporter: <T>(details: RunDetails<T>) => void;
};

/** What a property was tried on; the path is of the case that failed. */
export interface Tried {
  readonly cases: number;
  readonly seed: number;
  readonly path: string | null;
}

declare module 'vitest' {
  interface TaskMeta {
    tried?: Tried;
  }
}

export function cases(few: number): Cases {
  const numRuns = Number(asked ?? few);
  const told = { numRuns, reporter };
  if (seed !== undefined) return { ...told, seed: Number(seed), ...(path && { path, endOnFailure: true }) };
  return asked === undefined ? { ...told, seed: sameSeed } : told;
}

function reporter<T>(details: RunDetails<T>): void {
  const { numRuns, seed: used, failed, counterexamplePath, errorInstance } = details;
  TestRunner.getCurrentTest()!.meta.tried = { cases: numRuns, seed: used, path: counterexamplePath };
  if (failed) throw new Error(defaultReportMessage(details), { cause: errorInstance });
}

/** For all of them, on a slow machine. */
export function timeoutOf({ numRuns }: Cases): number {
  return 120_000 + numRuns * 500;
}
