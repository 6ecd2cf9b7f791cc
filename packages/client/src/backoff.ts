// Waiting between tries: doubling from a base to a cap, with half of it random, so that the clients of a restarted
// server do not come back in step.

export interface Backoff {
  readonly baseMs: number;
  readonly capMs: number;
}

export function backoffMs({ baseMs, capMs }: Backoff, failures: number): number {
  const full = Math.min(capMs, baseMs * 2 ** Math.min(failures - 1, 20));
  return full / 2 + (Math.random() * full) / 2;
}

/** Resolves after `ms`, or rejects with the signal's reason as soon as it fires. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
