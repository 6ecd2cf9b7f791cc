// Runs a block of tests on a real Slurm of its own. Without one a person is told what was not run; in CI that is a failure.
import { afterAll, beforeAll, describe, test } from 'vitest';
import { slurmMissing, startSlurm, type TestSlurm } from './slurm.ts';

export function onSlurm(name: string, body: (slurm: () => TestSlurm) => void): void {
  const missing = slurmMissing();
  const inCi = process.env.CI !== undefined && process.env.CI !== '' && process.env.CI !== 'false';
  if (missing === null) describe(name, () => onStarted(body));
  else if (inCi)
    test(missing, () => {
      throw new Error(missing);
    });
  else test.skip(missing, () => {});
}

function onStarted(body: (slurm: () => TestSlurm) => void): void {
  let slurm: TestSlurm | null = null;
  beforeAll(async () => {
    slurm = await startSlurm();
  });
  afterAll(async () => {
    await slurm?.stop();
  });
  body(() => slurm as TestSlurm);
}
