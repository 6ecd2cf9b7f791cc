import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a condition, with a bound: a benchmark that hangs tells nothing. */
export async function eventually(
  what: string,
  withinMs: number,
  look: () => Promise<boolean> | boolean,
): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await look())) {
    if (performance.now() > endMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(50);
  }
}
