// The one clock of leases on a machine: milliseconds since boot, including time spent in suspend, which the monotonic
// clock leaves out. Agent and supervisor read the same clock, so a deadline means the same instant to both. It is read
// from /proc/uptime, whose 10 ms steps round down, which makes a deadline earlier, never later.
import { readFileSync } from 'node:fs';

export function bootClockMs(): number {
  try {
    const text = readFileSync('/proc/uptime', 'latin1');
    const ms = Math.round(Number(text.slice(0, text.indexOf(' '))) * 1000);
    if (Number.isSafeInteger(ms)) return ms;
  } catch {
    // No /proc/uptime in this container: the monotonic clock is the next best, and the same for both processes.
  }
  return Number(process.hrtime.bigint() / 1_000_000n);
}

export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return 'unknown';
  }
}
