// A daemon of a test: started in the foreground as a child, with its output in a file, and ended by id.
import { type ChildProcess, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';

export interface Daemon {
  readonly pid: number;
  isRunning(): boolean;
  start(...moreArgs: string[]): void;
  signal(signal: NodeJS.Signals): void;
  end(signal: NodeJS.Signals): Promise<void>;
}

export class StartedDaemon implements Daemon {
  readonly #name: string;
  readonly #program: string;
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #dir: string;
  #child: ChildProcess | null = null;
  #over: Promise<void> = Promise.resolve();

  constructor(
    name: string,
    program: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    dir: string,
  ) {
    this.#name = name;
    this.#program = program;
    this.#args = args;
    this.#env = env;
    this.#dir = dir;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.#name} was not started`);
    return pid;
  }

  isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(...moreArgs: string[]): void {
    const output = openSync(join(this.#dir, `${this.#name}.out`), 'a');
    const child = spawn(this.#program, [...this.#args, ...moreArgs], {
      env: this.#env,
      stdio: ['ignore', output, output],
    });
    this.#child = child;
    this.#over = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.signal(signal);
    await this.#over;
  }
}
