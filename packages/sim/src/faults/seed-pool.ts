// Seeds on several workers at once, each of which takes the next seed as soon as it has told of the last. A seed that does not
// end in its time, or takes its worker down, is told as failed, and the worker is replaced: one bad seed never holds up the others.
import { Worker } from 'node:worker_threads';
import type { PostgresServer } from './postgres.ts';
import type { SeedReport } from './run-seed.ts';

export interface SeedPool {
  readonly workers: number;
  /** A seed on the store in memory takes well under a second of processor time, a small one on PostgreSQL some seconds. */
  readonly seedLimitMs: number;
  readonly template: PostgresServer['template'] | null;
  /** What a worker runs, in place of worker.ts. */
  readonly program?: URL;
  /** The next seed; null when there is none. */
  readonly next: () => number | null;
  readonly report: (seed: SeedReport) => void;
}

export interface WorkerData {
  readonly number: number;
  readonly template: PostgresServer['template'] | null;
}

export async function runPool(pool: SeedPool): Promise<void> {
  let started = 0;
  const lane = async (): Promise<void> => {
    while (await workUntilLost(pool, ++started));
  };
  await Promise.all(Array.from({ length: pool.workers }, lane));
}

/** True when the worker was lost with its seed, so that another has to go on. */
function workUntilLost(pool: SeedPool, number: number): Promise<boolean> {
  const workerData: WorkerData = { number, template: pool.template };
  const worker = new Worker(pool.program ?? new URL('./worker.ts', import.meta.url), { workerData });
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    let seed: number | null = null;
    let lost = false;
    const lose = (why: string): void => {
      if (lost || seed === null) return;
      lost = true;
      clearTimeout(timer);
      pool.report(lostSeed(seed, why));
    };
    worker.on('message', (message: SeedReport | 'ready') => {
      if (lost) return;
      clearTimeout(timer);
      if (message !== 'ready') pool.report(message);
      seed = pool.next();
      worker.postMessage(seed);
      if (seed === null) return;
      timer = setTimeout(() => {
        lose(`hangs: no end after ${pool.seedLimitMs / 1000} s`);
        worker.terminate().catch(reject);
      }, pool.seedLimitMs);
    });
    worker.on('error', (error) => {
      // Without a seed it never began, and another would not either.
      if (seed === null) reject(error);
      else lose(`bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    });
    worker.on('exit', () => resolve(lost));
  });
}

function lostSeed(seed: number, message: string): SeedReport {
  const nothing = {
    hash: 'none',
    events: 0,
    steps: 0,
    virtualMs: 0,
    faults: [],
    failovers: 0,
    refused: 0,
    tail: [],
  };
  return { seed, failure: { rule: message.split(':')[0] ?? '', message }, ...nothing };
}
