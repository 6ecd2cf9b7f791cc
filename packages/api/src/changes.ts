// Lets any number of streams wait for "something was committed" on one subscription of the store. It is only a hint: every
// waiter also has a longest wait, after which it looks anyway.
import type { Store } from '@muster/store';

export interface Changes {
  /** Resolves on the next hint, after `maxMs`, or when the signal aborts, whichever is first. */
  next(maxMs: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

export function createChanges(store: Pick<Store, 'onEvents'>): Changes {
  const waiting = new Set<() => void>();
  const wakeAll = (): void => {
    for (const wake of [...waiting]) wake();
  };
  const unsubscribe = store.onEvents(wakeAll);
  return {
    next(maxMs, signal) {
      return new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const wake = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
          waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, maxMs);
        signal.addEventListener('abort', wake);
        waiting.add(wake);
      });
    },
    close() {
      unsubscribe();
      wakeAll();
    },
  };
}

/** A pause that an abort cuts short; keeps a busy log from becoming a query for each event. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
