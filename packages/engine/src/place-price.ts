// What an hour of a run costs in the very places it has: the prices of the policy for those devices and cores, and its tier's
// factor. As in a score, cores that follow from the devices are in their price.
import { coreHourMicro, deviceHourMicro, type JobId, type TaskPlacement, tierNamed } from '@muster/model';
import type { State } from './state.ts';

export function placeHourMicro(
  { fleets, jobs, queue, policy }: State,
  job: JobId,
  tasks: readonly TaskPlacement[],
): number {
  const { live } = fleets;
  const { prices } = live.classes;
  const { facts, lane } = queue.entryOf(jobs.slotOf(job));
  const { groups } = lane.shape.demand;
  let milliMicro = 0n;
  for (const { node, group, devices, deviceMilli, cpuMilli } of tasks) {
    const cls = live.classes.get(live.classOf[live.slotOf(node)]!);
    for (const index of devices) {
      // A device that has gone since has no price of its own.
      const device = cls.devices[index];
      const each = device ? deviceHourMicro(prices, cls.labels, device) : prices.deviceHourMicro;
      milliMicro += BigInt(each) * BigInt(deviceMilli);
    }
    if (devices.length === 0 || groups[group]?.cpuMilli !== null)
      milliMicro += BigInt(coreHourMicro(prices, cls.labels)) * BigInt(cpuMilli);
  }
  const factor = BigInt(tierNamed(policy, facts.tier)?.priceMilli ?? 1000);
  return Number((milliMicro * factor) / 1_000_000n);
}
