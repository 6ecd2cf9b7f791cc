// Runs seeds that seed-pool.ts hands over, one after the other, in a thread of its own.
import { parentPort, workerData } from 'node:worker_threads';
import { runSeed, type SeedOptions } from './run-seed.ts';
import type { WorkerData } from './seed-pool.ts';

const { number, template } = workerData as WorkerData;

async function seedOptions(): Promise<SeedOptions> {
  if (!template) return {};
  // Only then: what speaks to servers comes with the tests of the store, and with their tools.
  const { onPostgres } = await import('./postgres.ts');
  return { backend: onPostgres(template, number), small: true };
}

const options = await seedOptions();
parentPort?.on('message', async (seed: number | null) => {
  if (seed === null) parentPort?.close();
  else parentPort?.postMessage(await runSeed(seed, options));
});
parentPort?.postMessage('ready');
