// How a part of the system is told to stop: the first Ctrl-C, SIGTERM or SIGHUP (its terminal is gone) asks, a second one
// does not wait.
import { type Cli, exit } from '@muster/cli';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** Resolves at the first signal. From then on the next one ends the process at once. */
export function untilStopped(
  cli: Cli,
  onSecond: string,
  signals: readonly StopSignal[] = ['SIGTERM', 'SIGHUP'],
): Promise<StopSignal> {
  return new Promise((resolve) => {
    let asked = false;
    const take = (signal: StopSignal): void => {
      if (asked) {
        cli.note(onSecond);
        process.exit(exit.interrupted);
      }
      asked = true;
      resolve(signal);
    };
    cli.terminal.onInterrupt(() => take('SIGINT'));
    for (const signal of signals) process.on(signal, () => take(signal));
  });
}

/** A bug stops the process, so that it starts clean; running work goes on without it. */
export function endOnBug(log: { fatal(fields: object, message: string): void }): (error: unknown) => void {
  return (error) => {
    log.fatal({ err: error }, 'this is a bug in Muster; the process ends so that it can start clean');
    process.exit(1);
  };
}
