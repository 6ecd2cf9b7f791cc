// Keeps an embedded server running: one that dies while its control plane lives is started again. It recovers by itself
// from its own log; the store's pools heal; meanwhile callers are told "unavailable".
import type { Started } from './postmaster.ts';

export interface Keeper {
  readonly pid: number;
  /** No more starting; the server is left as it is. */
  end(): Promise<void>;
}

export interface KeeperOptions {
  readonly started: Started;
  readonly start: () => Promise<Started>;
  readonly log: (line: string) => void;
}

const lookEveryMs = 500;
const longestBackoffMs = 10_000;

export function keepRunning(options: KeeperOptions): Keeper {
  let current = options.started;
  let ended = false;
  let failures = 0;
  let timer: NodeJS.Timeout | null = null;
  let looking: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    if (!current.gone()) return;
    options.log(`the embedded PostgreSQL, process ${current.pid}, is gone; starting it again`);
    try {
      current = await options.start();
      failures = 0;
      options.log(`started the embedded PostgreSQL again, process ${current.pid}`);
    } catch (error) {
      failures++;
      options.log(`the embedded PostgreSQL does not start: ${(error as Error).message}`);
    }
  }

  function schedule(): void {
    const waitMs = Math.min(longestBackoffMs, lookEveryMs * 2 ** failures);
    timer = setTimeout(() => {
      looking = look().then(() => {
        if (!ended) schedule();
      });
    }, waitMs);
    // The keeper alone is no reason for the process to go on.
    timer.unref();
  }

  schedule();
  return {
    get pid() {
      return current.pid;
    },
    async end() {
      ended = true;
      if (timer) clearTimeout(timer);
      await looking;
    },
  };
}
