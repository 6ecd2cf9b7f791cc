// Writes one task's output into capped files (output-files.ts) without holding more than a little of it: `push` says
// when to stop reading, `onDrained` when to go on. When the disk is full, the bytes are counted and dropped, because a
// job must not hang or die for the sake of its log.
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { headBytes, tailFileBytes, tailFiles } from './output-files.ts';

const highWaterBytes = 1024 * 1024;

export class OutputWriter {
  readonly #dir: string;
  readonly #headBytes: number;
  readonly #tailBytes: number;
  readonly #onWritten: () => void;
  readonly #onDrained: () => void;
  readonly #tails: string[] = [];
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #full = false;
  #file: FileHandle | null = null;
  #room = 0;
  #writing: Promise<void> | null = null;
  #lost = 0;
  /** Bytes on disk or dropped: the offset after the last one. */
  size = 0;

  constructor(dir: string, limitMib: number, hooks: { onWritten: () => void; onDrained: () => void }) {
    this.#dir = dir;
    this.#headBytes = headBytes(limitMib);
    this.#tailBytes = tailFileBytes(limitMib);
    this.#onWritten = hooks.onWritten;
    this.#onDrained = hooks.onDrained;
  }

  /** False: enough is waiting; read no more until drained. */
  push(chunk: Buffer): boolean {
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes >= highWaterBytes) this.#full = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return !this.#full;
  }

  /** Everything pushed is on disk and the file is closed. */
  async close(): Promise<void> {
    while (this.#writing) await this.#writing;
    await this.#file?.close().catch(() => {});
    this.#file = null;
    if (this.#lost > 0) console.error(`${this.#dir}: ${this.#lost} bytes of output could not be written`);
  }

  async #write(): Promise<void> {
    while (this.#queue.length > 0) {
      const bytes = Buffer.concat(this.#queue);
      this.#queue = [];
      await this.#writePieces(bytes);
      this.#queuedBytes -= bytes.length;
      this.#onWritten();
      if (!this.#full || this.#queuedBytes >= highWaterBytes) continue;
      this.#full = false;
      this.#onDrained();
    }
  }

  async #writePieces(bytes: Buffer): Promise<void> {
    let rest = bytes;
    while (rest.length > 0) {
      try {
        if (this.#room === 0) await this.#nextFile();
        const piece = rest.subarray(0, Math.min(rest.length, this.#room));
        if (this.#file) await this.#file.appendFile(piece);
        this.#room -= piece.length;
        this.size += piece.length;
        rest = rest.subarray(piece.length);
      } catch {
        // No space, or the directory was taken away: a new piece begins at the right offset once there is room again.
        this.#lost += rest.length;
        this.size += rest.length;
        this.#room = 0;
        return;
      }
    }
  }

  async #nextFile(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
    if (this.#tailBytes === 0) {
      this.#room = Number.MAX_SAFE_INTEGER;
      return;
    }
    const isHead = this.size < this.#headBytes;
    const name = this.size === 0 ? 'head' : `tail.${this.size}`;
    // Not only for the first byte: that one may have met a full disk.
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    this.#file = await open(join(this.#dir, name), 'w', 0o600);
    this.#room = isHead ? this.#headBytes - this.size : this.#tailBytes;
    if (isHead) return;
    this.#tails.push(name);
    if (this.#tails.length > tailFiles)
      await unlink(join(this.#dir, this.#tails.shift() ?? '')).catch(() => {});
  }
}
