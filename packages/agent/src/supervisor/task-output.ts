// From a task's pipe to its files. A pipe ends when nobody holds it any more; somebody we cannot find (it left the process
// group and cleared its environment) may hold it for ever, and must not delay the end of the task.
import { Socket } from 'node:net';
import { OutputWriter } from './output-writer.ts';

/** How long a pipe that a stranger holds open may delay the end of a task, after its last byte. */
const strangerHoldsPipeMs = 250;

export class TaskOutput {
  readonly #writer: OutputWriter;
  #stream: Socket | null = null;

  constructor(dir: string, limitMib: number, grew: () => void) {
    this.#writer = new OutputWriter(dir, limitMib, {
      onWritten: grew,
      onDrained: () => this.#stream?.resume(),
    });
  }

  get size(): number {
    return this.#writer.size;
  }

  readFrom(fd: number): void {
    const stream = new Socket({ fd, readable: true, writable: false });
    stream.on('data', (chunk: Buffer) => {
      if (!this.#writer.push(chunk)) stream.pause();
    });
    stream.on('error', () => stream.destroy());
    this.#stream = stream;
  }

  /** Everything the task wrote is in its files. */
  async drain(): Promise<void> {
    const stream = this.#stream;
    if (stream && !stream.destroyed) await this.#ended(stream);
    await this.#writer.close();
  }

  #ended(stream: Socket): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        stream.destroy();
        resolve();
      };
      // A slow disk is no stranger: while it is what holds us up, more is still to be read.
      const giveUp = (): void => {
        if (stream.isPaused()) timer.refresh();
        else finish();
      };
      const timer = setTimeout(giveUp, strangerHoldsPipeMs);
      stream.on('data', () => timer.refresh());
      stream.once('close', finish);
    });
  }
}
