// The supervisor's memory on disk: one append-only file of JSON lines. Written by the supervisor alone, read by the next
// one. It keeps the promise that a key is started at most once ever: `claim` is on the disk before the server is told
// "accepted", and `starting` is in the file before the process exists.
//
// One file and not one directory a task, because writes of many tasks then share one system call and one fdatasync:
// claims of 300 tasks a second cost what one does. A crash can tear the last line only; torn lines are skipped, and every
// batch begins with a newline so that a torn line never swallows a good one.
import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { TaskExit } from '@muster/model';
import type { TaskKey, TaskSpec } from './protocol.ts';

export type JournalRecord =
  | { readonly r: 'open'; readonly version: number; readonly bootId: string }
  | { readonly r: 'claim'; readonly key: TaskKey; readonly atMs: number; readonly spec: TaskSpec }
  | { readonly r: 'starting'; readonly key: TaskKey }
  | { readonly r: 'pid'; readonly key: TaskKey; readonly pid: number; readonly startTicks: number }
  | { readonly r: 'exit'; readonly key: TaskKey; readonly exit: TaskExit }
  | { readonly r: 'acked'; readonly key: TaskKey }
  /** Keys that may never start again, kept when the rest of their story is dropped. */
  | { readonly r: 'claimed'; readonly keys: readonly (readonly [TaskKey, number])[] };

interface Waiting {
  readonly line: string;
  readonly durable: boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class Journal {
  readonly #path: string;
  #file: FileHandle;
  #queue: Waiting[] = [];
  #unsynced: Waiting[] = [];
  #writing = false;
  #syncing = false;
  #rewrite: { readonly records: () => readonly JournalRecord[]; readonly done: () => void } | null = null;
  /** After a failed fsync the kernel may have dropped the pages: nothing more can be promised by this process. */
  #broken: Error | null = null;
  sizeBytes = 0;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /** Throws when there is a journal that cannot be read: whoever took it for empty would start its keys again. */
  static async read(path: string): Promise<JournalRecord[]> {
    let bytes: Buffer;
    try {
      bytes = await readFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
    const records: JournalRecord[] = [];
    // Line by line, because a journal may be longer than a string can be.
    for (let at = 0; at < bytes.length; ) {
      const newline = bytes.indexOf(0x0a, at);
      const end = newline < 0 ? bytes.length : newline;
      try {
        if (end > at) records.push(JSON.parse(bytes.toString('utf8', at, end)) as JournalRecord);
      } catch {
        // A torn line: what it said was never promised to anybody.
      }
      at = end + 1;
    }
    return records;
  }

  /** Starts a new file that says the same as `records`, in place of the old one. */
  static async create(path: string, records: readonly JournalRecord[]): Promise<Journal> {
    const { file, sizeBytes, broken } = await replace(path, records);
    if (broken) throw broken;
    const journal = new Journal(path, file);
    journal.sizeBytes = sizeBytes;
    return journal;
  }

  /** Resolves when the record is in the file, or, when durable, on the disk. */
  append(record: JournalRecord, durable = false): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#broken && durable) return reject(this.#broken);
      this.#queue.push({ line: JSON.stringify(record), durable, resolve, reject });
      if (!this.#writing) void this.#write();
    });
  }

  /** Replaces the file by what `records` says when it is this writer's turn. Resolves when that is done or was not possible. */
  compact(records: () => readonly JournalRecord[]): Promise<void> {
    return new Promise((done) => {
      this.#rewrite?.done();
      this.#rewrite = { records, done };
      if (!this.#writing) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#writing = true;
    while (this.#queue.length > 0 || this.#rewrite) {
      if (this.#rewrite && !this.#syncing) await this.#replace();
      const batch = this.#queue;
      this.#queue = [];
      if (batch.length === 0) {
        if (this.#rewrite) await new Promise((resolve) => setTimeout(resolve, 1));
        continue;
      }
      const bytes = Buffer.from(`\n${batch.map((item) => item.line).join('\n')}\n`);
      try {
        await this.#file.appendFile(bytes);
        this.sizeBytes += bytes.length;
        for (const item of batch) if (!item.durable) item.resolve();
        this.#unsynced.push(...batch.filter((item) => item.durable));
        if (this.#unsynced.length > 0 && !this.#syncing) void this.#sync();
      } catch (error) {
        for (const item of batch) item.reject(error as Error);
      }
    }
    this.#writing = false;
  }

  // Beside the writing, so that a start does not wait for another task's claim to reach the disk.
  async #sync(): Promise<void> {
    this.#syncing = true;
    while (this.#unsynced.length > 0) {
      const batch = this.#unsynced;
      this.#unsynced = [];
      try {
        await this.#file.datasync();
        for (const item of batch) item.resolve();
      } catch (error) {
        this.#broken = error as Error;
        for (const item of batch) item.reject(error as Error);
      }
    }
    this.#syncing = false;
  }

  async #replace(): Promise<void> {
    // Who waited for the last batch acts on it first, so that what is in the old file is in the new one too.
    await new Promise((resolve) => setImmediate(resolve));
    const rewrite = this.#rewrite;
    this.#rewrite = null;
    if (!rewrite) return;
    try {
      const { file, sizeBytes, broken } = await replace(this.#path, rewrite.records());
      await this.#file.close().catch(() => {});
      this.#file = file;
      this.sizeBytes = sizeBytes;
      this.#broken ??= broken;
    } catch {
      // No room for a second copy: the old file still says everything.
    }
    rewrite.done();
  }
}

async function replace(path: string, records: readonly JournalRecord[]) {
  const next = `${path}.new`;
  const bytes = Buffer.from(`${records.map((record) => JSON.stringify(record)).join('\n')}\n`);
  const dir = await open(dirname(path), 'r');
  try {
    const file = await open(next, 'w', 0o600);
    try {
      await file.writeFile(bytes);
      await file.datasync();
      await rename(next, path);
    } catch (error) {
      await file.close();
      throw error;
    }
    // The new file is the journal now, whatever the disk says; only a crash of the machine could bring back the old one.
    const broken = await dir.sync().then(
      () => null,
      (error: Error) => error,
    );
    return { file, sizeBytes: bytes.length, broken };
  } finally {
    await dir.close();
  }
}
