// The directory that every node of a cluster sees, as this server reaches it: a file system of its own, or one of a login node over
// ssh (remote-files.ts). Only what the runs need (run-directory.ts). What is not there is an answer; every other trouble rejects,
// because a directory that cannot be read is not an empty one.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';

export interface SharedFiles {
  /** Who may do what with it, as chmod writes it; null when it is not there. */
  mode(path: string): Promise<number | null>;
  /** For us alone; false when it is there already: whoever makes it is the only one. */
  makeNew(dir: string): Promise<boolean>;
  names(dir: string): Promise<string[] | null>;
  read(file: string): Promise<string | null>;
  /** Readers see the old content or the new, never a part. */
  write(file: string, content: string): Promise<void>;
  /** False when it is there already: whoever writes it is the only one, and readers see all of it. */
  writeNew(file: string, content: string): Promise<boolean>;
  /** Nothing where there is nothing to move. */
  move(from: string, to: string): Promise<void>;
  /** With all that is below it. */
  remove(path: string): Promise<void>;
  piece(file: string, offset: number, maxBytes: number): Promise<OutputPiece | null>;
  /** Of somebody else: null when it is no plain file of at most so many bytes, never through a link; `before` again when nothing changed. */
  stamped(file: string, maxBytes: number, before: StampedText | null): Promise<StampedText | null>;
  /** When anything about it was last changed, by the file system's clock. */
  changedMs(path: string): Promise<number | null>;
}

export interface OutputPiece {
  readonly data: Uint8Array;
  readonly size: number;
}

export interface StampedText {
  /** Another one for other content. */
  readonly stamp: string;
  readonly text: string;
  /** By the file system's clock. */
  readonly writtenMs: number;
}

/** Of a file system that this machine has. */
export const localFiles: SharedFiles = {
  async mode(path) {
    const found = await orMissing(stat(path));
    return found && found.mode & 0o7777;
  },
  async makeNew(dir) {
    try {
      await mkdir(dir, { mode: 0o700 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  },
  names: (dir) => orMissing(readdir(dir)),
  read: (file) => orMissing(readFile(file, 'utf8')),
  async write(file, content) {
    await writeFile(`${file}.new`, content, { mode: 0o600 });
    await rename(`${file}.new`, file);
  },
  async writeNew(file, content) {
    const whole = `${file}.${randomUUID()}`;
    await writeFile(whole, content, { mode: 0o600 });
    try {
      await link(whole, file);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      await rm(whole, { force: true });
    }
  },
  async move(from, to) {
    await orMissing(rename(from, to));
  },
  remove: (path) => rm(path, { recursive: true, force: true }),
  async piece(path, offset, maxBytes) {
    const file = await orMissing(open(path));
    if (!file) return null;
    try {
      const { size } = await file.stat();
      const data = new Uint8Array(Math.max(0, Math.min(maxBytes, size - offset)));
      const { bytesRead } = await file.read(data, 0, data.length, offset);
      return { data: data.subarray(0, bytesRead), size };
    } finally {
      await file.close();
    }
  },
  async stamped(path, maxBytes, before) {
    const found = await orMissing(lstat(path));
    if (!found?.isFile() || found.size > maxBytes) return null;
    const stamp = `${found.ino} ${found.mtimeMs} ${found.size}`;
    if (before?.stamp === stamp) return before;
    // Without waiting too: it may be something else by now.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const opened = await open(path, flags).catch(() => null);
    if (!opened) return before;
    try {
      const buffer = Buffer.alloc(maxBytes);
      const { bytesRead } = await opened.read(buffer, 0, maxBytes, 0);
      return { stamp, text: buffer.toString('utf8', 0, bytesRead), writtenMs: found.mtimeMs };
    } finally {
      await opened.close();
    }
  },
  async changedMs(path) {
    const found = await orMissing(stat(path));
    return found && Math.max(found.ctimeMs, found.mtimeMs);
  },
};

async function orMissing<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
