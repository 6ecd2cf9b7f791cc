// How many cases a property is tried on. The default run tries few and always the same, so that it fails only for what was
// changed since. MUSTER_CASES=10000 tries that many new ones; a failure is looked at again with the seed and the path
// it printed: MUSTER_SEED=... MUSTER_PATH=...
import type { Parameters } from 'fast-check';

const { MUSTER_CASES: asked, MUSTER_SEED: seed, MUSTER_PATH: path } = process.env;
const sameSeed = 20_261_115;

export type Cases = Pick<Parameters, 'numRuns' | 'seed' | 'path' | 'endOnFailure'> & {
  readonly numRuns: number;
};

export function cases(few: number): Cases {
  const numRuns = Number(asked ?? few);
  if (seed !== undefined) return { numRuns, seed: Number(seed), ...(path && { path, endOnFailure: true }) };
  return asked === undefined ? { numRuns, seed: sameSeed } : { numRuns };
}

/** For all of them, on a slow machine. */
export function timeoutOf({ numRuns }: Cases): number {
  return 120_000 + numRuns * 500;
}
