// Runs a block of tests on a real Slurm of its own. Without one a person is told what was not run; in CI that is a failure.
import { slurmMissing, startSlurm, type TestSlurm } from '@muster/drivers/testing';
import { onStarted } from './on-started.ts';

export function onSlurm(name: string, body: (slurm: () => TestSlurm) => void): void {
  onStarted(name, slurmMissing(), startSlurm, body);
}
