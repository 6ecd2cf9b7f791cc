// As many threads as there are cores, each with one arrival order at a time.
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Lifetime } from '../lifetime.ts';
import type { SeedResult, SeedTask } from './seed-worker.ts';

export async function runSeeds(
  tasks: readonly SeedTask[],
  lifetime: Lifetime,
  done: (task: number, result: SeedResult) => void,
): Promise<readonly SeedResult[]> {
  const results: SeedResult[] = [];
  let next = 0;
  const threads = Math.min(tasks.length, Math.max(1, availableParallelism()));
  await Promise.all(
    Array.from({ length: threads }, async () => {
      const worker = new Worker(new URL('./seed-worker.ts', import.meta.url));
      lifetime.add(async () => void (await worker.terminate()));
      while (next < tasks.length) {
        const at = next++;
        const result = await ask(worker, tasks[at]!);
        results[at] = result;
        done(at, result);
      }
      await worker.terminate();
    }),
  );
  return results;
}

function ask(worker: Worker, task: SeedTask): Promise<SeedResult> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      act();
    };
    const onMessage = (result: SeedResult): void => settle(() => resolve(result));
    const onError = (error: Error): void => settle(() => reject(error));
    const onExit = (code: number): void => settle(() => reject(new Error(`a thread ended with ${code}`)));
    worker.once('message', onMessage).once('error', onError).once('exit', onExit);
    worker.postMessage(task);
  });
}
