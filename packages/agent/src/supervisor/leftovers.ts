// Without a control group, what a task left behind (daemons that left its process group) is found by the task's key in
// their environment. Tasks that end together share one pass over /proc, and a task counts as gone only after a pass
// that began after its processes were killed and found none.
import { ProcessScan, signalPid } from './processes.ts';

const firstPauseMs = 2;
const longestPauseMs = 500;

export class Leftovers {
  readonly #waiting = new Map<string, () => void>();
  readonly #scan = new ProcessScan();
  #running = false;

  /** Resolves when nothing of the task is left. */
  clear(key: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(key, resolve);
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    let pauseMs = firstPauseMs;
    while (this.#waiting.size > 0) {
      const clean = await this.#pass();
      // A process that does not die at once is waiting for a disk or a driver; asking faster does not help it.
      pauseMs = clean ? firstPauseMs : Math.min(pauseMs * 2, longestPauseMs);
      if (!clean) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    this.#running = false;
  }

  /** False when something is left, or could not be seen. */
  async #pass(): Promise<boolean> {
    const keys = new Set(this.#waiting.keys());
    try {
      const found = await this.#scan.find(keys);
      for (const key of keys) {
        const pids = found.get(key);
        if (pids) for (const pid of pids) signalPid(pid, 'SIGKILL');
        else this.#gone(key);
      }
      return found.size === 0;
    } catch (error) {
      console.error(`cannot look for what tasks left: ${error}`);
      return false;
    }
  }

  #gone(key: string): void {
    const resolve = this.#waiting.get(key);
    this.#waiting.delete(key);
    resolve?.();
  }
}
