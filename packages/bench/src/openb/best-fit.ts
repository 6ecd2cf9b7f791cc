// The reference: plain best fit as textbooks have it, written to be read. A pod goes to the node that has least left of what it
// asks for: free GPU (as part of the largest node's) plus free cores (likewise) after the pod is there; of equal ones to
// the first in the list. On the node a share goes to the GPU with the least room that holds it.
import { milliOf } from './arrivals.ts';
import type { Pod, TraceNode } from './trace.ts';

interface Box {
  readonly model: string;
  cpuMilli: number;
  memoryMib: number;
  /** Free thousandths of each GPU. */
  readonly gpus: number[];
}

/** Thousandths of GPUs in use when all have arrived. */
export function bestFitMilli(nodes: readonly TraceNode[], pods: readonly Pod[]): number {
  const boxes = nodes.map((node): Box => ({ ...node, gpus: Array.from({ length: node.gpus }, () => 1000) }));
  const cpuMost = Math.max(...nodes.map((node) => node.cpuMilli));
  const gpuMost = Math.max(...nodes.map((node) => node.gpus * 1000));
  let used = 0;
  for (const pod of pods) {
    let best: Box | null = null;
    let bestLeft = Number.POSITIVE_INFINITY;
    for (const box of boxes) {
      if (!fits(box, pod)) continue;
      const left = (freeOf(box) - milliOf(pod)) / gpuMost + (box.cpuMilli - pod.cpuMilli) / cpuMost;
      if (left >= bestLeft) continue;
      best = box;
      bestLeft = left;
    }
    if (!best) continue;
    take(best, pod);
    used += milliOf(pod);
  }
  return used;
}

function freeOf(box: Box): number {
  let free = 0;
  for (const gpu of box.gpus) free += gpu;
  return free;
}

function fits(box: Box, pod: Pod): boolean {
  if (box.cpuMilli < pod.cpuMilli || box.memoryMib < pod.memoryMib) return false;
  if (pod.gpus === 0) return true;
  if (pod.models.length > 0 && !pod.models.includes(box.model)) return false;
  let holding = 0;
  for (const gpu of box.gpus) if (gpu >= pod.gpuMilli) holding++;
  return holding >= pod.gpus;
}

function take(box: Box, pod: Pod): void {
  box.cpuMilli -= pod.cpuMilli;
  box.memoryMib -= pod.memoryMib;
  for (let left = pod.gpus; left > 0; left--) {
    let tightest = -1;
    for (const [i, gpu] of box.gpus.entries())
      if (gpu >= pod.gpuMilli && (tightest < 0 || gpu < box.gpus[tightest]!)) tightest = i;
    box.gpus[tightest]! -= pod.gpuMilli;
  }
}
