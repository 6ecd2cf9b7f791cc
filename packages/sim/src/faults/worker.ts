// Runs seeds that main.ts hands over, one after the other, in a thread of its own.
import { parentPort, workerData } from 'node:worker_threads';
import { runSeed, type SeedOptions } from './run-seed.ts';

const { postgres } = workerData as { readonly postgres: boolean };
// Only then: what starts servers comes with the tests of the store, and with their tools.
const server = postgres ? await (await import('./postgres.ts')).openPostgres() : null;
const options: SeedOptions = server ? { backend: server.backend, small: true } : {};

parentPort?.on('message', async (seed: number | null) => {
  if (seed !== null) {
    parentPort?.postMessage(await runSeed(seed, options));
    return;
  }
  await server?.stop();
  parentPort?.close();
});
parentPort?.postMessage('ready');
