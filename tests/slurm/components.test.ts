// The Slurm that other suites drive is a real one: it runs a job on a chosen node with the GPUs it asked for.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { processesOf } from '@muster/drivers/testing';
import { expect, it } from 'vitest';
import { onSlurm } from '../harness/on-slurm.ts';
import { eventually } from '../harness/processes.ts';

onSlurm('a Slurm of four nodes', (slurm) => {
  it('runs a job where it was told to, with the devices it asked for', async () => {
    const output = join(slurm().shared, 'output');
    const options = ['--nodelist=n3', '--gres=gpu:h100:2', `--output=${output}`];
    await slurm().command('sbatch', ...options, '--wrap', 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES');
    const written = await eventually('it wrote', 60_000, () => readFileSync(output, 'utf8'));
    expect(written).toBe('n3 0,1\n');
  });

  it('leaves no process behind', async () => {
    const { dir } = slurm();
    expect(processesOf(dir).length).toBeGreaterThan(4);
    await slurm().stop();
    expect(processesOf(dir)).toEqual([]);
  });
});
