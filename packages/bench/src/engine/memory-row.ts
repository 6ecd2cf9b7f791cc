import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';

interface Measured {
  readonly idleMb: number;
  readonly loadedMb: number;
  readonly keptMb: number;
}

export async function memoryRow({ quick, lifetime }: BenchOptions): Promise<ToldRow> {
  const jobs = quick ? 100_000 : 1_000_000;
  const { idleMb, loadedMb, keptMb } = await measure(jobs, lifetime);
  return row({
    name: 'rss_mb',
    value: Math.max(loadedMb, keptMb),
    unit: 'MB',
    reference: ['the same process before it has an engine', idleMb],
    about: `Memory of a process whose engine knows 12,500 x 8 GPUs and ${jobs} waiting jobs of 1,000 projects (${Math.round(keptMb)} MB after a collection)`,
    aim: '< 2000 MB',
  });
}

function measure(jobs: number, lifetime: BenchOptions['lifetime']): Promise<Measured> {
  const child = fork(fileURLToPath(new URL('./memory-process.ts', import.meta.url)), [String(jobs)]);
  if (child.pid !== undefined) lifetime.addProcess(child.pid);
  return new Promise((resolve, reject) => {
    child.once('message', (measured) => {
      resolve(measured as Measured);
      child.disconnect();
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (child.pid !== undefined) lifetime.removeProcess(child.pid);
      reject(new Error(`the process whose memory is measured ended with ${code}`));
    });
  });
}
