// Everything a benchmark starts, ended in reverse order: when it is done, when it fails, and on Ctrl-C. A second signal, or an
// ending that hangs, kills what is left by process id.

export interface Lifetime {
  /** Calls `end` once, whatever happens. */
  add(end: () => Promise<void> | void): void;
  /** A process to be killed when nothing else has ended it. */
  addProcess(pid: number): void;
  removeProcess(pid: number): void;
  close(): Promise<void>;
  readonly closing: boolean;
}

const endWithinMs = 10_000;

export function createLifetime(): Lifetime {
  const ends: (() => Promise<void> | void)[] = [];
  const pids = new Set<number>();
  let closed: Promise<void> | null = null;

  async function closeAll(): Promise<void> {
    for (let end = ends.pop(); end; end = ends.pop()) {
      try {
        await end();
      } catch (error) {
        process.stderr.write(`while cleaning up: ${(error as Error).message}\n`);
      }
    }
  }

  const killAll = (): void => {
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Gone by itself.
      }
    }
    pids.clear();
  };

  const lifetime: Lifetime = {
    add: (end) => ends.push(end),
    addProcess: (pid) => pids.add(pid),
    removeProcess: (pid) => pids.delete(pid),
    get closing() {
      return closed !== null;
    },
    close() {
      closed ??= closeAll().finally(killAll);
      return closed;
    },
  };

  const onSignal = (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void => {
    const code = signal === 'SIGINT' ? 130 : signal === 'SIGTERM' ? 143 : 129;
    if (closed) process.exit(code);
    setTimeout(() => process.exit(code), endWithinMs);
    void lifetime.close().then(() => process.exit(code));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  process.on('exit', killAll);
  return lifetime;
}
