// What pods that are not ours hold of each node, so that a plan counts it as taken.
import type { OtherPod } from './objects.ts';

export type Taken = Omit<OtherPod, 'node'>;

export function takenBy(pods: Iterable<OtherPod>): Map<string, Taken> {
  const taken = new Map<string, Taken>();
  for (const { node, cpuMilli, memoryMib, devices } of pods) {
    const before = taken.get(node) ?? { cpuMilli: 0, memoryMib: 0, devices: {} };
    const sum: Record<string, number> = { ...before.devices };
    for (const [name, count] of Object.entries(devices)) sum[name] = (sum[name] ?? 0) + count;
    taken.set(node, {
      cpuMilli: before.cpuMilli + cpuMilli,
      memoryMib: before.memoryMib + memoryMib,
      devices: sum,
    });
  }
  return taken;
}
