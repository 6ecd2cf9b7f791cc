// Runs a block of tests on a real Slurm of its own. Without one a person is told what was not run; in CI that is a failure.
import { type SlurmOptions, slurmMissing, startSlurm, type TestSlurm } from '@muster/drivers/testing';
import { onStarted } from './on-started.ts';

export function onSlurm(
  name: string,
  body: (slurm: () => TestSlurm) => void,
  options: SlurmOptions = {},
): void {
  onStarted(name, slurmMissing(options), () => startSlurm(options), body);
}
