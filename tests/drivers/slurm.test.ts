// The Slurm driver against a real Slurm: what every driver must do.
import { driverConformance } from '@muster/drivers/conformance';
import { onSlurm } from '../harness/on-slurm.ts';
import { slurmSubject } from '../harness/slurm-subject.ts';

onSlurm('on Slurm', (slurm) => {
  driverConformance('slurm', async () => slurmSubject(slurm()), { leased: false, withinMs: 60_000 });
});
