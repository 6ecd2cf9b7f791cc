// From a task's pipe to its files. A pipe ends when nobody holds it any more; somebody we cannot find (it left the process
// group and cleared its environment) may hold it for ever, and must not delay the end of the task.
import { Socket } from 'node:net';
import { OutputWriter } from './output-writer.ts';

/** How often a pipe that somebody still holds is looked at once the task is over. */
const lookEveryMs = 50;
/**
 * Counted in looks and not in time: after a pause of this process what waits in the pipe must be read first. A stranger that is
 * quiet for a while has nothing of the task's to say, and one that goes on talking never had.
 */
const quietLooks = 5;
const looksMost = 40;

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
      let looks = 0;
      let quiet = 0;
      const finish = (): void => {
        clearInterval(timer);
        stream.destroy();
        resolve();
      };
      const timer = setInterval(() => {
        // A slow disk is no stranger: while it is what holds us up, more is still to be read.
        if (stream.isPaused()) return;
        if (++quiet >= quietLooks || ++looks >= looksMost) finish();
      }, lookEveryMs);
      stream.on('data', () => {
        quiet = 0;
      });
      stream.once('close', finish);
    });
  }
}
