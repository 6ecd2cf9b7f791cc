// What a stopped run loses: its devices and cores at their price, from the moment its work was last saved to now, and again for
// as long as going on from there takes. Whole micro-money; a run that never saved anything counts from its start and restores
// nothing, one that has not started loses nothing.
import type { LiveRun, LostWork, Prices } from '@muster/model';
import type { RunTable } from './run-table.ts';

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

export function lostBy({ rate, savedMs, restoreMs }: RunTable, run: number, nowMs: number): LostWork {
  const sinceMs = savedMs[run]!;
  const lostMs = sinceMs < 0 ? 0 : Math.max(0, nowMs - sinceMs) + restoreMs[run]!;
  return { lostMs, lostMicro: overTime(rate[run]!, lostMs) };
}

/** What something that costs so much an hour costs in a time. Hours and the rest apart, so that a large gang stays below 2^53. */
export function overTime(rate: number, ms: number): number {
  const seconds = Math.floor(ms / 1000);
  const rest = seconds % hourS;
  return rate * ((seconds - rest) / hourS) + Math.floor((rate * rest) / hourS);
}
