// What is told of a job, of all that is estimated: in two digits, because more of them would mean nothing, and jobs of which the
// same is told are alike to whoever schedules them.
import type { Estimate } from './run-times.ts';

export interface Said {
  readonly expectedMs: number;
  readonly p90Ms: number;
}

export function saidOf({ expectedMs, p90Ms }: Estimate): Said {
  return { expectedMs: inTwoDigits(expectedMs), p90Ms: inTwoDigits(p90Ms) };
}

/** To the nearest. */
function inTwoDigits(ms: number): number {
  let unit = 1;
  while (ms >= 100 * unit) unit *= 10;
  return Math.max(1, Math.round(ms / unit) * unit);
}
