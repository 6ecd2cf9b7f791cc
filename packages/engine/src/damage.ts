// What a stopped run loses: its devices and cores at their price, from the moment its work was last saved to now. Whole
// micro-money; a run that never saved anything counts from its start, one that has not started loses nothing.
import type { LiveRun, Prices } from '@muster/model';

const hourS = 3600;

/** What an hour of everything the run holds costs, at the plain prices: what a place costs is no matter of the work. */
export function hourlyRate(
  run: Pick<LiveRun, 'tasks'>,
  { deviceHourMicro, coreHourMicro }: Prices,
  priceMilli: number,
): number {
  let rate = 0;
  for (const { cpuMilli, devices, deviceMilli } of run.tasks)
    rate += Math.floor((devices.length * deviceMilli * deviceHourMicro + cpuMilli * coreHourMicro) / 1000);
  return Math.floor((rate / 1000) * priceMilli);
}

export function damage(rate: number, savedMs: number, nowMs: number): number {
  return savedMs < 0 || nowMs <= savedMs ? 0 : overTime(rate, nowMs - savedMs);
}

/** What something that costs so much an hour costs in a time. Hours and the rest apart, so that a large gang stays below 2^53. */
export function overTime(rate: number, ms: number): number {
  const seconds = Math.floor(ms / 1000);
  const rest = seconds % hourS;
  return rate * ((seconds - rest) / hourS) + Math.floor((rate * rest) / hourS);
}
