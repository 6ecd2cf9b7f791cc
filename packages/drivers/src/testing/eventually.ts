/** Waits for a condition; nobody sleeps. The message says what was awaited and what was seen last. */
export async function eventually<T>(
  what: string,
  withinMs: number,
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen) return seen;
      last = seen;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline)
      throw new Error(`${what}: not within ${withinMs} ms; last seen: ${String(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
