// Real child processes for the fault tests: started, watched, paused and killed by id, and never left behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../../', import.meta.url));
export { eventually } from '@muster/drivers/testing';

const launcher = join(repository, 'packages/muster/bin/muster.js');

export interface MusterProcess {
  readonly name: string;
  readonly pid: number;
  /** Everything it printed so far. */
  output(): string;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  isRunning(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface SpawnOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A copy of its output goes to <name>.log here, for looking at a failure. */
  readonly logDir: string;
}

export function startMuster({ name, args, env, logDir }: SpawnOptions): MusterProcess {
  const child: ChildProcess = spawn(process.execPath, [launcher, ...args], {
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own group: a signal to the test runner must not reach it before the test decides.
    detached: true,
  });
  let output = '';
  const file = createWriteStream(join(logDir, `${name}.log`), { flags: 'a' });
  const take = (data: Buffer): void => {
    output += data.toString();
    file.write(data);
  };
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: 127, signal: null }));
  });
  const pid = child.pid;
  if (pid === undefined) throw new Error(`could not start ${name}`);
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const signal = (which: NodeJS.Signals): void => {
    if (isRunning()) process.kill(pid, which);
  };
  return {
    name,
    pid,
    output: () => output,
    exited,
    isRunning,
    signal,
    async end(which) {
      signal(which);
      if (which !== 'SIGKILL') signal('SIGCONT');
      await exited;
    },
  };
}
