// Real pipes for the tasks' output. Node's own 'pipe' is a socket pair, on which `> /dev/stderr` fails, and it would be two
// of them, so that lines of stdout and stderr change places. Here both are one FIFO, made by mkfifo(1) many at a time
// (Node has no mkfifo, and a process for each task would double the cost of a start), opened at both ends and unlinked.
import { execFile } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

export interface Pipe {
  readonly readFd: number;
  readonly writeFd: number;
}

const batch = 32;
const refillBelow = 8;

export class Pipes {
  readonly #dir: string;
  readonly #ready: Pipe[] = [];
  #made = 0;
  #filling: Promise<void> | null = null;

  constructor(dir: string) {
    this.#dir = dir;
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { mode: 0o700 });
  }

  async take(): Promise<Pipe> {
    // Early, so that nobody has to wait; who has to wait, hears of the error.
    if (this.#ready.length < refillBelow) this.#fill().catch(() => {});
    for (;;) {
      const pipe = this.#ready.pop();
      if (pipe) return pipe;
      await this.#fill();
    }
  }

  /** Names that were made and never used up. */
  dispose(): void {
    for (const { readFd, writeFd } of this.#ready.splice(0)) {
      closeSync(readFd);
      closeSync(writeFd);
    }
  }

  #fill(): Promise<void> {
    this.#filling ??= this.#make().finally(() => {
      this.#filling = null;
    });
    return this.#filling;
  }

  async #make(): Promise<void> {
    const paths = Array.from({ length: batch }, () => join(this.#dir, String(this.#made++)));
    await new Promise<void>((resolve, reject) => {
      execFile('mkfifo', ['-m', '600', ...paths], (error) => (error ? reject(error) : resolve()));
    });
    for (const path of paths) {
      // The reading end first and without waiting: then the writing end opens at once, and blocks writers as a pipe does.
      const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const writeFd = openSync(path, constants.O_WRONLY);
      unlinkSync(path);
      this.#ready.push({ readFd, writeFd });
    }
  }
}
