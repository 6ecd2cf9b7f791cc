// A file that lines are appended to and that does not grow for ever: at its limit it becomes `<file>.1`, in place of the one of
// that name before, and a new one begins. Synchronous, so that the last lines before a crash are there.
import { appendFileSync, closeSync, fstatSync, openSync, renameSync } from 'node:fs';

export class BoundedFile {
  readonly #path: string;
  readonly #bytesMax: number;
  #file: number;
  #bytes: number;

  constructor(path: string, bytesMax: number) {
    this.#path = path;
    this.#bytesMax = bytesMax;
    this.#file = open(path);
    this.#bytes = fstatSync(this.#file).size;
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax) this.#turn();
    this.#bytes += bytes;
    try {
      appendFileSync(this.#file, line);
    } catch {
      // A full disk must not stop a control plane over a line of its log; errors are on the terminal too.
    }
  }

  #turn(): void {
    this.#bytes = 0;
    try {
      renameSync(this.#path, `${this.#path}.1`);
      const before = this.#file;
      this.#file = open(this.#path);
      closeSync(before);
    } catch {
      // Where no new one can be had, the old one goes on until the next time.
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Its owner's alone: lines may name what jobs do. */
function open(path: string): number {
  return openSync(path, 'a', 0o600);
}
