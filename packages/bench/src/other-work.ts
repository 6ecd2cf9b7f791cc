// How much of the machine others use: figures taken beside other work say little, and the reader should know.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const lookMs = 1000;

function cpuTimes(): { readonly idle: number; readonly total: number } {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
  // Waiting for a disk is idle time of a core.
  const idle = (ticks[3] ?? 0) + (ticks[4] ?? 0);
  return { idle, total: ticks.reduce((sum, n) => sum + n, 0) };
}

/** The busy part of all cores now, from 0 to 1; to be asked before a benchmark starts anything. */
export async function busyShare(): Promise<number> {
  const before = cpuTimes();
  await sleep(lookMs);
  const after = cpuTimes();
  return 1 - (after.idle - before.idle) / Math.max(1, after.total - before.total);
}
