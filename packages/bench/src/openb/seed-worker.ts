// One arrival order placed twice, by the product's engine and by best fit, in a thread of its own.
import { parentPort } from 'node:worker_threads';
import { bestFitMilli } from './best-fit.ts';
import { engineMilli } from './through-engine.ts';
import type { Pod, TraceNode } from './trace.ts';

export interface SeedTask {
  readonly nodes: readonly TraceNode[];
  readonly pods: readonly Pod[];
}

export interface SeedResult {
  readonly oursMilli: number;
  readonly bestFitMilli: number;
}

parentPort?.on('message', ({ nodes, pods }: SeedTask) => {
  const result: SeedResult = {
    oursMilli: engineMilli(nodes, pods),
    bestFitMilli: bestFitMilli(nodes, pods),
  };
  parentPort?.postMessage(result);
});
